//! Which events a plugin waits for.

use roadstead_queue::{Action, Event};
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

/// What brings back the pods that the plugin rejected.
pub(super) fn of(plugin: &dyn Plugin) -> Vec<News> {
    let mut all: Vec<News> = Vec::new();
    for registration in Framework::registrations(plugin) {
        let resource = &registration.resource;
        let has = |action: Action| registration.action.bits() & action.bits() == action.bits();
        for (action, words) in ACTIONS {
            let event = Event::<()>::new(resource.clone(), *action);
            // A whole update stands for its kinds.
            let is_part = action.bits() >= FIRST_UPDATE && *action != Action::UPDATE;
            let is_said = is_part && has(Action::UPDATE);
            if !has(*action) || is_said || !is_about(*action, resource.name()) {
                continue;
            }
            let news = News {
                event: event.label().to_string(),
                words: words.replace("{}", &noun(resource.name())),
                if_it_may_help: registration.ask != roadstead_queue::Ask::Nobody,
            };
            if !all.iter().any(|known| known.event == news.event) {
                all.push(news);
            }
        }
    }
    all
}

/// Updates of parts of nodes and pods are about these.
fn is_about(action: Action, resource: &str) -> bool {
    match action.name() {
        name if name.starts_with("UpdateNode") => resource == events::NODE.name(),
        name if name.starts_with("UpdatePod") => resource.ends_with("Pod"),
        _ => true,
    }
}

fn noun(resource: &str) -> String {
    match resource {
        "Pod" => "a pod".to_owned(),
        "AssignedPod" => "a pod on a node".to_owned(),
        "UnschedulablePod" => "a waiting pod".to_owned(),
        "Node" => "a node".to_owned(),
        "*" => "anything".to_owned(),
        other => format!("a {}", other.rsplit('/').next().unwrap_or(other)),
    }
}

/// The bits of the first kind of update.
const FIRST_UPDATE: u32 = 4;

const ACTIONS: &[(Action, &str)] = &[
    (Action::ADD, "{} is added"),
    (Action::DELETE, "{} is deleted"),
    (Action::UPDATE, "{} is updated"),
    (events::UPDATE_NODE_ALLOCATABLE, "what {} can be asked for changes"),
    (events::UPDATE_NODE_LABEL, "the labels of {} change"),
    (events::UPDATE_NODE_TAINT, "the taints of {} change"),
    (events::UPDATE_NODE_CONDITION, "the conditions of {} change"),
    (events::UPDATE_NODE_ANNOTATION, "the annotations of {} change"),
    (events::UPDATE_NODE_DECLARED_FEATURE, "the declared features of {} change"),
    (events::UPDATE_POD_LABEL, "the labels of {} change"),
    (events::UPDATE_POD_SCALE_DOWN, "{} asks for less"),
    (events::UPDATE_POD_TOLERATION, "{} tolerates more"),
    (events::UPDATE_POD_SCHEDULING_GATES_ELIMINATED, "the last gate of {} is gone"),
    (events::UPDATE_POD_GENERATED_RESOURCE_CLAIM, "a resource claim is made for {}"),
];
