//! Broken configurations, and every word that is said of them.

use super::*;

/// A problem as `line:column message`, then what might help.
fn told(problem: &Problem) -> String {
    let place = match (problem.line(), problem.column()) {
        (Some(line), Some(column)) => format!("{line}:{column} "),
        _ => String::new(),
    };
    let hint = problem.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
    format!("{place}{}{hint}", problem.message())
}

fn all_told(read: Result<SchedulerConfiguration, ConfigError>, text: &str) -> Vec<String> {
    read.expect_err(text).problems().iter().map(told).collect()
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    for (text, expected) in BROKEN {
        assert_eq!(all_told(read(text), text), *expected, "{text}");
    }
}

#[test]
fn another_version_or_kind_is_not_looked_into() {
    const VERSION: &str = r#"supported values: "kubescheduler.config.k8s.io/v1""#;
    const KIND: &str = r#"supported values: "KubeSchedulerConfiguration""#;
    let rows = [
        (
            "",
            vec![
                format!("1:1 apiVersion: Required value: {VERSION}"),
                format!("1:1 kind: Required value: {KIND}"),
            ],
        ),
        (
            "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\nnonsense: 1",
            vec![format!(
                "1:13 apiVersion: Unsupported value: \"kubescheduler.config.k8s.io/v1beta3\": {VERSION}"
            )],
        ),
        (
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: Policy\nparallelism: 0",
            vec![format!("2:7 kind: Unsupported value: \"Policy\": {KIND}")],
        ),
        (
            "apiVersion: 1\nkind: true",
            vec![
                "1:13 apiVersion: Invalid value: 1: must be a string".to_owned(),
                "2:7 kind: Invalid value: true: must be a string".to_owned(),
            ],
        ),
        ("[]", vec!["1:1 a configuration must be an object".to_owned()]),
    ];
    for (text, expected) in rows {
        let read = SchedulerConfiguration::read("scheduler.yaml", text, &Known::default());
        assert_eq!(all_told(read, text), expected, "{text}");
    }
}

#[test]
fn gates_decide_what_arguments_may_say() {
    let scoring = Gates { storage_capacity_scoring: true, ..Gates::default() };
    let off = Gates {
        dra_device_binding_conditions: false,
        dra_scheduler_filter_timeout: false,
        ..Gates::default()
    };
    let rows = [
        (
            scoring,
            "VolumeBinding",
            "{shape: [{utilization: 50, score: 11}, {utilization: 50, score: -1}, {utilization: 101}]}",
            vec![
                "shape[0].score: Invalid value: 11: not in valid range [0, 10]",
                "shape[1].utilization: Invalid value: 50: values must be sorted in increasing order",
                "shape[1].score: Invalid value: -1: not in valid range [0, 10]",
                "shape[2].utilization: Invalid value: 101: not in valid range [0, 100]",
            ],
        ),
        (
            off,
            "DynamicResources",
            "{filterTimeout: 1s, bindingTimeout: 1s}",
            vec![
                "filterTimeout: Forbidden: DRASchedulingFilterTimeout feature gate is disabled",
                "bindingTimeout: Forbidden: DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled",
            ],
        ),
    ];
    for (gates, plugin, args, expected) in rows {
        let text =
            format!("{HEAD}profiles: [{{pluginConfig: [{{name: {plugin}, args: {args}}}]}}]");
        let known = Known::new(gates);
        let error = SchedulerConfiguration::read("scheduler.yaml", &text, &known).unwrap_err();
        let prefix = "profiles[0].pluginConfig[0].args.";
        let expected: Vec<String> = expected.iter().map(|line| format!("{prefix}{line}")).collect();
        let told: Vec<&str> = error.problems().iter().map(Problem::message).collect();
        assert_eq!(told, expected, "{plugin}");
    }
}

