//! What would wake a pod, in words.

use std::collections::BTreeMap;

use roadstead_model::Text;
use roadstead_queue::Action;
use roadstead_scheduler::events;
use roadstead_scheduler::framework::{Framework, Registration};

/// What each plugin of each profile has registered for, in words.
pub(crate) struct Wakers(BTreeMap<Text, BTreeMap<&'static str, Vec<String>>>);

impl Wakers {
    pub(crate) fn new(profiles: &[(Text, Framework)]) -> Self {
        let words = |framework: &Framework| {
            let registrations = |plugin| in_words(&Framework::registrations(plugin));
            framework.plugins().map(|plugin| (plugin.name(), registrations(plugin))).collect()
        };
        Self(profiles.iter().map(|(name, framework)| (name.clone(), words(framework))).collect())
    }

    /// What brings back a pod of a profile that the plugin has rejected.
    pub(crate) fn of(&self, profile: &Text, plugin: &str) -> &[String] {
        let words = self.0.get(profile).and_then(|plugins| plugins.get(plugin));
        words.map_or(&[], |words| words)
    }
}

/// Each event once, in the order of registration.
fn in_words(registrations: &[Registration]) -> Vec<String> {
    let mut words = Vec::new();
    for registration in registrations {
        let of_one = one_in_words(&described(registration.resource.name()), registration.action);
        for word in of_one {
            if !words.contains(&word) {
                words.push(word);
            }
        }
    }
    words
}

fn one_in_words(what: &str, action: Action) -> Vec<String> {
    if action == Action::ALL {
        return vec![format!("anything happens to {what}")];
    }
    let has = |part: Action| action.bits() & part.bits() == part.bits();
    let mut words = Vec::new();
    if has(Action::ADD) {
        words.push(format!("{what} is added"));
    }
    if has(Action::DELETE) {
        words.push(format!("{what} is deleted"));
    }
    if has(Action::UPDATE) {
        words.push(format!("{what} changes"));
    } else {
        let kinds = UPDATES.iter().filter(|(kind, _)| has(*kind));
        words.extend(kinds.map(|(_, phrase)| phrase.replace("{}", what)));
    }
    words
}

const UPDATES: &[(Action, &str)] = &[
    (events::UPDATE_NODE_ALLOCATABLE, "a node's allocatable grows"),
    (events::UPDATE_NODE_LABEL, "a node's labels change"),
    (events::UPDATE_NODE_TAINT, "a node's taints change, or it is uncordoned"),
    (events::UPDATE_NODE_CONDITION, "a node's conditions change"),
    (events::UPDATE_NODE_ANNOTATION, "a node's annotations change"),
    (events::UPDATE_NODE_DECLARED_FEATURE, "a node declares other features"),
    (events::UPDATE_POD_LABEL, "{}'s labels change"),
    (events::UPDATE_POD_SCALE_DOWN, "a pod asks for less"),
    (events::UPDATE_POD_TOLERATION, "the pod's tolerations change"),
    (events::UPDATE_POD_SCHEDULING_GATES_ELIMINATED, "the pod's last scheduling gate is removed"),
    (events::UPDATE_POD_GENERATED_RESOURCE_CLAIM, "a resource claim is made for the pod"),
];

/// A resource with its article. That pods come and go is heard of those on nodes only.
fn described(resource: &str) -> String {
    let kind = resource.rsplit('/').next().unwrap_or(resource);
    let known = match kind {
        "Pod" | "AssignedPod" => "an assigned pod",
        "UnschedulablePod" => "the pod",
        "Node" => "a node",
        "PersistentVolume" => "a volume",
        "PersistentVolumeClaim" => "a claim",
        "StorageClass" => "a storage class",
        "VolumeAttachment" => "a volume attachment",
        "ResourceClaim" => "a resource claim",
        "ResourceSlice" => "a resource slice",
        "DeviceClass" => "a device class",
        _ => return format!("a {kind}"),
    };
    known.to_owned()
}

#[cfg(test)]
mod tests {
    use roadstead_queue::Ask;

    use super::*;

    #[test]
    fn registrations_are_told_in_words_each_once() {
        let on = |resource, action| Registration::new(resource, action, Ask::Nobody);
        let registrations = [
            on(events::NODE, Action::ADD | events::UPDATE_NODE_ALLOCATABLE),
            on(events::POD, Action::DELETE),
            on(events::ASSIGNED_POD, Action::DELETE | events::UPDATE_POD_LABEL),
            on(events::UNSCHEDULABLE_POD, events::UPDATE_POD_LABEL),
            on(events::CSI_NODE, Action::ADD | Action::UPDATE),
            on(events::STORAGE_CLASS, Action::ALL),
        ];
        let expected = [
            "a node is added",
            "a node's allocatable grows",
            "an assigned pod is deleted",
            "an assigned pod's labels change",
            "the pod's labels change",
            "a CSINode is added",
            "a CSINode changes",
            "anything happens to a storage class",
        ];
        assert_eq!(in_words(&registrations), expected);
    }

    #[test]
    fn every_default_plugin_that_rejects_can_be_woken() {
        let setup = crate::Setup::default();
        let wakers = Wakers::new(&setup.profiles);
        for plugin in ["NodeResourcesFit", "TaintToleration", "SchedulingGates", "VolumeBinding"] {
            assert!(!wakers.of(&setup.profiles[0].0, plugin).is_empty(), "{plugin}");
        }
    }
}
