//! What happens in the world, and who has registered to hear of it.

use std::borrow::Cow;
use std::fmt;
use std::ops::BitOr;

/// The kind of thing an event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    name: Cow<'static, str>,
    part_of: Option<Cow<'static, str>>,
}

impl Resource {
    /// Registered, it hears events of every resource; with [`Action::ALL`] it is the wildcard.
    pub const ANY: Self = Self::new("*");

    /// The resource called `name`.
    pub const fn new(name: &'static str) -> Self {
        Self { name: Cow::Borrowed(name), part_of: None }
    }

    /// A resource that is a part of another: whoever registered for the whole hears of it too.
    ///
    /// ```
    /// use roadstead_queue::{Action, Event, Resource};
    ///
    /// const POD: Resource = Resource::new("Pod");
    /// const ASSIGNED_POD: Resource = Resource::part("AssignedPod", "Pod");
    ///
    /// let bound = Event::<()>::new(ASSIGNED_POD, Action::ADD);
    /// assert!(bound.is_heard_by(&POD, Action::ADD));
    /// ```
    pub const fn part(name: &'static str, whole: &'static str) -> Self {
        Self { name: Cow::Borrowed(name), part_of: Some(Cow::Borrowed(whole)) }
    }

    /// A resource whose name is known only at run time.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: Cow::Owned(name.into()), part_of: None }
    }

    /// The resource's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn hears(&self, incoming: &Self) -> bool {
        self.name == incoming.name
            || self.name == "*"
            || incoming.part_of.as_ref().is_some_and(|whole| *whole == self.name)
    }
}

/// What happened to a resource: a set of bits, with a name where it has one.
///
/// Bits are additions, deletions and up to thirty kinds of update. Sets are joined with `|`:
///
/// ```
/// use roadstead_queue::Action;
///
/// const RESIZED: Action = Action::update(0, "UpdateSize");
/// const RELABELLED: Action = Action::update(1, "UpdateLabel");
///
/// let both = RESIZED | RELABELLED;
/// assert_eq!(both.bits(), 0b1100);
/// assert_eq!(both | RESIZED, both);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Action {
    bits: u32,
    name: &'static str,
}

impl Action {
    /// Nothing; the start for joining sets.
    pub const NONE: Self = Self { bits: 0, name: "" };
    /// The resource appeared.
    pub const ADD: Self = Self { bits: 1, name: "Add" };
    /// The resource is gone.
    pub const DELETE: Self = Self { bits: 2, name: "Delete" };
    /// Every kind of update. As an event: an update that is of no kind in particular.
    pub const UPDATE: Self = Self { bits: !3, name: "Update" };
    /// Everything.
    pub const ALL: Self = Self { bits: !0, name: "All" };

    /// The update of kind `kind` (0 to 29; higher numbers mean 29), with its name.
    pub const fn update(kind: u8, name: &'static str) -> Self {
        let kind = if kind > 29 { 29 } else { kind };
        Self { bits: 4 << kind, name }
    }

    /// The bits of the set.
    pub const fn bits(self) -> u32 {
        self.bits
    }

    /// The set's name; empty for a set that was joined from several.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// As kube-scheduler matches: a shared bit, and no higher bit than the registration's.
    /// So `UPDATE` hears each kind of update, and one kind does not hear a plain `UPDATE`.
    const fn hears(self, incoming: Self) -> bool {
        self.bits & incoming.bits != 0 && incoming.bits <= self.bits
    }
}

impl BitOr for Action {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        let bits = self.bits | other.bits;
        let named = [self, other, Self::UPDATE, Self::ALL].into_iter().find(|a| a.bits == bits);
        named.unwrap_or(Self { bits, name: "" })
    }
}

impl PartialEq for Action {
    fn eq(&self, other: &Self) -> bool {
        self.bits == other.bits
    }
}

impl Eq for Action {}

/// Something that happened, with what it happened to before and after.
#[derive(Clone, Debug)]
pub struct Event<O> {
    /// What kind of thing it happened to.
    pub resource: Resource,
    /// What happened to it.
    pub action: Action,
    /// A label of its own; otherwise the event is called after resource and action.
    pub label: Option<Cow<'static, str>>,
    /// The object as it was before, if it was.
    pub old: Option<O>,
    /// The object as it is now, if it is.
    pub new: Option<O>,
}

impl<O> Event<O> {
    /// An event that carries no object.
    pub const fn new(resource: Resource, action: Action) -> Self {
        Self { resource, action, label: None, old: None, new: None }
    }

    /// `object` appeared.
    pub fn added(resource: Resource, object: O) -> Self {
        Self { new: Some(object), ..Self::new(resource, Action::ADD) }
    }

