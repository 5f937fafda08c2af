//! Workloads: templates, arrivals, sizes, durations.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as ApiQuantity;
use roadstead_cluster::Resource;
use roadstead_model::Quantity;
use roadstead_scheduler::document::{self, Node, decode};
use serde_json::{Value, json};

use super::super::drawing::{Arrivals, Choice, Runs, Steps};
use super::super::objects::{self, Places};
use super::super::workload::{Amount, Workload};
use super::super::written;
use super::{Look, quantity_text};

impl Look<'_> {
    pub(super) fn workload(
        &self,
        path: &str,
        written: written::Workload,
        has_end: bool,
    ) -> Option<Workload> {
        let start = self.time(&format!("{path}.start"), written.start);
        let stop = written.stop.map(|stop| self.time(&format!("{path}.stop"), stop));
        if let Some(stop) = stop.filter(|stop| *stop <= start) {
            let reason = format!("must be after the start at {start:?}");
            self.problems.invalid(&format!("{path}.stop"), format!("{stop:?}"), reason);
        }
        let count = match written.count {
            Some(_) => self.count(&format!("{path}.count"), written.count),
            None => None,
        };
        let arrivals = self.arrivals(&format!("{path}.arrivals"), written.arrivals.as_ref());
        let is_bounded = stop.is_some() || has_end;
        if written.count.is_none() && !(arrivals.is_spread() && is_bounded) {
            let reason = if arrivals.is_spread() {
                "how many pods come; or give `stop` or `spec.stop.after`, or they come for ever"
            } else {
                "how many pods come; or give `arrivals`"
            };
            self.problems.required(&format!("{path}.count"), reason);
        }
        let templates = self.templates(path, &written)?;
        let sizes = written.sizes.iter().enumerate().map(|(i, size)| {
            let path = format!("{path}.sizes[{i}]");
            (self.weight(&path, size.weight), self.size(&path, size))
        });
        let sizes: Vec<_> = sizes.collect();
        self.some_weight(&format!("{path}.sizes"), &sizes);
        let runs = written.runs.map(|runs| self.runs(&format!("{path}.runs"), &runs));
        Some(Workload {
            name: written.name,
            start,
            stop,
            count,
            arrivals,
            templates: Choice::new(templates),
            sizes: Choice::new(sizes),
            runs,
        })
    }

    fn templates(&self, path: &str, written: &written::Workload) -> Option<Vec<(u64, Pod)>> {
        if written.template.is_some() && !written.templates.is_empty() {
            let reason = "must not be given together with `template`";
            self.problems.at(&format!("{path}.templates"), reason);
        }
        let name = format!("{path}.name");
        let single = written.template.as_ref().map(|t| (format!("{path}.template"), 1, t));
        let weighed: Vec<_> = written
            .templates
            .iter()
            .enumerate()
            .map(|(i, template)| {
                let path = format!("{path}.templates[{i}]");
                let weight = self.weight(&path, template.weight);
                let pod = pod_of(&written.name, &template.metadata, &template.spec);
                (weight, self.pod(&path, &name, &pod))
            })
            .chain(single.into_iter().map(|(path, weight, template)| {
                let pod = pod_of(&written.name, &template.metadata, &template.spec);
                (weight, self.pod(&path, &name, &pod))
            }))
            .collect();
        self.some_weight(&format!("{path}.templates"), &weighed);
        if weighed.is_empty() {
            let pod = pod_of(&written.name, &Value::Null, &Value::Null);
            return Some(vec![(1, self.pod(path, &name, &pod)?)]);
        }
        weighed.into_iter().map(|(weight, pod)| Some((weight, pod?))).collect()
    }

    fn pod(&self, path: &str, name: &str, pod: &Value) -> Option<Pod> {
        let places = [("", path), ("metadata.name", name)];
        let object = objects::read(pod, &Places(&places), self.problems)?;
        Pod::of(&object).map(|pod| (**pod).clone())
    }

    fn some_weight<T>(&self, path: &str, weighed: &[(u64, T)]) {
        if !weighed.is_empty() && weighed.iter().all(|(weight, _)| *weight == 0) {
            self.problems.at(path, "one of the weights must be more than 0");
        }
    }

    fn arrivals(&self, path: &str, written: Option<&written::Arrivals>) -> Arrivals {
        let Some(written) = written else { return Arrivals::AtOnce };
        let given = [
            ("constant", written.constant.is_some()),
            ("poisson", written.poisson.is_some()),
            ("burst", written.burst.is_some()),
        ];
        self.exactly_one(path, &given);
        if let Some(steady) = &written.constant {
            let interval = self.interval(&format!("{path}.constant.rate"), &steady.rate);
            Arrivals::Constant { interval }
        } else if let Some(steady) = &written.poisson {
            Arrivals::Poisson { mean: self.interval(&format!("{path}.poisson.rate"), &steady.rate) }
        } else if let Some(burst) = &written.burst {
            let size = self.count(&format!("{path}.burst.size"), burst.size).unwrap_or(1);
            let every = self.required_time(&format!("{path}.burst.every"), burst.every, "1m");
            Arrivals::Burst { size, every }
        } else {
            // Wrong already; what is said of the rest should not depend on it.
            Arrivals::Constant { interval: Duration::from_secs(1) }
        }
    }

    /// The time between two pods, from a rate such as `90/m`; a number alone is a second's.
    fn interval(&self, path: &str, rate: &Value) -> Duration {
        let (number, unit) = match rate {
            Value::Null => {
                self.problems.required(path, "a number of pods in a time, such as \"2/s\"");
                return Duration::from_secs(1);
            }
            Value::String(text) => text.split_once('/').unwrap_or((text, "")),
            Value::Number(number) => (&*number.to_string(), "s"),
            _ => ("", ""),
        };
        let unit = match unit.trim() {
            "s" => Some(1.0),
            "m" => Some(60.0),
            "h" => Some(3600.0),
            _ => None,
        };
        let number = number.trim().parse::<f64>().ok().filter(|n| n.is_finite() && *n > 0.0);
        let interval = unit.zip(number).map(|(unit, number)| unit / number);
        let interval = interval.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        interval.filter(|interval| !interval.is_zero()).unwrap_or_else(|| {
            let reason = "must be a number above 0 and one of /s, /m and /h, such as \"2/s\"";
            self.problems.invalid(path, rate, reason);
            Duration::from_secs(1)
        })
    }

    fn size(&self, path: &str, size: &written::Size) -> Vec<(String, Amount)> {
        if size.requests.is_empty() {
            let reason = "what the pod asks for, such as {cpu: 500m}";
            self.problems.required(&format!("{path}.requests"), reason);
        }
        let requests = size.requests.iter().filter_map(|(name, amount)| {
            let path = format!("{path}.requests.{name}");
            Some((name.clone(), self.amount(&path, name, amount)?))
        });
        requests.collect()
    }

    fn amount(&self, path: &str, resource: &str, amount: &Value) -> Option<Amount> {
        if !amount.is_object() {
            self.quantity(path, amount)?;
            let Value::String(text) = quantity_text(amount.clone()) else { return None };
            return Some(Amount::Fixed(ApiQuantity(text)));
        }
        let node = Node::from_json(amount);
        let range: written::Range = decode(&node, path, self.problems);
        let is_cpu = resource == "cpu";
        let number = |quantity: Quantity| {
            let number = if is_cpu { quantity.milli_value() } else { quantity.value() };
            u64::try_from(number).unwrap_or(0)
        };
        let bound = |field: &str, value: &Value| {
            let path = format!("{path}.{field}");
            if value.is_null() {
                self.problems.required(&path, "an amount, as in {min: 1, max: 4}");
                return None;
            }
            self.quantity(&path, value).map(number)
        };
        let (min, max) = (bound("min", &range.min), bound("max", &range.max));
        let step = match &range.step {
            Value::Null if is_cpu => 100,
            Value::Null if resource == "memory" || resource == "ephemeral-storage" => 64 << 20,
            Value::Null => 1,
            given => number(self.quantity(&format!("{path}.step"), given)?),
        };
        if step == 0 {
            self.problems.invalid(&format!("{path}.step"), &range.step, "must be more than 0");
        }
        let steps = Steps { min: min?, max: max?, step };
        if steps.max < steps.min {
            let reason = format!("must be at least the min of {}", range.min);
            self.problems.invalid(&format!("{path}.max"), &range.max, reason);
        }
        Some(if is_cpu { Amount::Millis(steps) } else { Amount::Units(steps) })
    }

    fn quantity(&self, path: &str, value: &Value) -> Option<Quantity> {
        let reason = match quantity_text(value.clone()) {
            Value::String(text) => match Quantity::parse(&text) {
                Ok(quantity) if quantity >= Quantity::ZERO => return Some(quantity),
                Ok(_) => "must not be negative".to_owned(),
                Err(error) => error.to_string(),
            },
            _ => "must be a quantity such as 500m or 2Gi, or {min, max}".to_owned(),
        };
        self.problems.invalid(path, value, reason);
        None
    }

    fn runs(&self, path: &str, written: &written::Runs) -> Runs {
        let given = [
            ("constant", written.constant.is_some()),
            ("uniform", written.uniform.is_some()),
            ("exponential", written.exponential.is_some()),
            ("lognormal", written.lognormal.is_some()),
        ];
        self.exactly_one(path, &given);
        if let Some(uniform) = &written.uniform {
            let min = self.time(&format!("{path}.uniform.min"), uniform.min);
            let max = self.required_time(&format!("{path}.uniform.max"), uniform.max, "1m");
            if max < min {
                let reason = format!("must be at least the min of {min:?}");
                self.problems.invalid(&format!("{path}.uniform.max"), format!("{max:?}"), reason);
            }
            Runs::Uniform { min, max }
        } else if let Some(written) = &written.exponential {
            let mean = self.required_time(&format!("{path}.exponential.mean"), written.mean, "1m");
            Runs::Exponential {
                mean,
                max: self.longest(&format!("{path}.exponential"), written.max),
            }
        } else if let Some(written) = &written.lognormal {
            let path = format!("{path}.lognormal");
            let median = self.required_time(&format!("{path}.median"), written.median, "1m");
            let sigma = written.sigma.unwrap_or(1.0);
            if !(0.0..=10.0).contains(&sigma) {
                let sigma = json!(sigma);
                self.problems.invalid(&format!("{path}.sigma"), sigma, "must be between 0 and 10");
            }
            Runs::Lognormal { median, sigma, max: self.longest(&path, written.max) }
        } else {
            let time = written.constant.unwrap_or(document::Duration::from_seconds(1));
            Runs::Constant(self.positive(&format!("{path}.constant"), time))
        }
    }

    fn longest(&self, path: &str, max: Option<document::Duration>) -> Duration {
        max.map_or(Duration::MAX, |max| self.positive(&format!("{path}.max"), max))
    }

    fn required_time(
        &self,
        path: &str,
        time: Option<document::Duration>,
        example: &str,
    ) -> Duration {
        match time {
            Some(time) => self.positive(path, time),
            None => {
                self.problems.required(path, &format!("a time such as {example}"));
                Duration::from_secs(1)
            }
        }
    }

    /// Of these fields one must be given.
    pub(super) fn exactly_one(&self, path: &str, fields: &[(&str, bool)]) {
        let given: Vec<&str> = fields.iter().filter(|(_, is)| *is).map(|(name, _)| *name).collect();
        // One that cannot be read is told of already.
        if given.is_empty() && !self.problems.concern(path) {
            let names: Vec<String> = fields.iter().map(|(name, _)| format!("`{name}`")).collect();
            self.problems.required(path, &format!("one of {}", names.join(", ")));
        }
        for name in given.iter().skip(1) {
            let reason = format!("must not be given together with `{}`", given[0]);
            self.problems.at(&format!("{path}.{name}"), reason);
        }
    }
}

/// A pod of a workload, as a manifest would have it. Without containers it has one.
fn pod_of(name: &str, metadata: &Value, spec: &Value) -> Value {
    let mut metadata = if metadata.is_null() { json!({}) } else { metadata.clone() };
    let mut spec = if spec.is_null() { json!({}) } else { spec.clone() };
    if let Value::Object(metadata) = &mut metadata {
        let name = if name.is_empty() { "pod" } else { name };
        metadata.insert("name".to_owned(), json!(format!("{name}-0")));
    }
    if let Value::Object(spec) = &mut spec
        && !spec.contains_key("containers")
    {
        spec.insert("containers".to_owned(), json!([{"name": "main", "image": "pause"}]));
    }
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
}
