//! `KubeSchedulerConfiguration` v1: read, completed, checked, printed.
//!
//! Reading goes through a tree that knows the place of everything, and does not stop at
//! the first error. Checks know only paths, such as `profiles[0].schedulerName`; where a path is
//! in the file is looked up when the problems are printed. So a configuration that was built or
//! changed in memory is checked by the same code.
//!
//! ```
//! use roadstead_scheduler::config::{Known, Point, SchedulerConfiguration};
//!
//! let text = "
//! apiVersion: kubescheduler.config.k8s.io/v1
//! kind: KubeSchedulerConfiguration
//! profiles:
//! - plugins:
//!     score:
//!       disabled: [{name: '*'}]
//!       enabled: [{name: NodeResourcesFit, weight: 5}]
//! ";
//! let known = Known::default();
//! let configuration = SchedulerConfiguration::read("scheduler.yaml", text, &known)?;
//! let profile = &configuration.profiles(&known)?[0];
//! assert_eq!(profile.scheduler_name(), "default-scheduler");
//! assert_eq!(profile.at(Point::Score)[0].weight, 5);
//! # Ok::<(), roadstead_scheduler::config::ConfigError>(())
//! ```

mod arguments;
mod check;
mod known;
mod plugins;
mod profile;
mod yaml;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::document::{Node, Problems, Tree, decode};

pub use known::{Gates, Known, KnownPlugin, Point};
pub use plugins::{Plugin, PluginSet, Plugins};
pub use profile::{PointPlugin, Profile};
pub use yaml::print as print_yaml;

pub use crate::document::{DocumentError as ConfigError, Duration, Problem};

/// The only version that there is.
pub const API_VERSION: &str = "kubescheduler.config.k8s.io/v1";

/// The kind of object that a configuration is.
pub const KIND: &str = "KubeSchedulerConfiguration";

/// A complete configuration: whatever the file left out has its default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default = "SchedulerConfiguration::bare", rename_all = "camelCase")]
pub struct SchedulerConfiguration {
    /// How many nodes may be looked at side by side.
    pub parallelism: i32,
    /// Which of several schedulers acts.
    pub leader_election: LeaderElection,
    /// How to speak with the API server.
    pub client_connection: ClientConnection,
    /// Whether to serve profiles under `/debug/pprof`.
    pub enable_profiling: bool,
    /// Whether to profile the contention of locks as well.
    pub enable_contention_profiling: bool,
    /// The share of nodes that is enough to have found feasible; 0 adapts to their number.
    pub percentage_of_nodes_to_score: i32,
    /// The backoff after a pod's first attempt.
    pub pod_initial_backoff_seconds: i64,
    /// The longest backoff.
    pub pod_max_backoff_seconds: i64,
    /// The schedulers that pods may name.
    pub profiles: Vec<ProfileConfiguration>,
    /// Web services that are asked as well, by all profiles.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extenders: Vec<Extender>,
    /// Whether a scheduler that is not the leader leaves its caches empty.
    #[serde(skip_serializing_if = "is_false")]
    pub delay_cache_until_active: bool,
}

/// A profile with its plugins merged into the defaults, and the arguments of all of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ProfileConfiguration {
    /// The name by which pods choose it.
    pub scheduler_name: String,
    /// In place of that of the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percentage_of_nodes_to_score: Option<i32>,
    /// What is enabled and disabled.
    pub plugins: Plugins,
    /// The arguments of plugins.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plugin_config: Vec<PluginConfig>,
}

/// The arguments of a plugin.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PluginConfig {
    /// The plugin's name.
    pub name: String,
    /// For kube-scheduler's own plugins complete, and without `apiVersion` and `kind`.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub args: Value,
}

/// How schedulers agree on which of them acts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct LeaderElection {
    /// Whether they do.
    pub leader_elect: bool,
    /// How long the others wait for the leader before they take over.
    pub lease_duration: Duration,
    /// How long the leader tries to renew its lease before it stops.
    pub renew_deadline: Duration,
    /// The pause between two tries.
    pub retry_period: Duration,
    /// The kind of object that is the lease; only `leases`.
    pub resource_lock: String,
    /// Its name.
    pub resource_name: String,
    /// Its namespace.
    pub resource_namespace: String,
}

/// How to speak with the API server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClientConnection {
    /// The file with its address; empty means from inside the cluster.
    pub kubeconfig: String,
    /// What to accept from it.
    pub accept_content_types: String,
    /// What to send to it.
    pub content_type: String,
    /// Requests a second.
    pub qps: f64,
    /// Requests at once.
    pub burst: i32,
}

