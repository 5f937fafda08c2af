//! What a completed configuration must satisfy, plugins and their arguments apart.

use roadstead_model::is_extended_resource;
use serde_json::json;

use super::arguments::label_name_errors;
use super::known::{Point, REMOVED};
use super::{
    API_VERSION, Duration, Extender, LeaderElection, PluginConfig, ProfileConfiguration,
    SchedulerConfiguration,
};
use crate::document::Problems;

pub(super) fn check(configuration: &SchedulerConfiguration, problems: &Problems) {
    let burst = configuration.client_connection.burst;
    if burst < 0 {
        problems.invalid("clientConnection.burst", burst, "must be non-negative");
    }
    if configuration.leader_election.leader_elect {
        check_leader_election(&configuration.leader_election, problems);
    }
    let parallelism = configuration.parallelism;
    if parallelism <= 0 {
        let detail = "should be an integer value greater than zero";
        problems.invalid("parallelism", parallelism, detail);
    }
    let percentage = configuration.percentage_of_nodes_to_score;
    check_percentage(percentage, "percentageOfNodesToScore", problems);
    let (initial, max) =
        (configuration.pod_initial_backoff_seconds, configuration.pod_max_backoff_seconds);
    if initial <= 0 {
        problems.invalid("podInitialBackoffSeconds", initial, "must be greater than 0");
    }
    if max < initial {
        let detail = "must be greater than or equal to PodInitialBackoffSeconds";
        problems.invalid("podMaxBackoffSeconds", max, detail);
    }
    check_profiles(&configuration.profiles, problems);
    check_extenders(&configuration.extenders, problems);
}

fn check_leader_election(election: &LeaderElection, problems: &Problems) {
    let path = |field: &str| format!("leaderElection.{field}");
    let durations = [
        ("leaseDuration", election.lease_duration),
        ("renewDeadline", election.renew_deadline),
        ("retryPeriod", election.retry_period),
    ];
    for (field, duration) in durations {
        if duration <= Duration::ZERO {
            problems.invalid(&path(field), duration, "must be greater than zero");
        }
    }
    if election.lease_duration <= election.renew_deadline {
        // The value is the other one's, as upstream.
        let detail = "must be greater than `RenewDeadline`";
        problems.invalid(&path("leaseDuration"), election.renew_deadline, detail);
    }
    let lock = &election.resource_lock;
    let texts = [
        ("resourceLock", lock),
        ("resourceNamespace", &election.resource_namespace),
        ("resourceName", &election.resource_name),
    ];
    for (field, _) in texts.into_iter().filter(|(_, text)| text.is_empty()) {
        problems.required(&path(field), "");
    }
    if lock != "leases" {
        let detail = "resourceLock value must be \"leases\"";
        problems.invalid(&path("resourceLock"), format_args!("{lock:?}"), detail);
    }
}

fn check_percentage(percentage: i32, path: &str, problems: &Problems) {
    if !(0..=100).contains(&percentage) {
        problems.invalid(path, percentage, "not in valid range [0-100]");
    }
}

fn check_profiles(profiles: &[ProfileConfiguration], problems: &Problems) {
    let Some(first) = profiles.first() else {
        return problems.required("profiles", "");
    };
    for (i, profile) in profiles.iter().enumerate() {
        let path = format!("profiles[{i}]");
        let (name, name_path) = (&profile.scheduler_name, format!("{path}.schedulerName"));
        if name.is_empty() {
            problems.required(&name_path, "");
        } else if let Some(other) = profiles[..i].iter().rposition(|p| p.scheduler_name == *name) {
            problems.at(&name_path, format!("Duplicate value: profiles[{other}].schedulerName"));
        }
        if let Some(percentage) = profile.percentage_of_nodes_to_score {
            check_percentage(percentage, &format!("{path}.percentageOfNodesToScore"), problems);
        }
        check_removed(profile, &path, problems);
        check_repeated_arguments(&profile.plugin_config, &path, problems);
        if i > 0 {
            check_same_queue_sort(first, profile, &path, problems);
        }
    }
    let count = first.plugins.queue_sort.enabled.len();
    if count > 1 {
        let detail = "only one queue sort plugin can be enabled";
        problems.invalid("profiles[0].plugins.queueSort.enabled", count, detail);
    }
}

/// Plugins of the past: at `multiPoint` upstream finds out only later that there is none.
fn check_removed(profile: &ProfileConfiguration, path: &str, problems: &Problems) {
    let refuse = |path: &str, name: &str| {
        let detail = format!(
            "was invalid in version \"v1\" (KubeSchedulerConfiguration is version {API_VERSION:?})"
        );
        problems.invalid(path, format_args!("{name:?}"), detail);
    };
    for point in Point::ALL {
        for (i, plugin) in profile.plugins.at(point).enabled.iter().enumerate() {
            if REMOVED.contains(&plugin.name.as_str()) {
                refuse(&format!("{path}.plugins.{point}.enabled[{i}]"), &plugin.name);
            }
        }
    }
    for (i, config) in profile.plugin_config.iter().enumerate() {
        if REMOVED.contains(&config.name.as_str()) {
            refuse(&format!("{path}.pluginConfig[{i}]"), &config.name);
        }
    }
}

