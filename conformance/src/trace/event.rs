//! Cluster events: what happened, to what kind of thing, and who hears of it.

use serde::{Deserialize, Serialize};

/// A resource and what happened to it; as a registration, what a plugin wants to hear.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// An `EventResource` name of the scheduler framework, or `*`.
    pub resource: String,
    /// What happened, as a set of bits.
    pub action: Action,
}

impl Event {
    /// An event.
    pub fn new(resource: &str, action: Action) -> Self {
        Self { resource: resource.to_owned(), action }
    }

    /// Whether this is the event that reaches everyone.
    pub fn is_wildcard(&self) -> bool {
        self.resource == "*" && self.action == Action::ALL
    }

    /// The name of the event in metrics.
    pub fn label(&self) -> String {
        format!("{}{}", self.resource, self.action.name().unwrap_or(""))
    }

    /// Whether a registration for `self` hears `event`.
    ///
    /// The comparison of bits as numbers is upstream's way to ask whether the registration
    /// covers the event; it is right for one bit at a time, and odd for several.
    pub fn hears(&self, event: &Event) -> bool {
        let same_resource = self.resource == "*"
            || self.resource == event.resource
            || self.resource == "Pod"
                && matches!(event.resource.as_str(), "AssignedPod" | "UnschedulablePod");
        self.is_wildcard()
            || same_resource && self.action.meets(event.action) && event.action.0 <= self.action.0
    }
}

/// What happened to a resource: bits or-ed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<&'static str>")]
pub struct Action(u16);

impl Action {
    /// It came.
    pub const ADD: Self = Self(1);
    /// It went.
    pub const DELETE: Self = Self(2);
    /// What a node has to give changed.
    pub const UPDATE_NODE_ALLOCATABLE: Self = Self(4);
    /// A node's labels changed.
    pub const UPDATE_NODE_LABEL: Self = Self(8);
    /// A node's taints changed.
    pub const UPDATE_NODE_TAINT: Self = Self(16);
    /// A node's conditions changed.
    pub const UPDATE_NODE_CONDITION: Self = Self(32);
    /// A node's annotations changed.
    pub const UPDATE_NODE_ANNOTATION: Self = Self(64);
    /// A node's declared features changed.
    pub const UPDATE_NODE_DECLARED_FEATURE: Self = Self(128);
    /// A pod's labels changed.
    pub const UPDATE_POD_LABEL: Self = Self(256);
    /// A pod asks for less.
    pub const UPDATE_POD_SCALE_DOWN: Self = Self(512);
    /// A pod's tolerations changed.
    pub const UPDATE_POD_TOLERATION: Self = Self(1024);
    /// A pod's last scheduling gate is gone.
    pub const UPDATE_POD_SCHEDULING_GATES_ELIMINATED: Self = Self(2048);
    /// A resource claim was made for a pod.
    pub const UPDATE_POD_GENERATED_RESOURCE_CLAIM: Self = Self(4096);
    /// It changed, nobody says how: all bits from 4 up.
    pub const UPDATE: Self = Self(8188);
    /// Anything: every bit.
    pub const ALL: Self = Self(8191);

    /// Both together.
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether they have a bit in common.
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The name of one bit, of `Update` or of `All`; other sets have none.
    pub fn name(self) -> Option<&'static str> {
        NAMES.iter().find(|(_, named)| *named == self).map(|(name, _)| *name)
    }

    /// The bits in it, one by one.
    pub fn bits(self) -> impl Iterator<Item = Self> {
        let single = NAMES.iter().map(|(_, action)| *action).filter(|it| it.0.is_power_of_two());
        single.filter(move |bit| bit.meets(self))
    }
}

impl TryFrom<Vec<String>> for Action {
    type Error = String;

    fn try_from(names: Vec<String>) -> Result<Self, String> {
        let mut action = Self(0);
        for name in names {
            match NAMES.iter().find(|(known, _)| *known == name) {
                Some((_, known)) => action = action.or(*known),
                None => return Err(format!("unknown action `{name}`")),
            }
        }
        Ok(action)
    }
}