/// A web service that filters, scores, preempts or binds as well.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Extender {
    /// Its address, to which the verbs are appended.
    pub url_prefix: String,
    /// Empty means that it does not filter.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub filter_verb: String,
    /// Empty means that it has no say in preemption.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub preempt_verb: String,
    /// Empty means that it does not score.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub prioritize_verb: String,
    /// What its scores are multiplied by.
    pub weight: i64,
    /// Empty means that it does not bind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub bind_verb: String,
    /// Whether to speak HTTPS.
    #[serde(rename = "enableHTTPS", skip_serializing_if = "is_false")]
    pub enable_https: bool,
    /// How to do that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_config: Option<ExtenderTlsConfig>,
    /// How long a call may take.
    pub http_timeout: Duration,
    /// Whether it knows the nodes, so that their names are enough.
    #[serde(skip_serializing_if = "is_false")]
    pub node_cache_capable: bool,
    /// Only pods that request one of these are its business; none means that all are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub managed_resources: Vec<ManagedResource>,
    /// Whether scheduling goes on when it fails.
    #[serde(skip_serializing_if = "is_false")]
    pub ignorable: bool,
}

/// A resource that an extender looks after.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ManagedResource {
    /// An extended resource.
    pub name: String,
    /// Whether NodeResourcesFit leaves it to the extender alone.
    #[serde(skip_serializing_if = "is_false")]
    pub ignored_by_scheduler: bool,
}

/// How to speak HTTPS with an extender. Data is base64, and wins over files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ExtenderTlsConfig {
    /// Whether any certificate will do.
    #[serde(skip_serializing_if = "is_false")]
    pub insecure: bool,
    /// The name that the certificate must have, if not that of the address.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub server_name: String,
    /// The file of our certificate.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cert_file: String,
    /// The file of its key.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key_file: String,
    /// The file of the authorities to trust.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ca_file: String,
    /// Our certificate.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cert_data: String,
    /// Its key.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key_data: String,
    /// The authorities to trust.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ca_data: String,
}

impl SchedulerConfiguration {
    /// The configuration of a scheduler that is told nothing.
    #[must_use]
    pub fn new(known: &Known) -> Self {
        let mut configuration = Self::bare();
        configuration.complete(&empty_node(), known, &Problems::default());
        configuration
    }

    /// Reads a configuration from YAML or JSON, completes and checks it. `file` is its name in
    /// messages.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it at once, what would keep a scheduler from starting
    /// included. Only a document that is none, or one of another version, is not looked into.
    pub fn read(file: &str, text: &str, known: &Known) -> Result<Self, ConfigError> {
        let problems = Problems::default();
        let fail = |problems: Problems, document: Option<&Node>| {
            Err(ConfigError::new(file, text, problems.located(document)))
        };
        let (document, error) = Node::parse(text);
        if let Some(error) = error {
            problems.unreadable(error.spot, error.message);
        }
        let Some(mut document) = document else { return fail(problems, None) };
        if !take_type(&mut document, &problems) {
            return fail(problems, Some(&document));
        }
        take_argument_types(&mut document, &problems);
        let mut configuration: Self = decode(&document, "", &problems);
        let origins = configuration.complete(&document, known, &problems);
        check::check(&configuration, &problems);
        profile::expand_all(&configuration, &origins, known, &problems);
        if problems.is_empty() { Ok(configuration) } else { fail(problems, Some(&document)) }
    }

    /// The profiles, ready to be built. A configuration that was changed since it was read is
    /// checked again.
    ///
    /// # Errors
    ///
    /// As for [`read`](Self::read), without lines.
    pub fn profiles(&self, known: &Known) -> Result<Vec<Profile>, ConfigError> {
        let problems = Problems::default();
        check::check(self, &problems);
        for (i, profile) in self.profiles.iter().enumerate() {
            for (j, config) in profile.plugin_config.iter().enumerate() {
                let path = format!("profiles[{i}].pluginConfig[{j}].args");
                if let Some(kind) = known::arguments_of(&config.name) {
                    kind.read(&Node::from_json(&config.args), &path, known.gates(), &problems);
                }
            }
        }
        let profiles = profile::expand_all(self, &[], known, &problems);
        if problems.is_empty() {
            Ok(profiles)
        } else {
            Err(ConfigError::new("", "", problems.located(None)))
        }
    }

