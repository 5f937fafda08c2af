//! Binds pods by the API server's binding operation.

use std::sync::Arc;

use roadstead_model::{Pod, Text};

use crate::framework::{
    Bind, BindAnswer, CycleState, Extensions, Joining, Plugin, Registration, Status,
};

/// Binds pods by the API server's binding operation. It takes every pod: a plugin that comes
/// after it is never asked.
pub struct DefaultBinder;

impl DefaultBinder {
    /// The plugin with its points.
    #[must_use]
    pub fn extensions() -> Extensions {
        Joining::new(Self).bind().done()
    }
}

impl Plugin for DefaultBinder {
    fn name(&self) -> &'static str {
        "DefaultBinder"
    }

    /// It rejects nobody: a binding that fails is an error, and is tried again after a backoff.
    fn events(&self) -> Vec<Registration> {
        Vec::new()
    }
}

impl Bind for DefaultBinder {
    fn bind(&self, _: &CycleState, _: &Arc<Pod>, _: &Text) -> Result<BindAnswer, Status> {
        Ok(BindAnswer::Binding)
    }
}