impl From<Action> for Vec<&'static str> {
    fn from(action: Action) -> Self {
        match action.name() {
            Some(name) => vec![name],
            None => action.bits().filter_map(Action::name).collect(),
        }
    }
}

const NAMES: [(&str, Action); 15] = [
    ("Add", Action::ADD),
    ("Delete", Action::DELETE),
    ("UpdateNodeAllocatable", Action::UPDATE_NODE_ALLOCATABLE),
    ("UpdateNodeLabel", Action::UPDATE_NODE_LABEL),
    ("UpdateNodeTaint", Action::UPDATE_NODE_TAINT),
    ("UpdateNodeCondition", Action::UPDATE_NODE_CONDITION),
    ("UpdateNodeAnnotation", Action::UPDATE_NODE_ANNOTATION),
    ("UpdateNodeDeclaredFeature", Action::UPDATE_NODE_DECLARED_FEATURE),
    ("UpdatePodLabel", Action::UPDATE_POD_LABEL),
    ("UpdatePodScaleDown", Action::UPDATE_POD_SCALE_DOWN),
    ("UpdatePodToleration", Action::UPDATE_POD_TOLERATION),
    ("UpdatePodSchedulingGatesEliminated", Action::UPDATE_POD_SCHEDULING_GATES_ELIMINATED),
    ("UpdatePodGeneratedResourceClaim", Action::UPDATE_POD_GENERATED_RESOURCE_CLAIM),
    ("Update", Action::UPDATE),
    ("All", Action::ALL),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn event(resource: &str, names: &[&str]) -> Event {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Event::new(resource, Action::try_from(names).unwrap())
    }

    #[test]
    fn a_registration_hears_what_shares_a_bit_and_is_not_greater() {
        #[rustfmt::skip]
        let table = [
            (event("Node", &["Update"]),               event("Node", &["UpdateNodeLabel"]),           true,  "general hears specific"),
            (event("Node", &["UpdateNodeLabel"]),      event("Node", &["Update"]),                    false, "specific does not hear general"),
            (event("Node", &["UpdateNodeLabel"]),      event("Node", &["Add", "UpdateNodeLabel"]),    false, "the event is the greater number"),
            (event("Node", &["Add", "UpdateNodeLabel"]), event("Node", &["Add", "UpdateNodeAllocatable"]), true, "a shared bit, and less"),
            (event("Pod", &["Add"]),                   event("AssignedPod", &["Add"]),                true,  "pods, wherever they are"),
            (event("Pod", &["Add"]),                   event("UnschedulablePod", &["Add"]),           true,  "pods, wherever they are"),
            (event("*", &["Add"]),                     event("Node", &["Add"]),                       true,  "any resource"),
            (event("*", &["Add"]),                     event("Node", &["Delete"]),                    false, "any resource, but not any action"),
            (event("*", &["All"]),                     event("Node", &[]),                            true,  "a wildcard hears even nothing"),
            (event("Node", &["Add"]),                  event("*", &["Add"]),                          false, "a star in an event is a resource like another"),
        ];
        for (registered, happened, heard, why) in table {
            assert_eq!(registered.hears(&happened), heard, "{why}");
        }
    }

    #[test]
    fn an_action_is_written_as_it_is_read() {
        for names in [&["Update"][..], &["All"], &["Add", "UpdateNodeLabel"], &[]] {
            let written: Vec<&str> = event("Node", names).action.into();
            assert_eq!(written, names);
        }
    }

    #[test]
    fn a_label_is_the_resource_alone_where_the_bits_have_no_name() {
        assert_eq!(event("Node", &["Add"]).label(), "NodeAdd");
        assert_eq!(event("*", &["All"]).label(), "*All");
        assert_eq!(event("Node", &["Add", "UpdateNodeLabel"]).label(), "Node");
    }
}
