//! Plugins, and the events that each one registered for.

use std::num::NonZeroU16;

use crate::event::{Action, Event, Resource};
use crate::item::Profile;

/// The number of a plugin in a queue's [`Plugins`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PluginId(NonZeroU16);

impl PluginId {
    /// The plugin at `index`. More plugins than numbers: the last number stands for all the rest.
    pub(crate) fn new(index: usize) -> Self {
        let number = u16::try_from(index).ok().and_then(|index| index.checked_add(1));
        Self(number.and_then(NonZeroU16::new).unwrap_or(NonZeroU16::MAX))
    }

    fn index(self) -> usize {
        usize::from(self.0.get() - 1)
    }
}

/// Who may reject or hold items, and which events bring the items back.
///
/// ```
/// use roadstead_queue::{Action, Ask, Plugin, Plugins, Resource};
///
/// const NODE: Resource = Resource::new("Node");
///
/// let mut plugins = Plugins::new();
/// let fit = plugins.add(Plugin::new("Fit").on(NODE, Action::ADD, Ask::Class));
/// assert_eq!(plugins.name(fit), "Fit");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Plugins {
    names: Vec<Box<str>>,
    profiles: Vec<Enabled>,
}

impl Plugins {
    /// No plugins: rejected items come back only by wildcard events and leftover flushes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a plugin to the default profile.
    pub fn add(&mut self, plugin: Plugin) -> PluginId {
        self.add_to(Profile::DEFAULT, plugin)
    }

    /// Adds a plugin to `profile`. A name that is known already keeps its number, so one plugin
    /// may take part in several profiles with registrations of its own in each.
    pub fn add_to(&mut self, profile: Profile, plugin: Plugin) -> PluginId {
        let known = self.names.iter().position(|name| **name == *plugin.name);
        let index = known.unwrap_or_else(|| {
            self.names.push(plugin.name.into_boxed_str());
            self.names.len() - 1
        });
        let id = PluginId::new(index);

        let wanted = usize::from(profile.0) + 1;
        if self.profiles.len() < wanted {
            self.profiles.resize_with(wanted, Enabled::default);
        }
        let enabled = &mut self.profiles[wanted - 1];
        enabled.present = true;
        enabled.registrations.extend(plugin.registrations.into_iter().map(|r| (id, r)));
        if plugin.gate && !enabled.gates.contains(&id) {
            enabled.gates.push(id);
        }
        id
    }

    /// The plugin's name; empty for a number that these plugins do not have.
    pub fn name(&self, plugin: PluginId) -> &str {
        self.names.get(plugin.index()).map_or("", |name| name)
    }

    /// The number of the plugin called `name`.
    pub fn id(&self, name: &str) -> Option<PluginId> {
        self.names.iter().position(|known| **known == *name).map(PluginId::new)
    }

    /// The gates of a profile, in the order in which they were added.
    pub(crate) fn gates(&self, profile: Profile) -> &[PluginId] {
        self.profiles.get(usize::from(profile.0)).map_or(&[], |enabled| &enabled.gates)
    }

    /// Who hears of events with this resource and action, profile by profile.
    pub(crate) fn interest<O>(&self, event: &Event<O>, hints: bool) -> Interest {
        let mut profiles = Vec::with_capacity(self.profiles.len());
        let mut hearing = vec![false; self.names.len()];
        for enabled in &self.profiles {
            let mut asks = vec![None; self.names.len()];
            for (plugin, registered) in &enabled.registrations {
                if !event.is_heard_by(&registered.resource, registered.action) {
                    continue;
                }
                let ask = if hints { registered.ask } else { Ask::Nobody };
                let index = plugin.index();
                asks[index] = Some(asks[index].map_or(ask, |other: Ask| other.min(ask)));
                hearing[index] = true;
            }
            profiles.push(enabled.present.then_some(asks));
        }
        Interest { wildcard: event.is_wildcard(), hearing, profiles }
    }
}

/// A plugin as it is registered: its name, its events, and whether it is a gate.
#[derive(Clone, Debug)]
pub struct Plugin {
    name: String,
    gate: bool,
    registrations: Vec<Registration>,
}

impl Plugin {
    /// A plugin that registers for nothing.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), gate: false, registrations: Vec::new() }
    }

    /// Registers for `action` on `resource`: such an event brings back what the plugin
    /// rejected, if whom it [asks](Ask) agrees.
    pub fn on(mut self, resource: Resource, action: Action, ask: Ask) -> Self {
        self.registrations.push(Registration { resource, action, ask });
        self
    }

    /// Makes the plugin a gate (in Kubernetes, PreEnqueue): its
    /// [`Policy::gate`](crate::Policy::gate) is asked before an item may be tried.
    pub fn gate(mut self) -> Self {
        self.gate = true;
        self
    }
}

/// Whom an event that a plugin registered for must convince.
// In order of how readily the item is brought back: of two registrations that hear the same
// event, the readier one decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ask {
    /// Nobody: the event always brings the item back.
    Nobody,
    /// The plugin's hint, once for all waiting items of a class.
    Class,
    /// The plugin's hint, for every single item: its answer depends on more than the class.
    Item,
}

#[derive(Clone, Debug)]
struct Registration {
    resource: Resource,
    action: Action,
    ask: Ask,
}

/// The plugins of one profile.
#[derive(Clone, Debug, Default)]
struct Enabled {
    present: bool,
    registrations: Vec<(PluginId, Registration)>,
    gates: Vec<PluginId>,
}

/// Who hears of one kind of event.
#[derive(Clone, Debug)]
pub(crate) struct Interest {
    wildcard: bool,
    hearing: Vec<bool>,
    profiles: Vec<Option<Vec<Option<Ask>>>>,
}

impl Interest {
    /// Whether anybody does.
    pub(crate) fn is_any(&self) -> bool {
        self.wildcard || self.hearing.contains(&true)
    }

    /// Whether items that the gate `plugin` holds are looked at.
    pub(crate) fn reaches_gate(&self, plugin: PluginId) -> bool {
        self.wildcard || self.hearing.get(plugin.index()).is_some_and(|hears| *hears)
    }

    /// What the plugins of `profile` want asked; `None` where there is no such profile.
    pub(crate) fn of(&self, profile: Profile) -> Option<Asks<'_>> {
        self.profiles.get(usize::from(profile.0))?.as_deref().map(Asks)
    }
}

/// Whom to ask about one kind of event, in one profile.
#[derive(Clone, Copy)]
pub(crate) struct Asks<'a>(&'a [Option<Ask>]);

impl Asks<'_> {
    pub(crate) fn of(self, plugin: PluginId) -> Option<Ask> {
        self.0.get(plugin.index()).copied().flatten()
    }
}
