//! What plugins remember from one extension point to the next, within one cycle.

use std::any::Any;
use std::sync::Arc;

use super::calls::Calls;

/// The memory of one scheduling cycle: each plugin's own state, and who sits the cycle out.
///
/// It is cloned where a what-if changes it: a filter run with nominated pods, a preemption tried
/// out. Keep what does not change behind an `Arc`, so that a clone is cheap.
#[derive(Clone, Default)]
pub struct CycleState {
    kept: Vec<Entry>,
    pub(crate) skip_filter: Names,
    pub(crate) skip_score: Names,
    pub(crate) skip_pre_bind: Vec<&'static str>,
    /// Whether what plugins find out may be remembered for other cycles.
    pub(crate) may_remember: bool,
    /// Where calls of plugins are counted, if anybody wants to know.
    pub(crate) calls: Option<Arc<Calls>>,
    /// The observer's clock, in a cycle whose calls are measured.
    pub(crate) sampling: Option<fn() -> u64>,
}

impl CycleState {
    /// Nothing remembered yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Remembers a plugin's state under a name of its choice, normally its own.
    pub fn put<T: Clone + Send + 'static>(&mut self, name: &'static str, state: T) {
        self.keep(Entry { name, is_for_search: false, state: Box::new(state) });
    }

    /// The same for what is of use only until a node is chosen: what holds on to parts of the
    /// cluster would make the cluster copy them when the pod is put on its node.
    pub fn put_for_search<T: Clone + Send + 'static>(&mut self, name: &'static str, state: T) {
        self.keep(Entry { name, is_for_search: true, state: Box::new(state) });
    }

    /// A node is chosen.
    pub(crate) fn end_search(&mut self) {
        self.kept.retain(|entry| !entry.is_for_search);
    }

    fn keep(&mut self, entry: Entry) {
        self.kept.retain(|known| known.name != entry.name);
        self.kept.push(entry);
    }

    /// What was remembered under the name.
    #[must_use]
    pub fn get<T: 'static>(&self, name: &'static str) -> Option<&T> {
        let kept = self.kept.iter().find(|known| known.name == name)?;
        // The box itself could be kept too: it is what is in it that is asked for.
        (*kept.state).as_any().downcast_ref()
    }

    /// What was remembered under the name, to change it.
    pub fn get_mut<T: 'static>(&mut self, name: &'static str) -> Option<&mut T> {
        let kept = self.kept.iter_mut().find(|known| known.name == name)?;
        (*kept.state).as_any_mut().downcast_mut()
    }
}

/// What a plugin remembers.
#[derive(Clone)]
struct Entry {
    name: &'static str,
    is_for_search: bool,
    state: Box<dyn Kept>,
}

/// Names of plugins, which are looked up for every node.
#[derive(Clone, Default)]
pub(crate) struct Names(Vec<&'static str>);

impl Names {
    pub(crate) fn push(&mut self, name: &'static str) {
        self.0.push(name);
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn has(&self, name: &'static str) -> bool {
        // A plugin's name is mostly one constant, whose letters need not be compared.
        self.0.iter().any(|known| std::ptr::eq(*known, name) || *known == name)
    }
}

/// State of any type, which can be cloned.
trait Kept: Send {
    fn clone_box(&self) -> Box<dyn Kept>;
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<T: Clone + Send + 'static> Kept for T {
    fn clone_box(&self) -> Box<dyn Kept> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

impl Clone for Box<dyn Kept> {
    fn clone(&self) -> Self {
        (**self).clone_box()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_does_not_change_its_original() {
        let mut state = CycleState::new();
        state.put("Counter", 1u32);
        let mut copy = state.clone();
        *copy.get_mut::<u32>("Counter").unwrap() += 1;
        assert_eq!((state.get::<u32>("Counter"), copy.get::<u32>("Counter")), (Some(&1), Some(&2)));
        assert_eq!(state.get::<u64>("Counter"), None, "another type");
        assert_eq!(state.get::<u32>("Other"), None);
    }

    #[test]
    fn what_is_for_the_search_ends_with_it() {
        let mut state = CycleState::new();
        state.put_for_search("Counts", 1u32);
        state.put("Volumes", 2u32);
        state.end_search();
        assert_eq!((state.get::<u32>("Counts"), state.get::<u32>("Volumes")), (None, Some(&2)));
    }
}