fn check_repeated_arguments(configs: &[PluginConfig], path: &str, problems: &Problems) {
    for (i, config) in configs.iter().enumerate() {
        if configs[..i].iter().any(|earlier| earlier.name == config.name) {
            let path = format!("{path}.pluginConfig[{i}]");
            problems.at(&path, format!("Duplicate value: {:?}", config.name));
        }
    }
}

/// All profiles share one queue. Compared are the lists of `queueSort` itself; what `multiPoint`
/// brings there is compared after its expansion.
fn check_same_queue_sort(
    first: &ProfileConfiguration,
    own: &ProfileConfiguration,
    path: &str,
    problems: &Problems,
) {
    let (canon, current) = (&first.plugins.queue_sort, &own.plugins.queue_sort);
    if canon != current {
        let path = format!("{path}.plugins.queueSort");
        problems.invalid(&path, json!(current), "must be the same for all profiles");
    }
    let Some(sort) = canon.enabled.first() else { return };
    let is_its = |config: &&PluginConfig| config.name == sort.name;
    let canon = first.plugin_config.iter().rfind(is_its).map(|config| &config.args);
    for (i, config) in own.plugin_config.iter().enumerate().filter(|(_, config)| is_its(config)) {
        if canon != Some(&config.args) {
            let path = format!("{path}.pluginConfig[{i}].args");
            let detail = "queueSort must be the same for all profiles";
            problems.invalid(&path, &config.args, detail);
        }
    }
}

fn check_extenders(extenders: &[Extender], problems: &Problems) {
    let mut managed: Vec<&str> = Vec::new();
    for (i, extender) in extenders.iter().enumerate() {
        let path = format!("extenders[{i}]");
        if !extender.prioritize_verb.is_empty() && extender.weight <= 0 {
            let detail = "must have a positive weight applied to it";
            problems.invalid(&format!("{path}.weight"), extender.weight, detail);
        }
        for (j, resource) in extender.managed_resources.iter().enumerate() {
            let (path, name) = (format!("{path}.managedResources[{j}].name"), &*resource.name);
            let errors = label_name_errors(name);
            for error in &errors {
                problems.invalid(&path, format_args!("{name:?}"), error);
            }
            if errors.is_empty() && !is_extended_resource(name) {
                let detail = "is an invalid extended resource name";
                problems.invalid(&path, format_args!("{name:?}"), detail);
            }
            if managed.contains(&name) {
                let detail = "duplicate extender managed resource name";
                problems.invalid(&path, format_args!("{name:?}"), detail);
            }
            managed.push(name);
        }
        let tls = extender.tls_config.iter();
        let data = tls.flat_map(|tls| {
            [("certData", &tls.cert_data), ("keyData", &tls.key_data), ("caData", &tls.ca_data)]
        });
        for (field, _) in data.filter(|(_, data)| !is_base64(data)) {
            // Not repeated: it is long, and may be a key.
            let path = format!("{path}.tlsConfig.{field}");
            problems.at(&path, "Invalid value: illegal base64 data");
        }
    }
    let binders = extenders.iter().filter(|extender| !extender.bind_verb.is_empty()).count();
    if binders > 1 {
        let found = format!("found {binders} extenders implementing bind");
        let detail = "only one extender can implement bind";
        problems.invalid("extenders", format_args!("{found:?}"), detail);
    }
}

/// Whether Go would decode it: the standard alphabet, padded, with line breaks anywhere.
fn is_base64(text: &str) -> bool {
    let text: Vec<u8> = text.bytes().filter(|c| !matches!(c, b'\n' | b'\r')).collect();
    let padding = text.iter().rev().take(2).take_while(|&&c| c == b'=').count();
    let data = &text[..text.len() - padding];
    text.len().is_multiple_of(4)
        && data.iter().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'/'))
}

#[cfg(test)]
mod tests {
    use super::is_base64;

    #[test]
    fn base64_is_padded_and_of_the_standard_alphabet() {
        for good in ["", "aGk=", "aA==", "aGkh", "a+/h", "aGkh\naGkh\r\n"] {
            assert!(is_base64(good), "{good:?}");
        }
        for bad in ["aGk", "a===", "a-_h", "aG k", "-----BEGIN CERTIFICATE-----"] {
            assert!(!is_base64(bad), "{bad:?}");
        }
    }
}