    /// `old` became `new`, which is an update of kind `action`.
    pub fn updated(resource: Resource, action: Action, old: O, new: O) -> Self {
        Self { old: Some(old), new: Some(new), ..Self::new(resource, action) }
    }

    /// `object` is gone.
    pub fn deleted(resource: Resource, object: O) -> Self {
        Self { old: Some(object), ..Self::new(resource, Action::DELETE) }
    }

    /// An event that concerns everyone, whatever they registered for, and also reaches gated
    /// items. Metrics know it by `label`.
    pub fn wildcard(label: &'static str) -> Self {
        Self { label: Some(Cow::Borrowed(label)), ..Self::new(Resource::ANY, Action::ALL) }
    }

    /// Whether this is a wildcard: any resource, every action.
    pub fn is_wildcard(&self) -> bool {
        is_wildcard(&self.resource, self.action)
    }

    /// Whether someone who registered for `action` on `resource` hears of this event.
    pub fn is_heard_by(&self, resource: &Resource, action: Action) -> bool {
        is_wildcard(resource, action)
            || (resource.hears(&self.resource) && action.hears(self.action))
    }

    /// The event's name, as metrics and people know it.
    pub fn label(&self) -> Label<'_> {
        match &self.label {
            Some(own) => Label { resource: own, action: "" },
            None => Label { resource: &self.resource.name, action: self.action.name },
        }
    }
}

/// The name of an event: its resource and its action, as in `NodeAdd`, or a label of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Label<'a> {
    resource: &'a str,
    action: &'static str,
}

impl<'a> Label<'a> {
    pub(crate) fn of(resource: &'a Resource, action: Action) -> Self {
        Self { resource: &resource.name, action: action.name }
    }

    /// Its two halves, which make the name when written side by side.
    pub fn halves(self) -> [&'a str; 2] {
        [self.resource, self.action]
    }

    pub(crate) const fn fixed(name: &'static str) -> Self {
        Self { resource: name, action: "" }
    }
}

impl fmt::Display for Label<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.resource)?;
        f.write_str(self.action)
    }
}

fn is_wildcard(resource: &Resource, action: Action) -> bool {
    action == Action::ALL && resource.name == "*"
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: Resource = Resource::new("Node");
    const POD: Resource = Resource::new("Pod");
    const ASSIGNED: Resource = Resource::part("AssignedPod", "Pod");
    const TAINT: Action = Action::update(2, "UpdateNodeTaint");
    const LABEL: Action = Action::update(1, "UpdateNodeLabel");

    #[test]
    fn a_registration_hears_what_the_table_says() {
        let any = Resource::ANY;
        let rows = [
            // registered                  happened             heard
            ((&NODE, Action::ADD), (&NODE, Action::ADD), true),
            ((&NODE, Action::ADD), (&NODE, Action::DELETE), false),
            ((&NODE, Action::ADD), (&POD, Action::ADD), false),
            ((&POD, Action::ADD), (&ASSIGNED, Action::ADD), true),
            ((&ASSIGNED, Action::ADD), (&POD, Action::ADD), false),
            ((&NODE, Action::UPDATE), (&NODE, TAINT), true),
            ((&NODE, TAINT), (&NODE, Action::UPDATE), false),
            ((&NODE, TAINT | LABEL), (&NODE, LABEL), true),
            ((&NODE, LABEL | Action::ADD), (&NODE, TAINT), false),
            // A shared bit is not enough: the event must not have a higher one.
            ((&NODE, LABEL), (&NODE, LABEL | TAINT), false),
            ((&NODE, TAINT), (&NODE, LABEL | TAINT), false),
            ((&NODE, TAINT | Action::ADD), (&NODE, LABEL | TAINT), false),
            ((&any, Action::ADD), (&NODE, Action::ADD), true),
            ((&any, Action::ALL), (&NODE, TAINT), true),
            ((&NODE, Action::ALL), (&any, Action::ALL), false),
        ];
        for ((resource, action), (happened, what), heard) in rows {
            let event = Event::<()>::new(happened.clone(), what);
            assert_eq!(
                event.is_heard_by(resource, action),
                heard,
                "{resource:?} {action:?} / {event:?}"
            );
        }
    }

    #[test]
    fn an_event_is_called_after_its_resource_and_action() {
        assert_eq!(Event::<()>::new(NODE, TAINT).label().to_string(), "NodeUpdateNodeTaint");
        assert_eq!(Event::<()>::new(NODE, TAINT | LABEL).label().to_string(), "Node");
        assert_eq!(Event::<()>::new(Resource::ANY, Action::ALL).label().to_string(), "*All");
        assert_eq!(
            Event::<()>::wildcard("UnschedulableTimeout").label().to_string(),
            "UnschedulableTimeout"
        );
    }
}