#[test]
fn profiles_with_other_plugins_are_held_to_the_same_rules() {
    let mut known = Known::default();
    known.add("Other", [Point::QueueSort]);
    known.add("Planner", [Point::PlacementGenerate]);
    let rows = [
        (
            "profiles:\n- schedulerName: a\n- schedulerName: b\n  plugins: {multiPoint: {disabled: [{name: PrioritySort}], enabled: [{name: Other}]}}",
            r#"6:3 profiles[1].plugins.queueSort: different queue sort plugins for profile "b": "Other", first: "PrioritySort""#,
        ),
        (
            "profiles:\n- plugins: {multiPoint: {enabled: [{name: Other}]}}",
            r#"4:3 profiles[0].plugins.queueSort: only one queue sort plugin required for profile with scheduler name "default-scheduler", but got 2"#,
        ),
        (
            "profiles:\n- plugins: {placementGenerate: {enabled: [{name: TopologyPlacementGenerator}, {name: Planner}]}}",
            r#"4:13 profiles[0].plugins.placementGenerate: only one placement generate plugin can be enabled for profile with scheduler name "default-scheduler", but got 2"#,
        ),
    ];
    for (text, expected) in rows {
        let read = SchedulerConfiguration::read("test.yaml", &format!("{HEAD}{text}"), &known);
        assert_eq!(all_told(read, text), [expected], "{text}");
    }
}

#[test]
fn errors_print_as_a_compilers() {
    let text = "\
profiles:
- schedulerName: batch
  plugins:
    filter:
      enabled:
      - name: NodeResourceFit
percentageOfNodesToScore: 30
parallelism: 0
";
    let expected = r#"error: profiles[0].plugins.filter.enabled[0].name: FilterPlugin "NodeResourceFit" does not exist
 --> scheduler.yaml:8:15
8 |       - name: NodeResourceFit
  |               ^^^^^^^^^^^^^^^ did you mean `NodeResourcesFit`?

error: parallelism: Invalid value: 0: should be an integer value greater than zero
  --> scheduler.yaml:10:14
10 | parallelism: 0
   |              ^"#;
    let error = read(text).unwrap_err();
    assert_eq!(error.to_string(), expected);
    assert_eq!(error.file(), "scheduler.yaml");
    assert_eq!(error.problems()[1].path(), "parallelism");
}

