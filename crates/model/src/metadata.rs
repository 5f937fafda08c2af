//! What objects of every kind say about themselves.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::{ModelError, Text, World};

/// The object's name, which it must have.
pub(crate) fn name(meta: &ObjectMeta, world: &mut World) -> Result<Text, ModelError> {
    Ok(world.text(name_str(meta)?))
}

/// The same, not interned.
pub(crate) fn name_str(meta: &ObjectMeta) -> Result<&str, ModelError> {
    match meta.name.as_deref() {
        Some(name) if !name.is_empty() => Ok(name),
        _ => Err(ModelError::new("missing").at("metadata.name")),
    }
}

/// The object's namespace, empty if it says none.
pub(crate) fn namespace(meta: &ObjectMeta, world: &mut World) -> Text {
    world.text(meta.namespace.as_deref().unwrap_or_default())
}

/// The uid of the object that controls this one.
pub(crate) fn controller_uid(meta: &ObjectMeta) -> Option<Text> {
    let owners = meta.owner_references.iter().flatten();
    owners
        .into_iter()
        .find(|owner| owner.controller == Some(true))
        .map(|owner| Text::unshared(&owner.uid))
}

/// An annotation's value.
pub(crate) fn annotation<'a>(meta: &'a ObjectMeta, key: &str) -> Option<&'a String> {
    meta.annotations.as_ref()?.get(key)
}

/// The storage class of a claim or volume: the old annotation, else the field, else "".
pub(crate) fn storage_class(meta: &ObjectMeta, field: Option<&String>, world: &mut World) -> Text {
    let class = annotation(meta, "volume.beta.kubernetes.io/storage-class").or(field);
    world.text(class.map_or("", String::as_str))
}
