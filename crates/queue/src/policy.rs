//! What the queue asks its owner.

use crate::event::Event;
use crate::item::Item;
use crate::plugin::PluginId;

/// Answers the queue's questions about items and events.
///
/// The queue owns its policy and asks it from inside its own operations. State that answers
/// depend on lives in the policy and is reached through
/// [`Queue::policy_mut`](crate::Queue::policy_mut).
pub trait Policy {
    /// What waits.
    type Item: Item;

    /// What an event carries.
    type Object;

    /// Whether `event` may make `item`, which `plugin` rejected, schedulable.
    ///
    /// Asked only for events that the plugin [registered](crate::Plugin::on) a question for.
    /// An error counts as [`Hint::Queue`]: a retry too many is cheaper than a missed one.
    fn hint(
        &self,
        plugin: PluginId,
        item: &Self::Item,
        event: &Event<Self::Object>,
    ) -> Result<Hint, HintError> {
        let _ = (plugin, item, event);
        Ok(Hint::Queue)
    }

    /// Whether `plugin`, which is a [gate](crate::Plugin::gate), lets `item` be tried.
    fn gate(&self, plugin: PluginId, item: &Self::Item) -> Gate {
        let _ = (plugin, item);
        Gate::Open
    }

    /// Whether `object`, which a wildcard event carries, is `item` itself.
    ///
    /// A wildcard event that carries an object concerns only that item.
    fn is_item(&self, object: &Self::Object, item: &Self::Item) -> bool {
        let _ = (object, item);
        false
    }

    /// Whether the item called `key` still exists and runs nowhere yet. Others are not nominated.
    fn may_be_nominated(&self, key: &<Self::Item as Item>::Key) -> bool {
        let _ = key;
        true
    }
}

/// A plugin's answer to "is this event worth a retry?".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// The event may help: try the item again.
    Queue,
    /// The event cannot help.
    Skip,
}

/// Why a hint could not be given.
pub type HintError = Box<dyn std::error::Error + Send + Sync>;

/// A gate's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// The item may be tried.
    Open,
    /// The item is held.
    Closed,
}
