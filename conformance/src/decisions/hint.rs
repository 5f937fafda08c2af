//! Whether an event is worth a retry.

use std::sync::Arc;

use roadstead_model::{self as model, ModelError, World};
use roadstead_queue::{self as queue, Action, Ask, Resource};
use roadstead_scheduler::events::{self, ClusterEvent, Object};
use roadstead_scheduler::framework::Framework;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Verdict;
use super::case::{Answer, Event, Hint};
use super::chosen::{self, Asked};
use super::report::{Mismatch, compare};
use super::scene::Scene;

pub(super) fn replay(case: &Hint) -> Result<Verdict, String> {
    let plugin = case.plugin.as_str();
    let mut scene = Scene::new(&case.cluster, &case.pod).map_err(|error| error.to_string())?;
    let framework = match scene.framework_of(plugin, &case.args) {
        Ok(framework) => framework,
        Err(error) => {
            return Ok(Verdict::Different(Mismatch::new(plugin, "args", "accepted", error)));
        }
    };
    let event = event(case, &mut scene.world)?;
    let asked = framework.plugin(plugin).ok_or_else(|| format!("no plugin `{plugin}`"))?;

    // Of two registrations that hear the same event, the queue takes the readier one.
    let heard = Framework::registrations(asked)
        .into_iter()
        .filter(|registration| event.is_heard_by(&registration.resource, registration.action))
        .map(|registration| registration.ask)
        .min();
    let got = match heard {
        None => Answer::Skip,
        Some(Ask::Nobody) => Answer::Queue,
        Some(Ask::Class | Ask::Item) => match asked.hint(&scene.listers, &scene.pod, &event) {
            Ok(queue::Hint::Queue) => Answer::Queue,
            Ok(queue::Hint::Skip) => Answer::Skip,
            Err(_) => Answer::Error,
        },
    };
    if (case.expect, got) == (Answer::Skip, Answer::Queue) {
        let asked = Asked { plugin, pod: &scene.pod, event: &event };
        if let Some(id) = chosen::rule(&asked) {
            return Ok(Verdict::Chosen(id));
        }
    }
    let compared = compare(plugin, "registered", &case.registered, &heard.is_some())
        .and_then(|()| compare(plugin, "expect", &case.expect, &got));
    Ok(compared.into())
}

fn event(case: &Hint, world: &mut World) -> Result<ClusterEvent, String> {
    let Event { resource: name, action: names } = &case.event;
    let resource = RESOURCES.iter().find(|known| known.name() == name);
    let resource = resource.ok_or_else(|| format!("event: no resource `{name}`"))?;
    let mut action = Action::NONE;
    for name in names {
        let known = ACTIONS.iter().find(|known| known.name() == name);
        action = action | *known.ok_or_else(|| format!("event: no action `{name}`"))?;
    }
    let mut version = |value: &Value, which: &str| match value {
        Value::Null => Ok(None),
        value => object(resource, value, world).map(Some).map_err(|e| format!("{which}: {e}")),
    };
    let (old, new) = (version(&case.old, "old")?, version(&case.new, "new")?);
    Ok(ClusterEvent { old, new, ..ClusterEvent::new(resource.clone(), action) })
}

fn object(resource: &Resource, value: &Value, world: &mut World) -> Result<Object, String> {
    /// Reads an API object and makes ours of it.
    fn read<A: DeserializeOwned, M>(
        value: &Value,
        world: &mut World,
        from_api: fn(&A, &mut World) -> Result<M, ModelError>,
    ) -> Result<Arc<M>, String> {
        let api = serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
        from_api(&api, world).map(Arc::new).map_err(|error| error.to_string())
    }
    macro_rules! object {
        ($kind:ident) => {
            read(value, world, model::$kind::from_api).map(Object::$kind)
        };
    }
    match resource.name() {
        "Node" => object!(Node),
        "PersistentVolume" => object!(PersistentVolume),
        "PersistentVolumeClaim" => object!(PersistentVolumeClaim),
        "storage.k8s.io/StorageClass" => object!(StorageClass),
        "storage.k8s.io/CSINode" => object!(CsiNode),
        "storage.k8s.io/CSIDriver" => object!(CsiDriver),
        "storage.k8s.io/CSIStorageCapacity" => object!(CsiStorageCapacity),
        "storage.k8s.io/VolumeAttachment" => object!(VolumeAttachment),
        "resource.k8s.io/DeviceClass" => object!(DeviceClass),
        _ => object!(Pod),
    }
}

static RESOURCES: [Resource; 12] = [
    events::POD,
    events::ASSIGNED_POD,
    events::UNSCHEDULABLE_POD,
    events::NODE,
    events::PERSISTENT_VOLUME,
    events::PERSISTENT_VOLUME_CLAIM,
    events::STORAGE_CLASS,
    events::CSI_NODE,
    events::CSI_DRIVER,
    events::CSI_STORAGE_CAPACITY,
    events::VOLUME_ATTACHMENT,
    events::DEVICE_CLASS,
];

static ACTIONS: [Action; 14] = [
    Action::ADD,
    Action::DELETE,
    Action::UPDATE,
    events::UPDATE_NODE_ALLOCATABLE,
    events::UPDATE_NODE_LABEL,
    events::UPDATE_NODE_TAINT,
    events::UPDATE_NODE_CONDITION,
    events::UPDATE_NODE_ANNOTATION,
    events::UPDATE_NODE_DECLARED_FEATURE,
    events::UPDATE_POD_LABEL,
    events::UPDATE_POD_SCALE_DOWN,
    events::UPDATE_POD_TOLERATION,
    events::UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
    events::UPDATE_POD_GENERATED_RESOURCE_CLAIM,
];
