//! Strategic merge patches: like merge patches, but elements of some lists have names.
//!
//! Which lists, and by which field, is written into the Go types of Kubernetes. Here a table says
//! it by the name of the field alone, which is the same wherever it stands.

use serde_json::{Map, Value};

use super::status::Refusal;

/// Changes a document as a patch says.
pub(super) fn merge(document: &mut Value, patch: &Value) -> Result<(), Refusal> {
    match (document, patch) {
        (Value::Object(document), Value::Object(patch)) => merge_fields(document, patch),
        _ => Err(Refusal::bad_request("a strategic merge patch must be an object")),
    }
}

fn merge_fields(
    fields: &mut Map<String, Value>,
    patch: &Map<String, Value>,
) -> Result<(), Refusal> {
    match directive(patch)? {
        Directive::Merge => {}
        Directive::Replace => {
            *fields = patch.clone();
            fields.remove("$patch");
            return Ok(());
        }
        Directive::Delete => {
            fields.clear();
            return Ok(());
        }
    }
    if let Some(retained) = patch.get("$retainKeys").and_then(Value::as_array) {
        fields.retain(|name, _| retained.iter().any(|kept| kept == name));
    }
    for (name, value) in patch {
        if let Some(list) = name.strip_prefix("$deleteFromPrimitiveList/") {
            let gone = value.as_array().map(Vec::as_slice).unwrap_or_default();
            if let Some(Value::Array(kept)) = fields.get_mut(list) {
                kept.retain(|element| !gone.contains(element));
            }
        } else if name.starts_with('$') {
            // Read with the fields that they are about.
        } else if value.is_null() {
            fields.remove(name);
        } else {
            merge_field(fields, name, value)?;
        }
    }
    for (name, order) in patch {
        if let (Some(list), Value::Array(order)) = (name.strip_prefix("$setElementOrder/"), order)
            && let Some(Value::Array(elements)) = fields.get_mut(list)
        {
            reorder(list, elements, order);
        }
    }
    Ok(())
}

fn merge_field(fields: &mut Map<String, Value>, name: &str, value: &Value) -> Result<(), Refusal> {
    match (fields.get_mut(name), value) {
        (Some(Value::Object(old)), Value::Object(new)) => merge_fields(old, new),
        (None | Some(Value::Null), Value::Object(new)) => {
            // Even into nothing: what the patch says about its own reading is not data.
            let mut made = Map::new();
            merge_fields(&mut made, new)?;
            fields.insert(name.to_owned(), Value::Object(made));
            Ok(())
        }
        (old, Value::Array(new)) => {
            let old = match old {
                Some(Value::Array(old)) => std::mem::take(old),
                _ => Vec::new(),
            };
            fields.insert(name.to_owned(), Value::Array(merge_list(name, old, new)?));
            Ok(())
        }
        (_, new) => {
            fields.insert(name.to_owned(), new.clone());
            Ok(())
        }
    }
}

fn merge_list(name: &str, mut old: Vec<Value>, new: &[Value]) -> Result<Vec<Value>, Refusal> {
    let is_replace = |element: &Value| element.get("$patch").is_some_and(|d| d == "replace");
    if new.iter().any(is_replace) {
        return Ok(new.iter().filter(|element| !is_replace(element)).cloned().collect());
    }
    if PRIMITIVE_SETS.contains(&name) {
        for element in new {
            if !old.contains(element) {
                old.push(element.clone());
            }
        }
        return Ok(old);
    }
    let Some(key) = merge_key(name, new.first().or(old.first())) else { return Ok(new.to_vec()) };
    for element in new {
        let Some(fields) = element.as_object() else {
            let message = format!("an element of `{name}` in the patch is not an object");
            return Err(Refusal::bad_request(message));
        };
        let Some(named) = fields.get(key) else {
            let message =
                format!("map: an element of `{name}` does not contain declared merge key: {key}");
            return Err(Refusal::bad_request(message));
        };
        let place = old.iter().position(|element| element.get(key) == Some(named));
        match (directive(fields)?, place) {
            (Directive::Delete, Some(place)) => drop(old.remove(place)),
            (Directive::Delete, None) => {}
            (_, Some(place)) => {
                if let Value::Object(before) = &mut old[place] {
                    merge_fields(before, fields)?;
                }
            }
            (_, None) => {
                let mut made = Map::new();
                merge_fields(&mut made, fields)?;
                old.push(Value::Object(made));
            }
        }
    }
    Ok(old)
}

/// Puts the elements that the order names into it; the others stay behind those that they followed.
fn reorder(name: &str, elements: &mut [Value], order: &[Value]) {
    let key = merge_key(name, order.first());
    let mut last = 0;
    elements.sort_by_cached_key(|element| {
        let place = order.iter().position(|wanted| match key {
            Some(key) => element.get(key).is_some() && wanted.get(key) == element.get(key),
            None => wanted == element,
        });
        last = place.unwrap_or(last);
        last
    });
}

enum Directive {
    Merge,
    Replace,
    Delete,
}

fn directive(patch: &Map<String, Value>) -> Result<Directive, Refusal> {
    match patch.get("$patch").map(Value::as_str) {
        None | Some(Some("merge")) => Ok(Directive::Merge),
        Some(Some("replace")) => Ok(Directive::Replace),
        Some(Some("delete")) => Ok(Directive::Delete),
        Some(other) => {
            let message = format!("unknown patch type found: {}", other.unwrap_or("not a text"));
            Err(Refusal::bad_request(message))
        }
    }
}

/// The field that names the elements of a list; none for one that is replaced whole. Taints and
/// tolerations are such lists, in Kubernetes, too.
fn merge_key(list: &str, sample: Option<&Value>) -> Option<&'static str> {
    match list {
        "containers"
        | "initContainers"
        | "ephemeralContainers"
        | "volumes"
        | "env"
        | "imagePullSecrets"
        | "schedulingGates"
        | "resourceClaims"
        | "drivers" => Some("name"),
        "conditions" | "addresses" => Some("type"),
        "volumeMounts" => Some("mountPath"),
        "volumeDevices" => Some("devicePath"),
        "topologySpreadConstraints" => Some("topologyKey"),
        "ownerReferences" => Some("uid"),
        "hostAliases" | "podIPs" | "hostIPs" => Some("ip"),
        // Of a container, and of a service.
        "ports" if sample.is_some_and(|port| port.get("containerPort").is_some()) => {
            Some("containerPort")
        }
        "ports" => Some("port"),
        _ => None,
    }
}

/// Lists of plain values that are sets.
const PRIMITIVE_SETS: &[&str] = &["finalizers"];