    /// The whole configuration as a file that reads as the same.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        yaml::print(&self.to_json())
    }

    /// The whole configuration as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut value = serde_json::to_value(self).expect("a configuration is plain data");
        value["apiVersion"] = json!(API_VERSION);
        value["kind"] = json!(KIND);
        let profiles = value["profiles"].as_array_mut().into_iter().flatten();
        for config in profiles.flat_map(|p| p["pluginConfig"].as_array_mut().into_iter().flatten())
        {
            let Some(name) = config["name"].as_str().map(str::to_owned) else { continue };
            if known::arguments_of(&name).is_some() && config["args"].is_object() {
                config["args"]["apiVersion"] = json!(API_VERSION);
                config["args"]["kind"] = json!(format!("{name}Args"));
            }
        }
        value
    }

    /// What fields have that are not in the file; the profiles are completed later.
    fn bare() -> Self {
        Self {
            parallelism: 16,
            leader_election: LeaderElection::default(),
            client_connection: ClientConnection::default(),
            enable_profiling: true,
            enable_contention_profiling: true,
            percentage_of_nodes_to_score: 0,
            pod_initial_backoff_seconds: 1,
            pod_max_backoff_seconds: 10,
            profiles: Vec::new(),
            extenders: Vec::new(),
            delay_cache_until_active: false,
        }
    }

    /// Fills in what depends on more than the absence of a field. Says for each profile where in
    /// `document` the entries of its `multiPoint` are.
    fn complete(
        &mut self,
        document: &Node,
        known: &Known,
        problems: &Problems,
    ) -> Vec<Vec<Option<usize>>> {
        if document.get("enableContentionProfiling").is_none() {
            self.enable_contention_profiling = self.enable_profiling;
        }
        self.client_connection.complete();
        self.leader_election.complete();
        for extender in &mut self.extenders {
            or_default(&mut extender.http_timeout, Duration::from_seconds(5));
        }
        if self.profiles.is_empty() {
            self.profiles.push(ProfileConfiguration::default());
        }
        let written = document.get("profiles").map_or(&[][..], Node::items);
        // An empty name that is written down is an error, not an absent one.
        let is_named = |node: &Node| node.get("schedulerName").is_some();
        if let [profile] = self.profiles.as_mut_slice()
            && !written.first().is_some_and(is_named)
        {
            profile.scheduler_name = DEFAULT_SCHEDULER_NAME.to_owned();
        }
        let complete = |(index, profile): (usize, &mut ProfileConfiguration)| {
            let node = written.get(index).and_then(|node| node.get("pluginConfig"));
            let written = node.map_or(&[][..], Node::items);
            profile.complete(written, &format!("profiles[{index}]"), known, problems)
        };
        self.profiles.iter_mut().enumerate().map(complete).collect()
    }
}

impl Default for SchedulerConfiguration {
    fn default() -> Self {
        Self::new(&Known::default())
    }
}

impl ProfileConfiguration {
    /// A profile of that name that is told nothing else.
    #[must_use]
    pub fn new(scheduler_name: impl Into<String>, known: &Known) -> Self {
        let mut profile = Self { scheduler_name: scheduler_name.into(), ..Self::default() };
        profile.complete(&[], "", known, &Problems::default());
        profile
    }

    /// Merges the plugins into the defaults, and completes the arguments, whose list was `written`
    /// so.
    fn complete(
        &mut self,
        written: &[Node],
        path: &str,
        known: &Known,
        problems: &Problems,
    ) -> Vec<Option<usize>> {
        let origins = self.plugins.merge_into(&known.default_plugins());
        for (i, config) in self.plugin_config.iter_mut().enumerate() {
            if let Some(kind) = known::arguments_of(&config.name) {
                let path = format!("{path}.pluginConfig[{i}].args");
                let absent = empty_node();
                let node = written.get(i).and_then(|node| node.get("args")).unwrap_or(&absent);
                config.args = kind.read(node, &path, known.gates(), problems);
            }
        }
        let mut names = self.plugins.enabled();
        names.sort_unstable();
        let mut defaults = Vec::new();
        for name in names {
            let is_configured = self.plugin_config.iter().any(|config| config.name == name);
            let Some(kind) = known::arguments_of(name).filter(|_| !is_configured) else { continue };
            let args = kind.read(&empty_node(), "", known.gates(), problems);
            defaults.push(PluginConfig { name: name.to_owned(), args });
        }
        self.plugin_config.append(&mut defaults);
        origins
    }
}

