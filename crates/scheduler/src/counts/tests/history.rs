//! Clusters in which anything may happen.

use std::sync::Arc;

use roadstead_model::{Namespace, Pod, Text, World};
use serde_json::{Value, json};

use super::Random;
use crate::cache::Cache;
use crate::listers::Listers;
use crate::testing;

/// A cluster, what happens to it next, and who waits there.
pub(super) struct History {
    pub(super) world: World,
    pub(super) cache: Cache,
    pub(super) listers: Listers,
    random: Random,
    /// The uids of pods that have a node.
    placed: Vec<Text>,
    assumed: Vec<Text>,
    born: usize,
}

impl History {
    pub(super) fn new(seed: u64) -> Self {
        let mut history = Self {
            world: World::new(),
            cache: Cache::new(),
            listers: Listers::default(),
            random: Random::new(seed),
            placed: Vec::new(),
            assumed: Vec::new(),
            born: 0,
        };
        for _ in 0..20 {
            history.set_node();
            history.set_namespace();
            history.place();
        }
        history
    }

    /// Something happens; what, in a word.
    pub(super) fn step(&mut self) -> &'static str {
        match self.random.below(16) {
            0..=4 => self.place(),
            5 | 6 => self.remove_pod(),
            7 | 8 => self.assume(),
            9 => self.forget(),
            10 => self.confirm(),
            11 | 12 => self.set_node(),
            13 => self.remove_node(),
            14 => self.update_pod(),
            _ => self.set_namespace(),
        }
    }

    /// Pods that ask for all that can be counted.
    pub(super) fn waiting_pods(&mut self) -> Vec<Arc<Pod>> {
        let mut pods = Vec::new();
        for number in 0..24 {
            let mut api = self.pod_api(&format!("waiting-{number}"), true);
            let spec = &mut api["spec"];
            if number % 2 == 0 {
                let constraints: Vec<Value> =
                    (0..=self.random.below(2)).map(|_| self.constraint()).collect();
                spec["topologySpreadConstraints"] = json!(constraints);
            }
            if number % 3 == 0 {
                spec["nodeSelector"] = json!({ "disk": self.one(&["ssd", "hdd"]) });
            }
            if number % 5 == 0 {
                spec["tolerations"] = json!([{"key": "busy", "operator": "Exists"}]);
            }
            pods.push(testing::pod(&mut self.world, api));
        }
        pods
    }

    fn place(&mut self) -> &'static str {
        let (mut api, node) = (self.new_pod(), self.node_name());
        api["spec"]["nodeName"] = json!(node);
        let pod = testing::pod(&mut self.world, api);
        self.placed.push(pod.uid.clone());
        self.cache.set_pod(pod);
        "a pod was placed"
    }

    fn remove_pod(&mut self) -> &'static str {
        if let Some(uid) = self.any_of(|history| &mut history.placed) {
            self.cache.remove_pod(&uid);
        }
        "a pod was removed"
    }

    fn assume(&mut self) -> &'static str {
        let (api, node) = (self.new_pod(), self.node_name());
        let (pod, node) = (testing::pod(&mut self.world, api), self.world.text(&node));
        self.assumed.push(pod.uid.clone());
        self.cache.assume(pod, node).expect("a new pod");
        "a pod was assumed"
    }

    fn forget(&mut self) -> &'static str {
        if let Some(uid) = self.any_of(|history| &mut history.assumed) {
            self.cache.forget(&uid).expect("it was assumed");
        }
        "a pod was forgotten"
    }

    /// The cluster shows what was assumed, perhaps elsewhere.
    fn confirm(&mut self) -> &'static str {
        if let Some(uid) = self.any_of(|history| &mut history.assumed) {
            let node = self.node_name();
            let mut pod = (**self.cache.pod(&uid).expect("it was assumed")).clone();
            pod.node_name = Some(self.world.text(&node));
            self.cache.set_pod(Arc::new(pod));
            self.placed.push(uid);
        }
        "a pod was confirmed"
    }

    /// Other labels and terms, and perhaps on its way out.
    fn update_pod(&mut self) -> &'static str {
        if let Some(uid) = self.any_of(|history| &mut history.placed) {
            let old = self.cache.pod(&uid).expect("it was placed").clone();
            let mut api = self.pod_api(&old.name, false);
            api["metadata"]["namespace"] = json!(old.namespace().as_str());
            api["spec"]["nodeName"] = json!(old.node_name.as_ref().map(|node| node.as_str()));
            if self.random.below(2) == 0 {
                api["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            }
            self.cache.set_pod(testing::pod(&mut self.world, api));
            self.placed.push(uid);
        }
        "a pod was updated"
    }

    fn set_node(&mut self) -> &'static str {
        let name = self.node_name();
        let mut labels = serde_json::Map::new();
        // A label may be absent, and it may be empty.
        for (key, values) in [("zone", ["a", "b", "c", ""]), ("rack", ["1", "2", "3", "4"])] {
            if self.random.below(6) > 0 {
                labels.insert(key.to_owned(), json!(self.one(&values)));
            }
        }
        if self.random.below(8) > 0 {
            labels.insert(HOSTNAME.to_owned(), json!(name));
        }
        labels.insert("disk".to_owned(), json!(self.one(&["ssd", "hdd"])));
        let taints = match self.random.below(4) {
            0 => json!([{"key": "busy", "effect": "NoSchedule"}]),
            _ => json!([]),
        };
        let metadata = json!({"name": name, "labels": labels});
        let node = json!({"metadata": metadata, "spec": {"taints": taints}});
        self.cache.set_node(testing::node(&mut self.world, node));
        "a node came or changed"
    }

    fn remove_node(&mut self) -> &'static str {
        let name = self.node_name();
        self.cache.remove_node(&self.world.text(&name));
        "a node went"
    }

    fn set_namespace(&mut self) -> &'static str {
        let (name, team) = (self.one(&NAMESPACES), self.one(&["red", "blue"]));
        let api = json!({"metadata": {"name": name, "labels": {"team": team}}});
        let api = serde_json::from_value(api).expect("an API namespace");
        let namespace = Namespace::from_api(&api, &mut self.world).expect("a namespace");
        let name = namespace.name.clone();
        if self.random.below(4) == 0 {
            self.listers.namespaces.remove(&name);
        } else {
            self.listers.namespaces.insert(name, Arc::new(namespace));
        }
        "a namespace changed"
    }

    fn new_pod(&mut self) -> Value {
        self.born += 1;
        let mut api = self.pod_api(&format!("pod-{}", self.born), false);
        if self.random.below(8) == 0 {
            api["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        api
    }

    fn pod_api(&mut self, name: &str, asks: bool) -> Value {
        let labels = json!({"app": self.one(&["web", "db", "job"]), "tier": self.one(&["1", "2"])});
        let metadata = json!({"name": name, "namespace": self.one(&NAMESPACES), "labels": labels});
        let mut affinity = json!({});
        for section in ["podAffinity", "podAntiAffinity"] {
            if asks || self.random.below(3) == 0 {
                let required: Vec<Value> = (0..self.random.below(3)).map(|_| self.term()).collect();
                let weighted = |history: &mut Self| {
                    let weight = 1 + history.random.below(5);
                    json!({"weight": weight, "podAffinityTerm": history.term()})
                };
                let preferred: Vec<Value> =
                    (0..self.random.below(3)).map(|_| weighted(self)).collect();
                affinity[section] = json!({
                    "requiredDuringSchedulingIgnoredDuringExecution": required,
                    "preferredDuringSchedulingIgnoredDuringExecution": preferred});
            }
        }
        json!({"metadata": metadata, "spec": {"affinity": affinity}})
    }

    fn term(&mut self) -> Value {
        let mut term = json!({"topologyKey": self.one(&KEYS), "labelSelector": self.selector()});
        match self.random.below(5) {
            0 => term["namespaces"] = json!([self.one(&NAMESPACES)]),
            1 => {
                let team = self.one(&["red", "blue"]);
                term["namespaceSelector"] = json!({"matchLabels": {"team": team}});
            }
            2 => {
                let not = json!({"key": "team", "operator": "NotIn", "values": ["red"]});
                term["namespaceSelector"] = json!({"matchExpressions": [not]});
            }
            _ => {}
        }
        term
    }

    fn constraint(&mut self) -> Value {
        json!({"maxSkew": 1 + self.random.below(2), "topologyKey": self.one(&KEYS),
               "whenUnsatisfiable": self.one(&["DoNotSchedule", "ScheduleAnyway"]),
               "labelSelector": self.selector(),
               "minDomains": self.one(&[Value::Null, json!(3)]),
               "nodeAffinityPolicy": self.one(&["Honor", "Ignore"]),
               "nodeTaintsPolicy": self.one(&["Honor", "Ignore"])})
    }

    fn selector(&mut self) -> Value {
        match self.random.below(3) {
            0 => json!({"matchExpressions": [{"key": "tier", "operator": "Exists"}]}),
            1 => json!({"matchLabels": {"tier": self.one(&["1", "2"])}}),
            _ => json!({"matchLabels": {"app": self.one(&["web", "db", "job"])}}),
        }
    }

    /// Most of them are there, some are gone, or have not come yet.
    fn node_name(&mut self) -> String {
        format!("node-{}", self.random.below(10))
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.random.below(of.len())].clone()
    }

    fn any_of(&mut self, list: fn(&mut Self) -> &mut Vec<Text>) -> Option<Text> {
        let len = list(self).len();
        (len > 0).then(|| {
            let at = self.random.below(len);
            list(self).swap_remove(at)
        })
    }
}

const NAMESPACES: [&str; 3] = ["default", "shop", "lab"];
const HOSTNAME: &str = "kubernetes.io/hostname";
const KEYS: [&str; 3] = ["zone", "rack", HOSTNAME];
