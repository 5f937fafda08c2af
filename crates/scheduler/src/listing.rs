//! Pages of what a scheduler knows, for people who look at it.
//!
//! Questions are answered between two cycles, so none may take long: what grows with the number of
//! pods is looked at in steps (the queue in [`QueueSurvey`], all pods in [`PodSearch`]), and nodes
//! are few enough for one look. Where one page ends and the next begins is told by the last thing
//! on it, not by a number: what comes and goes between two pages makes none be missed that was
//! there all the time.

mod nodes;
mod order;
mod pods;
mod queue;
mod survey;

pub use nodes::{
    Amounts, NodeDetail, NodeItem, NodePage, NodeQuery, NodeSort, NodeSummary, PodOnNode,
};
pub use order::{Mark, Sorted};
pub use pods::{KnownPod, Parts, PodSearch};
pub use queue::{PlaceName, QueueItem, QueueQuery, QueueSortBy};
pub use survey::{QueueListing, QueueSurvey};

/// Whether a text occurs in `namespace/name`.
fn contains(namespace: &str, name: &str, text: &str) -> bool {
    let across = || {
        let (end, start) = text.split_once('/')?;
        Some(namespace.ends_with(end) && name.starts_with(start))
    };
    namespace.contains(text) || name.contains(text) || across().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_in_namespace_and_name() {
        let rows = [
            ("", true),
            ("def", true),
            ("web-0", true),
            ("default/web-0", true),
            ("t/w", true),
            ("/web", true),
            ("default/", true),
            ("other/web", false),
            ("lt/eb", false),
            ("a/b/c", false),
        ];
        for (text, expected) in rows {
            assert_eq!(contains("default", "web-0", text), expected, "{text}");
        }
    }
}
