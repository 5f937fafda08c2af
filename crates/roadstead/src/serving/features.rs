//! Which of kube-scheduler's features this scheduler has.

use roadstead_scheduler::Exposition;

/// Writes whether each feature gate that changes what kube-scheduler v1.36 does is on here: whether
/// this scheduler does what it stands for. None of them can be changed.
pub(super) fn expose(out: &mut Exposition) {
    let name = "kubernetes_feature_enabled";
    let help =
        "[BETA] This metric records the data about the stage and enablement of a k8s feature.";
    out.begin(name, help, "gauge");
    for (feature, stage, is_on) in FEATURES {
        out.sample(name, &[("name", feature), ("stage", stage)], f64::from(u8::from(is_on)));
    }
}

/// In the order of their names. What is generally available has no stage.
#[rustfmt::skip]
const FEATURES: [(&str, &str, bool); 23] = [
    ("DRAConsumableCapacity",              "BETA",  false),
    ("DRADeviceBindingConditions",         "BETA",  false),
    ("DRADeviceTaintRules",                "BETA",  false),
    ("DRAExtendedResource",                "BETA",  false),
    ("DRANodeAllocatableResources",        "ALPHA", false),
    ("DRASchedulerFilterTimeout",          "BETA",  false),
    ("DynamicResourceAllocation",          "",      false),
    ("GangScheduling",                     "ALPHA", false),
    ("GenericWorkload",                    "ALPHA", false),
    ("InPlacePodVerticalScaling",          "",      true),
    ("NodeDeclaredFeatures",               "BETA",  true),
    ("NominatedNodeNameForExpectation",    "BETA",  true),
    ("OpportunisticBatching",              "BETA",  false),
    ("PodLevelResources",                  "BETA",  true),
    ("PodObservedGenerationTracking",      "",      true),
    ("SchedulerAsyncAPICalls",             "BETA",  false),
    ("SchedulerAsyncPreemption",           "BETA",  true),
    ("SchedulerPopFromBackoffQ",           "BETA",  true),
    ("SchedulerQueueingHints",             "",      true),
    ("StorageCapacityScoring",             "ALPHA", false),
    ("TaintTolerationComparisonOperators", "ALPHA", false),
    ("TopologyAwareWorkloadScheduling",    "ALPHA", false),
    ("WorkloadAwarePreemption",            "ALPHA", false),
];
