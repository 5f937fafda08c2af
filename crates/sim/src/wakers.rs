//! What would wake a pod, in words.

use std::collections::BTreeMap;

use roadstead_model::Text;
use roadstead_scheduler::explain::News;
use roadstead_scheduler::framework::Framework;

/// What each plugin of each profile has registered for, in words.
pub(crate) struct Wakers(BTreeMap<Text, BTreeMap<&'static str, Vec<String>>>);

impl Wakers {
    pub(crate) fn new(profiles: &[(Text, Framework)]) -> Self {
        let words = |framework: &Framework| {
            let words = |plugin| News::of(plugin).into_iter().map(|news| news.words).collect();
            framework.plugins().map(|plugin| (plugin.name(), words(plugin))).collect()
        };
        Self(profiles.iter().map(|(name, framework)| (name.clone(), words(framework))).collect())
    }

    /// What brings back a pod of a profile that the plugin has rejected.
    pub(crate) fn of(&self, profile: &Text, plugin: &str) -> &[String] {
        let words = self.0.get(profile).and_then(|plugins| plugins.get(plugin));
        words.map_or(&[], |words| words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_plugin_that_rejects_can_be_woken() {
        let setup = crate::Setup::default();
        let wakers = Wakers::new(&setup.profiles);
        for plugin in ["NodeResourcesFit", "TaintToleration", "SchedulingGates", "VolumeBinding"] {
            assert!(!wakers.of(&setup.profiles[0].0, plugin).is_empty(), "{plugin}");
        }
    }
}
