//! Counters, gauges and histograms with labels.

use std::fmt::Write as _;

use hashbrown::HashMap;
use roadstead_model::Text;

use super::exposition::Exposition;

/// A metric's name and what is said of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct About {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) labels: &'static [&'static str],
}

/// A label's value. Texts are written by themselves: formatting them costs more than all the rest.
pub(super) trait Value {
    fn put(&self, key: &mut String);
}

impl Value for &str {
    fn put(&self, key: &mut String) {
        key.push_str(self);
    }
}

impl Value for String {
    fn put(&self, key: &mut String) {
        key.push_str(self);
    }
}

impl Value for Text {
    fn put(&self, key: &mut String) {
        key.push_str(self);
    }
}

impl Value for u32 {
    fn put(&self, key: &mut String) {
        // Writing to a string does not fail; so below.
        let _ = write!(key, "{self}");
    }
}

impl Value for roadstead_queue::Label<'_> {
    fn put(&self, key: &mut String) {
        let _ = write!(key, "{self}");
    }
}

/// Series of a metric, one for each combination of label values that was used.
#[derive(Clone, Debug)]
pub(super) struct Family<T> {
    about: About,
    series: Vec<T>,
    /// Where the series of each combination is.
    places: HashMap<String, usize>,
    fresh: T,
    /// Reused, so that a known series costs no allocation.
    key: String,
}

/// Stands between label values in a key; no value has it.
const BETWEEN: char = '\u{1f}';

impl<T: Clone> Family<T> {
    fn new(about: About, fresh: T) -> Self {
        Self { about, series: Vec::new(), places: HashMap::new(), fresh, key: String::new() }
    }

    fn at(&mut self, values: &[&dyn Value]) -> &mut T {
        self.key.clear();
        for (place, value) in values.iter().enumerate() {
            if place > 0 {
                self.key.push(BETWEEN);
            }
            value.put(&mut self.key);
        }
        let place = self.places.get(&self.key).copied().unwrap_or_else(|| {
            self.series.push(self.fresh.clone());
            self.places.insert(self.key.clone(), self.series.len() - 1);
            self.series.len() - 1
        });
        &mut self.series[place]
    }

    /// As with Go's clients, a metric without series is not there at all.
    fn begin(&self, out: &mut Exposition, kind: &str) {
        if !self.series.is_empty() {
            out.begin(self.about.name, self.about.help, kind);
        }
    }

    /// In the order of their labels.
    fn each(&self) -> impl Iterator<Item = (Vec<(&'static str, &str)>, &T)> {
        let mut places: Vec<(&String, &usize)> = self.places.iter().collect();
        places.sort_unstable();
        places.into_iter().map(|(key, place)| {
            let values = key.split(BETWEEN);
            (self.about.labels.iter().copied().zip(values).collect(), &self.series[*place])
        })
    }
}

/// Numbers that only grow.
#[derive(Clone, Debug)]
pub(super) struct Counter(Family<u64>);

impl Counter {
    pub(super) fn new(about: About) -> Self {
        let mut family = Family::new(about, 0);
        if about.labels.is_empty() {
            family.at(&[]);
        }
        Self(family)
    }

    pub(super) fn add(&mut self, values: &[&dyn Value], amount: u64) {
        *self.0.at(values) += amount;
    }

    pub(super) fn expose(&self, out: &mut Exposition) {
        self.0.begin(out, "counter");
        for (labels, value) in self.0.each() {
            out.sample(self.0.about.name, &labels, *value as f64);
        }
    }
}

/// Numbers as they are at the moment of asking.
#[derive(Clone, Debug)]
pub(super) struct Gauge(Family<f64>);

impl Gauge {
    pub(super) fn new(about: About) -> Self {
        Self(Family::new(about, 0.0))
    }

    pub(super) fn add(&mut self, values: &[&dyn Value], amount: f64) {
        *self.0.at(values) += amount;
    }

    pub(super) fn expose(&self, out: &mut Exposition) {
        self.0.begin(out, "gauge");
        for (labels, value) in self.0.each() {
            out.sample(self.0.about.name, &labels, *value);
        }
    }
}

/// How observations are distributed.
#[derive(Clone, Debug)]
pub(super) struct Histogram {
    family: Family<Distribution>,
    bounds: Vec<f64>,
}

#[derive(Clone, Debug)]
struct Distribution {
    counts: Vec<u64>,
    sum: f64,
    count: u64,
}

impl Histogram {
    /// With so many bounds, the first of them `from`, each `factor` times the one before.
    pub(super) fn exponential(about: About, from: f64, factor: f64, bounds: usize) -> Self {
        let next = |bound: &f64| Some(bound * factor);
        let bounds: Vec<f64> = std::iter::successors(Some(from), next).take(bounds).collect();
        let fresh = Distribution { counts: vec![0; bounds.len()], sum: 0.0, count: 0 };
        let mut family = Family::new(about, fresh);
        if about.labels.is_empty() {
            family.at(&[]);
        }
        Self { family, bounds }
    }

    pub(super) fn observe(&mut self, values: &[&dyn Value], observation: f64) {
        let place = self.bounds.partition_point(|bound| *bound < observation);
        let series = self.family.at(values);
        if let Some(count) = series.counts.get_mut(place) {
            *count += 1;
        }
        series.sum += observation;
        series.count += 1;
    }

    pub(super) fn expose(&self, out: &mut Exposition) {
        let name = self.family.about.name;
        self.family.begin(out, "histogram");
        for (labels, series) in self.family.each() {
            let buckets = self.bounds.iter().copied().zip(series.counts.iter().copied());
            out.histogram(name, &labels, buckets, series.count, series.sum);
        }
    }
}
