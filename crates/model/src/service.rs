//! Services.

use k8s_openapi::api::core::v1 as api;

use crate::{Labels, ModelError, Text, World, metadata};

/// A service, for the pods that it selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Its namespace.
    pub namespace: Text,
    /// Its name.
    pub name: Text,
    /// Labels that its pods have; empty if it selects none.
    pub selector: Labels,
}

impl Service {
    /// Compiles an API service.
    ///
    /// # Errors
    /// A service without a name.
    pub fn from_api(service: &api::Service, world: &mut World) -> Result<Self, ModelError> {
        Ok(Self {
            namespace: metadata::namespace(&service.metadata, world),
            name: metadata::name(&service.metadata, world)?,
            selector: world
                .optional_labels(service.spec.as_ref().and_then(|spec| spec.selector.as_ref())),
        })
    }

    /// Whether it selects pods with these labels. Without a selector it selects none.
    #[must_use]
    pub fn selects(&self, labels: &Labels) -> bool {
        !self.selector.is_empty() && self.selector.is_subset_of(labels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_service_without_selector_selects_nothing() {
        let mut world = World::new();
        let mut service = |selector: serde_json::Value| {
            let api = json!({"metadata": {"name": "s"}, "spec": {"selector": selector}});
            Service::from_api(&serde_json::from_value(api).unwrap(), &mut world).unwrap()
        };
        let (none, web) = (service(json!(null)), service(json!({"app": "web"})));
        let labels = world.labels(
            &[("app".to_owned(), "web".to_owned()), ("a".to_owned(), "1".to_owned())].into(),
        );
        assert!(web.selects(&labels) && !none.selects(&labels));
        assert!(!web.selects(&world.optional_labels(None)));
    }
}