/// What follows the head of a file, and all that is told.
#[rustfmt::skip]
const BROKEN: &[(&str, &[&str])] = &[
    (
        "parallelism: many",
        &[
            r#"3:14 parallelism: Invalid value: "many": must be an integer"#,
        ],
    ),
    (
        "parallelism: 3000000000",
        &[
            "3:14 parallelism: Invalid value: 3000000000: must be a 32-bit integer",
        ],
    ),
    (
        "parallelism: 1.5",
        &[
            "3:14 parallelism: Invalid value: 1.5: must be an integer",
        ],
    ),
    (
        "podMaxBackoffSeconds: 99999999999999999999",
        &[
            "3:23 podMaxBackoffSeconds: Invalid value: 1e+20: must be a 64-bit integer",
        ],
    ),
    (
        "enableProfiling: sometimes",
        &[
            r#"3:18 enableProfiling: Invalid value: "sometimes": must be true or false"#,
        ],
    ),
    (
        "leaderElection: always",
        &[
            r#"3:17 leaderElection: Invalid value: "always": must be an object"#,
        ],
    ),
    (
        "leaderElection:\n  leaseDuration: 15",
        &[
            r#"4:18 leaderElection.leaseDuration: Invalid value: 15: must be a duration such as "15s""#,
        ],
    ),
    (
        "leaderElection:\n  leaseDuration: 15 s\n  renewDeadline: fifteen",
        &[
            r#"4:18 leaderElection.leaseDuration: Invalid value: "15 s": time: unknown unit " s" in duration "15 s""#,
            r#"5:18 leaderElection.renewDeadline: Invalid value: "fifteen": time: invalid duration "fifteen""#,
        ],
    ),
    (
        "clientConnection: {qps: fast, kubeconfig: 7}",
        &[
            r#"3:25 clientConnection.qps: Invalid value: "fast": must be a number"#,
            "3:43 clientConnection.kubeconfig: Invalid value: 7: must be a string",
        ],
    ),
    (
        "profiles: {schedulerName: a}",
        &[
            r#"3:11 profiles: Invalid value: {"schedulerName":"a"}: must be a list"#,
        ],
    ),
    (
        "profiles:\n- schedulerName: [a]\n  plugins: none",
        &[
            r#"4:18 profiles[0].schedulerName: Invalid value: ["a"]: must be a string"#,
            r#"5:12 profiles[0].plugins: Invalid value: "none": must be an object"#,
        ],
    ),
    (
        "paralelism: 4",
        &[
            r#"3:1 unknown field "paralelism" (did you mean `parallelism`?)"#,
        ],
    ),
    (
        "leaderElection:\n  leaderelect: true\nmetricsBindAddress: ''",
        &[
            r#"4:3 unknown field "leaderElection.leaderelect" (did you mean `leaderElect`?)"#,
            r#"5:1 unknown field "metricsBindAddress""#,
        ],
    ),
    (
        "profiles:\n- plugins:\n    filters:\n      enabled: []\n    score:\n      enabled:\n      - name: NodeAffinity\n        wieght: 3",
        &[
            r#"5:5 unknown field "profiles[0].plugins.filters" (did you mean `filter`?)"#,
            r#"10:9 unknown field "profiles[0].plugins.score.enabled[0].wieght" (did you mean `weight`?)"#,
        ],
    ),
    (
        "parallelism: 1\npodMaxBackoffSeconds: 0\nparallelism: 2",
        &[
            "4:23 podMaxBackoffSeconds: Invalid value: 0: must be greater than or equal to PodInitialBackoffSeconds",
            r#"5:1 duplicate field "parallelism""#,
        ],
    ),
    (
        "profiles:\n- schedulerName: a\n  schedulerName: b",
        &[
            r#"5:3 duplicate field "schedulerName""#,
        ],
    ),
    (
        "parallelism: 0",
        &[
            "3:14 parallelism: Invalid value: 0: should be an integer value greater than zero",
        ],
    ),
    (
        "percentageOfNodesToScore: 101",
        &[
            "3:27 percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]",
        ],
    ),
    (
        "percentageOfNodesToScore: -1",
        &[
            "3:27 percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]",
        ],
    ),
    (
        "podInitialBackoffSeconds: 0",
        &[
            "3:27 podInitialBackoffSeconds: Invalid value: 0: must be greater than 0",
        ],
    ),
    (
        "podInitialBackoffSeconds: 20",
        &[
            "1:1 podMaxBackoffSeconds: Invalid value: 10: must be greater than or equal to PodInitialBackoffSeconds (`podMaxBackoffSeconds` is not set)",
        ],
    ),
    (
        "podInitialBackoffSeconds: -5\npodMaxBackoffSeconds: -6",
        &[
            "3:27 podInitialBackoffSeconds: Invalid value: -5: must be greater than 0",
            "4:23 podMaxBackoffSeconds: Invalid value: -6: must be greater than or equal to PodInitialBackoffSeconds",
        ],
    ),
    (
        "clientConnection:\n  burst: -1",
        &[
            "4:10 clientConnection.burst: Invalid value: -1: must be non-negative",
        ],
    ),
    (
        "leaderElection: {leaseDuration: -1s, renewDeadline: -2s, retryPeriod: -3s}",
        &[
            "3:33 leaderElection.leaseDuration: Invalid value: -1s: must be greater than zero",
            "3:53 leaderElection.renewDeadline: Invalid value: -2s: must be greater than zero",
            "3:71 leaderElection.retryPeriod: Invalid value: -3s: must be greater than zero",
        ],
    ),
    (
        "leaderElection:\n  renewDeadline: 15s",
        &[
            "3:1 leaderElection.leaseDuration: Invalid value: 15s: must be greater than `RenewDeadline` (`leaseDuration` is not set)",
        ],
    ),
    (
        "leaderElection:\n  resourceLock: configmaps",
        &[
            r#"4:17 leaderElection.resourceLock: Invalid value: "configmaps": resourceLock value must be "leases""#,
        ],
    ),
    (
        "profiles:\n- schedulerName: ''",
        &[
            "4:18 profiles[0].schedulerName: Required value",
        ],
    ),
    (
        "profiles:\n- schedulerName: a\n- percentageOfNodesToScore: 200",
        &[
            "5:3 profiles[1].schedulerName: Required value",
            "5:29 profiles[1].percentageOfNodesToScore: Invalid value: 200: not in valid range [0-100]",
        ],
    ),
    (
        "profiles:\n- schedulerName: a\n- schedulerName: b\n- schedulerName: a",
        &[
            "6:18 profiles[2].schedulerName: Duplicate value: profiles[0].schedulerName",
        ],
    ),
    (
        "profiles:\n- schedulerName: batch\n  plugins:\n    filter:\n      enabled:\n      - name: NodeResourceFit",
        &[
            r#"8:15 profiles[0].plugins.filter.enabled[0].name: FilterPlugin "NodeResourceFit" does not exist (did you mean `NodeResourcesFit`?)"#,
        ],
    ),
    (
        "profiles:\n- schedulerName: batch\n  plugins:\n    multiPoint:\n      enabled:\n      - name: NodeAffinty\n      - name: Gpu",
        &[
            r#"8:15 profiles[0].plugins.multiPoint.enabled[0].name: PreFilterPlugin "NodeAffinty" does not exist (did you mean `NodeAffinity`?)"#,
            r#"9:15 profiles[0].plugins.multiPoint.enabled[1].name: PreFilterPlugin "Gpu" does not exist"#,
        ],
    ),
    (
        "profiles:\n- schedulerName: batch\n  plugins:\n    preFilter: {disabled: [{name: '*'}]}\n    multiPoint:\n      enabled:\n      - name: Gpu",
        &[
            r#"9:15 profiles[0].plugins.multiPoint.enabled[0].name: FilterPlugin "Gpu" does not exist"#,
        ],
    ),
    (
        "profiles:\n- schedulerName: batch\n  plugins:\n    filter:\n      enabled:\n      - name: ImageLocality",
        &[
            r#"8:15 profiles[0].plugins.filter.enabled[0].name: plugin "ImageLocality" does not extend FilterPlugin plugin (it joins score)"#,
        ],
    ),
    (
        "profiles:\n- schedulerName: batch\n  plugins:\n    score:\n      enabled:\n      - {name: ImageLocality}\n      - {name: NodeAffinity}\n      - {name: ImageLocality, weight: 2}",
        &[
            r#"10:16 profiles[0].plugins.score.enabled[2].name: plugin "ImageLocality" already registered as "ScorePlugin""#,
        ],
    ),
    (
        "profiles:\n- schedulerName: batch\n  plugins:\n    multiPoint:\n      enabled:\n      - name: NodeName\n      - name: NodePorts\n      - name: NodeName",
        &[
            r#"10:15 profiles[0].plugins.multiPoint.enabled[2].name: plugin "NodeName" already registered as "FilterPlugin""#,
        ],
    ),
    (
        "profiles:\n- schedulerName: batch\n  plugins:\n    filter:\n      enabled:\n      - name: EBSLimits",
        &[
            r#"8:9 profiles[0].plugins.filter.enabled[0]: Invalid value: "EBSLimits": was invalid in version "v1" (KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1")"#,
        ],
    ),
    (
        "profiles:\n- schedulerName: batch\n  plugins:\n    multiPoint:\n      enabled:\n      - name: EBSLimits",
        &[
            r#"8:15 profiles[0].plugins.multiPoint.enabled[0].name: PreFilterPlugin "EBSLimits" does not exist"#,
        ],
    ),
    (
        "profiles:\n- schedulerName: batch\n  plugins:\n    queueSort:\n      disabled:\n      - name: PrioritySort",
        &[
            r#"6:5 profiles[0].plugins.queueSort: only one queue sort plugin required for profile with scheduler name "batch", but got 0"#,
        ],
    ),
    (
        "profiles:\n- schedulerName: batch\n  plugins:\n    queueSort:\n      enabled:\n      - name: PrioritySort\n      - name: PrioritySort",
        &[
            "7:7 profiles[0].plugins.queueSort.enabled: Invalid value: 2: only one queue sort plugin can be enabled",
            r#"9:15 profiles[0].plugins.queueSort.enabled[1].name: plugin "PrioritySort" already registered as "QueueSortPlugin""#,
        ],
    ),
    (
        "profiles:\n- schedulerName: batch\n  plugins:\n    bind:\n      disabled:\n      - name: '*'",
        &[
            r#"6:5 profiles[0].plugins.bind: at least one bind plugin is needed for profile with scheduler name "batch""#,
        ],
    ),
    (
        "profiles:\n- schedulerName: batch\n  plugins:\n    multiPoint:\n      disabled:\n      - name: '*'",
        &[
            r#"5:3 profiles[0].plugins.queueSort: only one queue sort plugin required for profile with scheduler name "batch", but got 0"#,
            r#"5:3 profiles[0].plugins.bind: at least one bind plugin is needed for profile with scheduler name "batch""#,
        ],
    ),
    (
        "profiles:\n- schedulerName: a\n- schedulerName: b\n  plugins:\n    queueSort:\n      enabled:\n      - name: PrioritySort",
        &[
            r#"7:5 profiles[1].plugins.queueSort: Invalid value: {"enabled":[{"name":"PrioritySort"}]}: must be the same for all profiles"#,
        ],
    ),
    (
        "profiles:\n- schedulerName: a\n  plugins: {queueSort: {enabled: [{name: PrioritySort}]}}\n  pluginConfig:\n  - {name: PrioritySort, args: {a: 1}}\n- schedulerName: b\n  plugins: {queueSort: {enabled: [{name: PrioritySort}]}}\n  pluginConfig:\n  - {name: PrioritySort, args: {a: 2}}",
        &[
            r#"11:26 profiles[1].pluginConfig[0].args: Invalid value: {"a":2}: queueSort must be the same for all profiles"#,
        ],
    ),
    (
        "profiles:\n- schedulerName: a\n  pluginConfig:\n  - {name: PrioritySort, args: {a: 1}}\n- schedulerName: b",
        &[
            r#"7:3 profiles[1].pluginConfig: different queue sort plugin args for profile "b""#,
        ],
    ),
    (
        "profiles:\n- pluginConfig:\n  - name: NodeAffinity\n  - name: Elsewhere\n  - name: NodeAffinity",
        &[
            r#"7:5 profiles[0].pluginConfig[2]: Duplicate value: "NodeAffinity""#,
        ],
    ),
    (
        "profiles:\n- pluginConfig:\n  - name: CinderLimits\n    args: {}",
        &[
            r#"5:5 profiles[0].pluginConfig[0]: Invalid value: "CinderLimits": was invalid in version "v1" (KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1")"#,
        ],
    ),
    (
        "profiles:\n- pluginConfig:\n  - name: NodeAffinity\n    args: {kind: InterPodAffinityArgs, hardPodAffinityWeight: 1000}",
        &[
            r#"6:18 profiles[0].pluginConfig[0].args: Invalid value: "InterPodAffinityArgs": has to match plugin args"#,
        ],
    ),
    (
        "profiles:\n- pluginConfig:\n  - name: NodeAffinity\n    args: {apiVersion: kubescheduler.config.k8s.io/v1beta3}",
        &[
            r#"6:24 profiles[0].pluginConfig[0].args.apiVersion: Unsupported value: "kubescheduler.config.k8s.io/v1beta3": supported values: "kubescheduler.config.k8s.io/v1""#,
        ],
    ),
    (
        "profiles:\n- pluginConfig:\n  - name: NodeAffinity\n    args: []",
        &[
            "6:11 profiles[0].pluginConfig[0].args: Invalid value: []: must be an object",
        ],
    ),
    (
        "profiles:\n- pluginConfig:\n  - name: InterPodAffinity\n    args: {hardPodAffinityWeights: 5, hardPodAffinityWeight: heavy}",
        &[
            r#"6:12 unknown field "profiles[0].pluginConfig[0].args.hardPodAffinityWeights" (did you mean `hardPodAffinityWeight`?)"#,
            r#"6:62 profiles[0].pluginConfig[0].args.hardPodAffinityWeight: Invalid value: "heavy": must be an integer"#,
        ],
    ),
    (
        "profiles:\n- pluginConfig:\n  - name: InterPodAffinity\n    args: {hardPodAffinityWeight: 101}",
        &[
            "6:35 profiles[0].pluginConfig[0].args.hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]",
        ],
    ),
    (
        "profiles:\n- pluginConfig:\n  - name: DefaultPreemption\n    args: {minCandidateNodesPercentage: 101, minCandidateNodesAbsolute: -1}",
        &[
            "6:41 profiles[0].pluginConfig[0].args.minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100]",
            "6:73 profiles[0].pluginConfig[0].args.minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)",
        ],
    ),
    (
        "profiles:\n- pluginConfig:\n  - name: DefaultPreemption\n    args: {minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}",
        &[
            "6:41 profiles[0].pluginConfig[0].args.minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same time as minCandidateNodesAbsolute",
            "6:71 profiles[0].pluginConfig[0].args.minCandidateNodesAbsolute: Invalid value: 0: cannot be zero at the same time as minCandidateNodesPercentage",
        ],
    ),
    (
        "profiles:\n- pluginConfig:\n  - name: DynamicResources\n    args: {filterTimeout: -1s, bindingTimeout: 999ms}",
        &[
            "6:27 profiles[0].pluginConfig[0].args.filterTimeout: Invalid value: -1s: must be zero or positive",
            "6:48 profiles[0].pluginConfig[0].args.bindingTimeout: Invalid value: 999ms: must be at least 1 second",
        ],
    ),
    (
        "profiles:\n- pluginConfig:\n  - name: NodeResourcesBalancedAllocation\n    args: {resources: [{name: cpu}, {name: memory, weight: 2}, {name: cpu}]}",
        &[
            "6:60 profiles[0].pluginConfig[0].args.resources[1].weight: Invalid value: 2: must be 1",
            r#"6:71 profiles[0].pluginConfig[0].args.resources[2].name: Duplicate value: "cpu""#,
        ],
    ),
    (
        "profiles:\n- pluginConfig:\n  - name: NodeResourcesFit\n    args: {scoringStrategy: {typ: x, resources: [{name: cpu, weight: much}]}}",
        &[
            r#"6:30 unknown field "profiles[0].pluginConfig[0].args.scoringStrategy.typ" (did you mean `type`?)"#,
            r#"6:70 profiles[0].pluginConfig[0].args.scoringStrategy.resources[0].weight: Invalid value: "much": must be an integer"#,
        ],
    ),
    (
        "profiles:\n- pluginConfig:\n  - name: PodTopologySpread\n    args: {defaultingType: Lists}",
        &[
            r#"6:28 profiles[0].pluginConfig[0].args.defaultingType: Unsupported value: "Lists": supported values: "System", "List""#,
        ],
    ),
    (
        "profiles:\n- pluginConfig:\n  - name: PodTopologySpread\n    args: \n      defaultConstraints:\n      - maxSkew: 0\n        topologyKey: a b\n        whenUnsatisfiable: Never\n        labelSelector: {}\n      - {}\n      - {maxSkew: 1}",
        &[
            r#"6:5 profiles[0].pluginConfig[0].args.defaultingType: Invalid value: "System": when .defaultConstraints are not empty (`defaultingType` is not set)"#,
            "8:18 profiles[0].pluginConfig[0].args.defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)",
            r#"9:22 profiles[0].pluginConfig[0].args.defaultConstraints[0].topologyKey: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"#,
            r#"10:28 profiles[0].pluginConfig[0].args.defaultConstraints[0].whenUnsatisfiable: Unsupported value: "Never": supported values: "DoNotSchedule", "ScheduleAnyway""#,
            "11:9 profiles[0].pluginConfig[0].args.defaultConstraints[0].labelSelector: Forbidden: constraint must not define a selector, as they deduced for each pod",
            "12:9 profiles[0].pluginConfig[0].args.defaultConstraints[1].maxSkew: Invalid value: 0: not in valid range (0, inf) (`maxSkew` is not set)",
            "12:9 profiles[0].pluginConfig[0].args.defaultConstraints[1].topologyKey: Required value: can not be empty",
            "12:9 profiles[0].pluginConfig[0].args.defaultConstraints[1].whenUnsatisfiable: Required value: can not be empty",
            "13:9 profiles[0].pluginConfig[0].args.defaultConstraints[2].topologyKey: Required value: can not be empty",
            "13:9 profiles[0].pluginConfig[0].args.defaultConstraints[2].whenUnsatisfiable: Required value: can not be empty",
            r#"13:9 profiles[0].pluginConfig[0].args.defaultConstraints[2]: Duplicate value: "{, }""#,
        ],
    ),
    (
        "profiles:\n- pluginConfig:\n  - name: VolumeBinding\n    args: {bindTimeoutSeconds: -1, shape: [{utilization: 0, score: 1}]}",
        &[
            "6:32 profiles[0].pluginConfig[0].args.bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative value",
            r#"6:36 profiles[0].pluginConfig[0].args.shape: Invalid value: [{"score":1,"utilization":0}]: unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"#,
        ],
    ),
    (
        "profiles:\n- pluginConfig:\n  - name: NodeAffinity\n    args: \n      addedAffinity:\n        requiredDuringSchedulingIgnoredDuringExecution:\n          nodeSelectorTerms:\n          - matchExpressions:\n            - {key: a, operator: Exist}\n            - {key: a/b/c, operator: In}\n            matchFields:\n            - {key: metadata.name, operator: Exists}\n        preferredDuringSchedulingIgnoredDuringExecution:\n        - weight: 1\n          preference:\n            matchExpressions:\n            - {key: a, operator: In, values: ['{}']}\n        - weight: 0\n          preference: {matchExpressions: [{key: '', operator: ''}]}",
        &[
            r#"11:34 profiles[0].pluginConfig[0].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: "Exist": supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt""#,
            "12:15 profiles[0].pluginConfig[0].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[1].values: Invalid value: []string(nil): for 'in', 'notin' operators, values set can't be empty (`values` is not set)",
            r#"12:21 profiles[0].pluginConfig[0].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[1].key: Invalid value: "a/b/c": a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"#,
            r#"14:46 profiles[0].pluginConfig[0].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].operator: Unsupported value: "Exists": supported values: "In", "NotIn""#,
            r#"19:47 profiles[0].pluginConfig[0].args.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].values[0][a]: Invalid value: "{}": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"#,
        ],
    ),
    (
        "extenders:\n- urlPrefix: http://a\n  prioritizeVerb: p",
        &[
            "4:3 extenders[0].weight: Invalid value: 0: must have a positive weight applied to it (`weight` is not set)",
        ],
    ),
    (
        "extenders:\n- {urlPrefix: a, bindVerb: b}\n- {urlPrefix: b, bindVerb: b}",
        &[
            r#"3:1 extenders: Invalid value: "found 2 extenders implementing bind": only one extender can implement bind"#,
        ],
    ),
    (
        "extenders:\n- managedResources:\n  - name: a.b/c\n  - name: cpu\n  - name: kubernetes.io/x\n  - name: -a\n- managedResources:\n  - name: a.b/c",
        &[
            r#"6:11 extenders[0].managedResources[1].name: Invalid value: "cpu": is an invalid extended resource name"#,
            r#"7:11 extenders[0].managedResources[2].name: Invalid value: "kubernetes.io/x": is an invalid extended resource name"#,
            r#"8:11 extenders[0].managedResources[3].name: Invalid value: "-a": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"#,
            r#"10:11 extenders[1].managedResources[0].name: Invalid value: "a.b/c": duplicate extender managed resource name"#,
        ],
    ),
    (
        "extenders:\n- urlPrefix: -",
        &[
            "4:14 block sequence entries are not allowed in this context",
        ],
    ),
    (
        "parallelism: 1\n---\nparallelism: 2",
        &[
            "5:1 there must be one document only, a KubeSchedulerConfiguration",
        ],
    ),
    (
        "profiles: [",
        &[
            "3:11 unclosed bracket '['",
        ],
    ),
    (
        "profiles:\n- plugins:\n	score: {}",
        &[
            "5:2 tabs disallowed within this context (block indentation)",
        ],
    ),
    (
        "extenders:\n- tlsConfig:\n    keyData: '---'\n  httpTimeout: 5\n  enableHttps: true",
        &[
            "5:14 extenders[0].tlsConfig.keyData: Invalid value: illegal base64 data",
            r#"6:16 extenders[0].httpTimeout: Invalid value: 5: must be a duration such as "15s""#,
            r#"7:3 unknown field "extenders[0].enableHttps" (did you mean `enableHTTPS`?)"#,
        ],
    ),
    (
        "extenders:\n- managedResources: [{name: a.b/c, ignoredByScheduler: true}]\nprofiles:\n- plugins:\n    multiPoint:\n      disabled: [{name: NodeResourcesFit}]",
        &[
            "6:3 profiles[0].pluginConfig: can't find NodeResourcesFitArgs in plugin config",
        ],
    ),
    (
        "parallelism: -1\nprofiles:\n- schedulerName: a\n  plugins:\n    score:\n      enabled:\n      - name: ImageLocalty\n- schedulerName: a\nextenders: 5",
        &[
            "3:14 parallelism: Invalid value: -1: should be an integer value greater than zero",
            r#"9:15 profiles[0].plugins.score.enabled[0].name: ScorePlugin "ImageLocalty" does not exist (did you mean `ImageLocality`?)"#,
            "10:18 profiles[1].schedulerName: Duplicate value: profiles[0].schedulerName",
            "11:12 extenders: Invalid value: 5: must be a list",
        ],
    ),
];
