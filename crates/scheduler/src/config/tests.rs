//! Whole configurations: what is read, what is refused, in which words and on which line.

use serde_json::json;

use super::*;

mod broken;

/// The lines that every file begins with. Line numbers of a test's own text follow.
const HEAD: &str = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

fn read(text: &str) -> Result<SchedulerConfiguration, ConfigError> {
    SchedulerConfiguration::read("scheduler.yaml", &format!("{HEAD}{text}"), &Known::default())
}

fn good(text: &str) -> SchedulerConfiguration {
    read(text).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

/// The arguments of a plugin whose `args` are these.
fn arguments(plugin: &str, args: &str, gates: Gates) -> Value {
    let known = Known::new(gates);
    let text = format!("{HEAD}profiles: [{{pluginConfig: [{{name: {plugin}, args: {args}}}]}}]");
    let configuration = SchedulerConfiguration::read("scheduler.yaml", &text, &known)
        .unwrap_or_else(|error| panic!("{error}"));
    configuration.profiles(&known).unwrap()[0].arguments(plugin).clone()
}

#[test]
fn a_file_that_says_nothing_is_the_default() {
    let configuration = good("");
    assert_eq!(configuration, SchedulerConfiguration::default());
    let SchedulerConfiguration {
        parallelism: 16,
        leader_election,
        client_connection,
        enable_profiling: true,
        enable_contention_profiling: true,
        percentage_of_nodes_to_score: 0,
        pod_initial_backoff_seconds: 1,
        pod_max_backoff_seconds: 10,
        profiles,
        extenders,
        delay_cache_until_active: false,
    } = configuration
    else {
        panic!("{configuration:?}");
    };
    assert_eq!(extenders, []);
    let election = leader_election;
    assert!(election.leader_elect);
    let durations = [election.lease_duration, election.renew_deadline, election.retry_period];
    assert_eq!(durations, [15, 10, 2].map(Duration::from_seconds));
    let texts = [election.resource_lock, election.resource_name, election.resource_namespace];
    assert_eq!(texts, ["leases", "kube-scheduler", "kube-system"]);
    let ClientConnection { kubeconfig, accept_content_types, content_type, qps, burst } =
        client_connection;
    assert_eq!((kubeconfig.as_str(), accept_content_types.as_str()), ("", ""));
    assert_eq!(content_type, "application/vnd.kubernetes.protobuf");
    assert_eq!((qps, burst), (50.0, 100));
    let [profile] = profiles.as_slice() else { panic!("{profiles:?}") };
    assert_eq!(profile.scheduler_name, "default-scheduler");
    assert_eq!(profile.percentage_of_nodes_to_score, None);
}

#[test]
fn every_plugin_with_arguments_has_their_defaults() {
    let cpu_and_memory = json!([{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]);
    let rows = [
        (
            "DefaultPreemption",
            json!({"minCandidateNodesPercentage": 10, "minCandidateNodesAbsolute": 100}),
        ),
        ("DynamicResources", json!({"filterTimeout": "10s", "bindingTimeout": "10m0s"})),
        (
            "InterPodAffinity",
            json!({"hardPodAffinityWeight": 1, "ignorePreferredTermsOfExistingPods": false}),
        ),
        ("NodeAffinity", json!({})),
        ("NodeResourcesBalancedAllocation", json!({"resources": cpu_and_memory})),
        (
            "NodeResourcesFit",
            json!({"scoringStrategy": {"type": "LeastAllocated", "resources": cpu_and_memory}}),
        ),
        ("PodTopologySpread", json!({"defaultingType": "System"})),
        ("VolumeBinding", json!({"bindTimeoutSeconds": 600})),
    ];
    let configuration = SchedulerConfiguration::default();
    let configs: Vec<(&str, Value)> = configuration.profiles[0]
        .plugin_config
        .iter()
        .map(|config| (config.name.as_str(), config.args.clone()))
        .collect();
    assert_eq!(configs, rows);
    let profile = &configuration.profiles(&Known::default()).unwrap()[0];
    assert_eq!(profile.arguments("VolumeBinding"), &json!({"bindTimeoutSeconds": 600}));
    assert_eq!(profile.arguments("NodeName"), &Value::Null);
}

#[test]
fn arguments_are_completed() {
    let scoring = Gates { storage_capacity_scoring: true, ..Gates::default() };
    let no_timeouts = Gates {
        dra_scheduler_filter_timeout: false,
        dra_resource_claim_device_status: false,
        ..Gates::default()
    };
    let default = Gates::default;
    let cpu = json!([{"name": "cpu", "weight": 1}]);
    let shape = json!([{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}]);
    #[rustfmt::skip]
    let rows = [
        ("DefaultPreemption", "{minCandidateNodesAbsolute: 0}", default(),
            json!({"minCandidateNodesPercentage": 10, "minCandidateNodesAbsolute": 0})),
        ("DefaultPreemption", "{minCandidateNodesAbsolute: null}", default(),
            json!({"minCandidateNodesPercentage": 10, "minCandidateNodesAbsolute": 100})),
        ("DynamicResources", "{filterTimeout: 0s}", default(),
            json!({"filterTimeout": "0s", "bindingTimeout": "10m0s"})),
        ("DynamicResources", "{}", no_timeouts, json!({})),
        ("NodeResourcesBalancedAllocation", "{resources: [{name: cpu}]}", default(),
            json!({"resources": cpu})),
        ("NodeResourcesFit", "{ignoredResources: [a.com/b], scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 0}]}}", default(),
            json!({"ignoredResources": ["a.com/b"], "scoringStrategy": {"type": "MostAllocated", "resources": cpu}})),
        ("NodeResourcesFit", "{scoringStrategy: {type: Nonsense, resources: [{name: cpu, weight: 1}]}}", default(),
            json!({"scoringStrategy": {"type": "Nonsense", "resources": cpu}})),
        ("PodTopologySpread", "{defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]}", default(),
            json!({"defaultingType": "List", "defaultConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]})),
        ("VolumeBinding", "{bindTimeoutSeconds: 0}", default(), json!({"bindTimeoutSeconds": 0})),
        ("VolumeBinding", "{}", scoring.clone(), json!({"bindTimeoutSeconds": 600, "shape": shape})),
        ("VolumeBinding", "{shape: [{utilization: 5}]}", scoring,
            json!({"bindTimeoutSeconds": 600, "shape": [{"utilization": 5, "score": 0}]})),
        ("InterPodAffinity", "{apiVersion: kubescheduler.config.k8s.io/v1, kind: InterPodAffinityArgs, hardPodAffinityWeight: 5}", default(),
            json!({"hardPodAffinityWeight": 5, "ignorePreferredTermsOfExistingPods": false})),
        ("NodeAffinity", "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}", default(),
            json!({"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}}})),
        ("Coscheduling", "{kind: CoschedulingArgs, permitWaitingTimeSeconds: 10, deep: [{a: null}]}", default(),
            json!({"kind": "CoschedulingArgs", "permitWaitingTimeSeconds": 10, "deep": [{"a": null}]})),
    ];
    for (plugin, args, gates, expected) in rows {
        assert_eq!(arguments(plugin, args, gates), expected, "{plugin} {args}");
    }
}

#[test]
fn some_values_count_as_absent() {
    let text = "
clientConnection: {contentType: '', qps: 0, burst: 0}
leaderElection: {leaseDuration: 0s, renewDeadline: 0s, retryPeriod: 0s, resourceLock: '', resourceName: '', resourceNamespace: ''}
parallelism: null
percentageOfNodesToScore: ~
profiles: []
extenders:
";
    assert_eq!(good(text), SchedulerConfiguration::default());
    assert_eq!(good("profiles: [{}]"), SchedulerConfiguration::default());
    assert_eq!(good("profiles: [null]"), SchedulerConfiguration::default());
    assert_eq!(good("profiles: [{schedulerName: null}]"), SchedulerConfiguration::default());
}

#[test]
fn contention_is_profiled_where_profiling_is_on_and_nothing_else_said() {
    let rows = [
        ("", true),
        ("enableProfiling: false", false),
        ("{enableProfiling: false, enableContentionProfiling: true}", true),
        ("enableContentionProfiling: false", false),
    ];
    for (text, expected) in rows {
        let fields = text.trim_matches(['{', '}']).replace(", ", "\n");
        assert_eq!(good(&fields).enable_contention_profiling, expected, "{text}");
    }
}

#[test]
fn a_profile_may_score_another_share_of_nodes() {
    let text = "
percentageOfNodesToScore: 30
profiles: [{schedulerName: a}, {schedulerName: b, percentageOfNodesToScore: 0}, {schedulerName: c, percentageOfNodesToScore: 70}]
";
    let profiles = good(text).profiles(&Known::default()).unwrap();
    let shares: Vec<i32> = profiles.iter().map(Profile::percentage_of_nodes_to_score).collect();
    assert_eq!(shares, [30, 0, 70]);
}

const EVERYTHING: &str = r#"
parallelism: 4
leaderElection:
  leaderElect: false
  leaseDuration: 1m
  renewDeadline: 40.5s
  retryPeriod: 500ms
  resourceLock: leases
  resourceName: roadstead
  resourceNamespace: "on"
clientConnection:
  kubeconfig: "/etc/kube config"
  acceptContentTypes: application/json,text/plain
  contentType: application/json
  qps: 0.25
  burst: 7
enableProfiling: false
enableContentionProfiling: true
percentageOfNodesToScore: 50
podInitialBackoffSeconds: 2
podMaxBackoffSeconds: 20
delayCacheUntilActive: true
profiles:
- schedulerName: default-scheduler
- schedulerName: batch
  percentageOfNodesToScore: 5
  plugins:
    multiPoint:
      disabled: [{name: ImageLocality}]
    score:
      enabled: [{name: NodeResourcesFit, weight: 10}]
      disabled: [{name: PodTopologySpread}]
    postFilter:
      disabled: [{name: "*"}]
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}}
  - name: NodeAffinity
    args:
      addedAffinity:
        preferredDuringSchedulingIgnoredDuringExecution:
        - weight: 1
          preference: {matchFields: [{key: metadata.name, operator: In, values: ["1"]}]}
  - name: Elsewhere
    args: {anything: [1, {"yes": 2.5}, null]}
  - name: Bare
extenders:
- urlPrefix: https://a.example/b
  filterVerb: filter
  preemptVerb: preempt
  prioritizeVerb: prioritize
  weight: 5
  bindVerb: bind
  enableHTTPS: true
  tlsConfig: {insecure: true, serverName: a, certFile: b, keyFile: c, caFile: d, certData: aGk=, keyData: aGk=, caData: aGk=}
  httpTimeout: 30s
  nodeCacheCapable: true
  managedResources: [{name: a.example/x, ignoredByScheduler: true}, {name: a.example/y}]
  ignorable: true
- urlPrefix: http://c
"#;

#[test]
fn every_field_is_read() {
    let configuration = good(EVERYTHING);
    let value = serde_json::to_value(&configuration).unwrap();
    // Each was chosen unlike its default, so one that is not read differs.
    let (written, error) = Node::parse(EVERYTHING);
    assert!(error.is_none());
    let mut written = written.unwrap().to_json();
    let rest = written.as_object_mut().unwrap();
    let (profiles, extenders) =
        (rest.remove("profiles").unwrap(), rest.remove("extenders").unwrap());
    rest["leaderElection"]["leaseDuration"] = json!("1m0s");
    for (field, expected) in rest {
        assert_eq!(&value[field.as_str()], expected, "{field}");
    }
    assert_eq!(value["extenders"][0], extenders[0]);
    assert_eq!(
        value["extenders"][1],
        json!({"urlPrefix": "http://c", "weight": 0, "httpTimeout": "5s"})
    );
    let (profile, written) = (&value["profiles"][1], &profiles[1]);
    assert_eq!(profile["schedulerName"], written["schedulerName"]);
    assert_eq!(profile["percentageOfNodesToScore"], written["percentageOfNodesToScore"]);
    assert_eq!(profile["plugins"]["score"], written["plugins"]["score"]);
    assert_eq!(profile["plugins"]["postFilter"], written["plugins"]["postFilter"]);
    assert_eq!(profile["pluginConfig"][1]["args"], written["pluginConfig"][1]["args"]);
    assert_eq!(profile["pluginConfig"][2], written["pluginConfig"][2]);
    assert_eq!(profile["pluginConfig"][3], json!({"name": "Bare"}));
}

#[test]
fn what_extenders_manage_replaces_what_fit_ignores() {
    let configuration = good(EVERYTHING);
    for profile in configuration.profiles(&Known::default()).unwrap() {
        let fit = profile.arguments("NodeResourcesFit");
        assert_eq!(fit["ignoredResources"], json!(["a.example/x"]), "{}", profile.scheduler_name());
    }
    assert_eq!(configuration.profiles[1].plugin_config[0].args.get("ignoredResources"), None);
}

#[test]
fn what_is_printed_reads_as_the_same() {
    for text in ["", EVERYTHING] {
        let configuration = good(text);
        let printed = configuration.to_yaml();
        let again = SchedulerConfiguration::read("printed.yaml", &printed, &Known::default());
        let again = again.unwrap_or_else(|error| panic!("{printed}\n{error}"));
        assert_eq!(again, configuration, "{printed}");
        assert_eq!(again.to_yaml(), printed);
    }
}

#[test]
fn the_printed_default_is_what_people_know() {
    let printed = SchedulerConfiguration::default().to_yaml();
    let expected = "\
apiVersion: kubescheduler.config.k8s.io/v1
clientConnection:
  acceptContentTypes: \"\"
  burst: 100
  contentType: application/vnd.kubernetes.protobuf
  kubeconfig: \"\"
  qps: 50
enableContentionProfiling: true
enableProfiling: true
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: true
  leaseDuration: 15s
  renewDeadline: 10s
  resourceLock: leases
  resourceName: kube-scheduler
  resourceNamespace: kube-system
  retryPeriod: 2s
parallelism: 16
percentageOfNodesToScore: 0
podInitialBackoffSeconds: 1
podMaxBackoffSeconds: 10
profiles:
- pluginConfig:
  - args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: DefaultPreemptionArgs
      minCandidateNodesAbsolute: 100
      minCandidateNodesPercentage: 10
    name: DefaultPreemption
  - args:
      apiVersion: kubescheduler.config.k8s.io/v1
      bindingTimeout: 10m0s
";
    assert!(printed.starts_with(expected), "{printed}");
    assert!(
        printed
            .ends_with("      - name: NodeDeclaredFeatures\n  schedulerName: default-scheduler\n"),
        "{printed}"
    );
}

#[test]
fn json_is_read_as_well() {
    let text = "{\n\t\"apiVersion\": \"kubescheduler.config.k8s.io/v1\",\n\t\"kind\": \"KubeSchedulerConfiguration\",\n\t\"parallelism\": 3,\n\t\"profiles\": [{\"schedulerName\": \"a\\u0062\"}]\n}\n";
    let known = Known::default();
    let configuration = SchedulerConfiguration::read("scheduler.json", text, &known).unwrap();
    assert_eq!(configuration.parallelism, 3);
    assert_eq!(configuration.profiles[0].scheduler_name, "ab");

    let broken = text.replace("\": 3", "\": \"3\"");
    let error = SchedulerConfiguration::read("scheduler.json", &broken, &known).unwrap_err();
    let expected = "\
error: parallelism: Invalid value: \"3\": must be an integer
 --> scheduler.json:4:17
4 | \t\"parallelism\": \"3\",
  | \t               ^^^";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_configuration_that_was_changed_is_checked_again() {
    let known = Known::default();
    let mut configuration = SchedulerConfiguration::default();
    configuration.leader_election.resource_name.clear();
    configuration.profiles.push(ProfileConfiguration::new("batch", &known));
    let args = json!({"hardPodAffinityWeight": 101, "nonsense": 1});
    configuration.profiles[1].plugin_config[2].args = args;
    configuration.profiles[1].plugins.multi_point.enabled[2].name = "NodeNames".to_owned();
    let error = configuration.profiles(&known).unwrap_err();
    let expected = "\
error: leaderElection.resourceName: Required value

error: unknown field \"profiles[1].pluginConfig[2].args.nonsense\"

error: profiles[1].pluginConfig[2].args.hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]

error: profiles[1].plugins.multiPoint.enabled[2].name: PreFilterPlugin \"NodeNames\" does not exist
  = did you mean `NodeName`?";
    assert_eq!(error.to_string(), expected);
    assert_eq!(error.problems()[0].line(), None);
}