impl Default for LeaderElection {
    fn default() -> Self {
        Self {
            leader_elect: true,
            lease_duration: Duration::from_seconds(15),
            renew_deadline: Duration::from_seconds(10),
            retry_period: Duration::from_seconds(2),
            resource_lock: "leases".to_owned(),
            resource_name: "kube-scheduler".to_owned(),
            resource_namespace: "kube-system".to_owned(),
        }
    }
}

impl LeaderElection {
    /// Zero and empty count as absent.
    fn complete(&mut self) {
        let default = Self::default();
        or_default(&mut self.lease_duration, default.lease_duration);
        or_default(&mut self.renew_deadline, default.renew_deadline);
        or_default(&mut self.retry_period, default.retry_period);
        or_default(&mut self.resource_lock, default.resource_lock);
        or_default(&mut self.resource_name, default.resource_name);
        or_default(&mut self.resource_namespace, default.resource_namespace);
    }
}

impl Default for ClientConnection {
    fn default() -> Self {
        Self {
            kubeconfig: String::new(),
            accept_content_types: String::new(),
            content_type: "application/vnd.kubernetes.protobuf".to_owned(),
            qps: 50.0,
            burst: 100,
        }
    }
}

impl ClientConnection {
    /// Zero and empty count as absent.
    fn complete(&mut self) {
        let default = Self::default();
        or_default(&mut self.content_type, default.content_type);
        or_default(&mut self.qps, default.qps);
        or_default(&mut self.burst, default.burst);
    }
}

fn or_default<T: Default + PartialEq>(field: &mut T, default: T) {
    if *field == T::default() {
        *field = default;
    }
}

fn is_false(value: &bool) -> bool {
    !*value
}

fn empty_node() -> Node {
    Node::from_json(&Value::Null)
}

/// Takes `apiVersion` and `kind` off the document. Whether they are ours.
fn take_type(document: &mut Node, problems: &Problems) -> bool {
    if !matches!(document.tree, Tree::Map(_) | Tree::Null) {
        let message = "a configuration must be an object".to_owned();
        problems.unreadable(Some(document.spot), message);
        return false;
    }
    let mut is_ours = true;
    for (field, supported) in [("apiVersion", API_VERSION), ("kind", KIND)] {
        match document.take(field).map(|node| (node.spot, node.tree)) {
            Some((_, Tree::Text(text))) if text == supported => continue,
            Some((spot, Tree::Text(text))) => {
                problems.unsupported_at(field, spot, &text, supported)
            }
            None | Some((_, Tree::Null)) => {
                problems.required(field, &format!("supported values: {supported:?}"));
            }
            Some((spot, tree)) => {
                let value = Node { spot, tree }.to_json();
                let message = format!("{field}: Invalid value: {value}: must be a string");
                problems.mistyped(field, spot, message);
            }
        }
        is_ours = false;
    }
    is_ours
}

/// The same for the arguments of kube-scheduler's own plugins, which may leave both out.
fn take_argument_types(document: &mut Node, problems: &Problems) {
    let profiles = document.get_mut("profiles").map_or(&mut [][..], Node::items_mut);
    for (i, profile) in profiles.iter_mut().enumerate() {
        let configs = profile.get_mut("pluginConfig").map_or(&mut [][..], Node::items_mut);
        for (j, config) in configs.iter_mut().enumerate() {
            let name = match config.get("name").map(|node| &node.tree) {
                Some(Tree::Text(name)) if known::arguments_of(name).is_some() => name.clone(),
                _ => continue,
            };
            let Some(args) = config.get_mut("args") else { continue };
            let path = format!("profiles[{i}].pluginConfig[{j}].args");
            if let Some(version) = args.take("apiVersion")
                && version.to_json() != API_VERSION
            {
                let text = version.to_json();
                let text = text.as_str().map_or_else(|| text.to_string(), str::to_owned);
                let path = format!("{path}.apiVersion");
                problems.unsupported_at(&path, version.spot, &text, API_VERSION);
            }
            if let Some(kind) = args.take("kind")
                && kind.to_json() != format!("{name}Args")
            {
                let message =
                    format!("{path}: Invalid value: {}: has to match plugin args", kind.to_json());
                problems.mistyped(&path, kind.spot, message);
                // Whatever else is in there is of that other kind.
                args.tree = Tree::Null;
            }
        }
    }
}

const DEFAULT_SCHEDULER_NAME: &str = "default-scheduler";

#[cfg(test)]
mod tests;
