//! Which events bring a pod back, and their words.

use roadstead_queue::{Action, Ask, Event, Resource};
use serde::Serialize;

use crate::events;
use crate::framework::{Framework, Plugin};

/// An event that would bring a pod back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct News {
    /// The event's name, as metrics know it.
    pub event: String,
    /// What happens, in words.
    pub words: String,
    /// Whether it is looked at first, by the plugin's hint, whether it may help.
    pub if_it_may_help: bool,
}

impl News {
    /// What brings back the pods that the plugin rejected: each event once, in the order of
    /// registration.
    #[must_use]
    pub fn of(plugin: &dyn Plugin) -> Vec<Self> {
        Self::except(plugin, &[])
    }

    /// The same, without events of which the plugin says that they never help.
    pub(super) fn except(plugin: &dyn Plugin, in_vain: &[(Resource, Action)]) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for registration in Framework::registrations(plugin) {
            let resource = &registration.resource;
            for action in parts(registration.action) {
                let is_in_vain = |resource| in_vain.contains(&(resource, action));
                let is_own = *resource == events::POD && is_in_vain(events::ASSIGNED_POD);
                let heard = if is_own { &events::UNSCHEDULABLE_POD } else { resource };
                let Some(words) = words(heard, action) else { continue };
                if is_in_vain(resource.clone()) {
                    continue;
                }
                let news = Self {
                    event: Event::<()>::new(resource.clone(), action).label().to_string(),
                    words,
                    if_it_may_help: registration.ask != Ask::Nobody,
                };
                if !all.iter().any(|known| known.words == news.words) {
                    all.push(news);
                }
            }
        }
        all
    }
}

/// What an action is made of. A whole update stands for its kinds.
fn parts(action: Action) -> impl Iterator<Item = Action> {
    let has = move |part: &Action| action.bits() & part.bits() == part.bits();
    let whole = [Action::ADD, Action::DELETE, Action::UPDATE].into_iter().filter(has);
    let kinds = POD.iter().chain(NODE).map(|(kind, _)| *kind).filter(is_kind);
    whole.chain(kinds.filter(move |kind| has(kind) && !has(&Action::UPDATE)))
}

fn is_kind(action: &Action) -> bool {
    action.bits() & Action::UPDATE.bits() != 0 && *action != Action::UPDATE
}

/// What happens; `None` if it never does.
fn words(resource: &Resource, action: Action) -> Option<String> {
    let table = match resource.name() {
        "Pod" => POD,
        "AssignedPod" => ASSIGNED_POD,
        "UnschedulablePod" => OWN,
        "Node" => NODE,
        _ => ANY,
    };
    let (_, words) = table.iter().find(|(known, _)| *known == action)?;
    let kind = resource.name().rsplit('/').next().unwrap_or_default();
    Some(words.replace("{}", if kind == "*" { "thing" } else { kind }))
}

/// That pods come and go is heard of those on nodes only.
const POD: &[(Action, &str)] = &[
    (Action::ADD, "a pod gets a node"),
    (Action::DELETE, "a pod leaves its node"),
    (Action::UPDATE, "the pod or a pod on a node changes"),
    (events::UPDATE_POD_LABEL, "the labels of the pod or of a pod on a node change"),
    (events::UPDATE_POD_SCALE_DOWN, "the pod or a pod on a node asks for less"),
    (events::UPDATE_POD_SCHEDULING_GATES_ELIMINATED, "the pod's last scheduling gate is removed"),
    (events::UPDATE_POD_TOLERATION, "the pod's tolerations change"),
    (events::UPDATE_POD_GENERATED_RESOURCE_CLAIM, "a resource claim is made for the pod"),
];

const ASSIGNED_POD: &[(Action, &str)] = &[
    (Action::ADD, "a pod gets a node"),
    (Action::DELETE, "a pod leaves its node"),
    (Action::UPDATE, "a pod on a node changes"),
    (events::UPDATE_POD_LABEL, "the labels of a pod on a node change"),
    (events::UPDATE_POD_SCALE_DOWN, "a pod on a node asks for less"),
    (events::UPDATE_POD_TOLERATION, "the tolerations of a pod on a node change"),
];

/// Of a pod that waits only its own changes are heard, by itself.
const OWN: &[(Action, &str)] = &[
    (Action::UPDATE, "the pod changes"),
    (events::UPDATE_POD_LABEL, "the pod's labels change"),
    (events::UPDATE_POD_SCALE_DOWN, "the pod asks for less"),
    (events::UPDATE_POD_SCHEDULING_GATES_ELIMINATED, "the pod's last scheduling gate is removed"),
    (events::UPDATE_POD_TOLERATION, "the pod's tolerations change"),
    (events::UPDATE_POD_GENERATED_RESOURCE_CLAIM, "a resource claim is made for the pod"),
];

const NODE: &[(Action, &str)] = &[
    (Action::ADD, "a node is added"),
    (Action::DELETE, "a node is deleted"),
    (Action::UPDATE, "a node changes"),
    (events::UPDATE_NODE_ALLOCATABLE, "a node's allocatable changes"),
    (events::UPDATE_NODE_LABEL, "a node's labels change"),
    (events::UPDATE_NODE_TAINT, "a node's taints change or it is uncordoned"),
    (events::UPDATE_NODE_CONDITION, "a node's conditions change"),
    (events::UPDATE_NODE_ANNOTATION, "a node's annotations change"),
    (events::UPDATE_NODE_DECLARED_FEATURE, "a node's declared features change"),
];

const ANY: &[(Action, &str)] = &[
    (Action::ADD, "a {} is added"),
    (Action::DELETE, "a {} is deleted"),
    (Action::UPDATE, "a {} changes"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::Registration;

    struct Registers(Vec<Registration>);

    impl Plugin for Registers {
        fn name(&self) -> &'static str {
            "Registers"
        }

        fn events(&self) -> Vec<Registration> {
            self.0.clone()
        }
    }

    #[test]
    fn registrations_are_told_in_words_each_once() {
        let on = |resource, action| Registration::new(resource, action, Ask::Class);
        let plugin = Registers(vec![
            on(events::NODE, Action::ADD | events::UPDATE_NODE_ALLOCATABLE),
            on(events::POD, Action::DELETE | events::UPDATE_POD_SCALE_DOWN),
            on(events::ASSIGNED_POD, Action::DELETE | events::UPDATE_POD_LABEL),
            on(events::UNSCHEDULABLE_POD, Action::ALL),
            on(events::CSI_NODE, Action::ADD | Action::UPDATE),
        ]);
        let told: Vec<_> = News::of(&plugin).into_iter().map(|news| news.words).collect();
        let expected = [
            "a node is added",
            "a node's allocatable changes",
            "a pod leaves its node",
            "the pod or a pod on a node asks for less",
            "the labels of a pod on a node change",
            "the pod changes",
            "a CSINode is added",
            "a CSINode changes",
            "a node's taints change or it is uncordoned",
        ];
        assert_eq!(told, expected);
        let in_vain = [(events::NODE, Action::ADD), (events::CSI_NODE, Action::UPDATE)];
        let told = News::except(&plugin, &in_vain);
        assert_eq!(told.len(), expected.len() - 2);
        assert!(told.iter().all(|news| news.words != "a node is added"), "{told:?}");
    }
}
