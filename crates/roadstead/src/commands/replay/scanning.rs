//! What a recording holds, found without running it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Seek};

use roadstead_cluster::Object;
use roadstead_queue::Time;
use roadstead_recording::{Reader, Step};

/// When the first pod of that name is shown. What is behind damage is not found.
pub(super) fn first_shown<R: Read + Seek>(
    reader: &mut Reader<R>,
    namespace: &str,
    name: &str,
) -> Option<Time> {
    reader.rewind();
    while let Ok(Some(recorded)) = reader.next_step() {
        if let Step::Set(Object::Pod(pod)) = &recorded.step
            && pod.metadata.name.as_deref() == Some(name)
            && pod.metadata.namespace.as_deref().unwrap_or("default") == namespace
        {
            return Some(recorded.at);
        }
    }
    None
}

/// How many pods ask for a scheduler that was there and is none of these others, by its name.
pub(super) fn left_alone<R: Read + Seek>(
    reader: &mut Reader<R>,
    recorded: &BTreeSet<String>,
    others: &BTreeSet<String>,
) -> BTreeMap<String, usize> {
    let gone: BTreeSet<_> = recorded.difference(others).collect();
    let mut pods: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    reader.rewind();
    while !gone.is_empty()
        && let Ok(Some(step)) = reader.next_step()
    {
        let Step::Set(Object::Pod(pod)) = step.step else { continue };
        let scheduler = pod.spec.as_ref().and_then(|spec| spec.scheduler_name.clone());
        let scheduler = scheduler.unwrap_or_else(|| "default-scheduler".to_owned());
        if gone.contains(&scheduler) {
            pods.entry(scheduler).or_default().extend(pod.metadata.uid.clone());
        }
    }
    reader.rewind();
    pods.into_iter().map(|(scheduler, pods)| (scheduler, pods.len())).collect()
}
