//! `roadstead config`.

use crate::testing::{folder, run, run_in, run_with, write};

#[test]
fn the_defaults_are_complete_and_check_as_fine() {
    let defaults = run(&["config", "defaults"]);
    assert_eq!(defaults.code, 0);
    for part in ["kind: KubeSchedulerConfiguration", "podMaxBackoffSeconds: 10", "NodeResourcesFit"]
    {
        assert!(defaults.out.contains(part), "{part}");
    }
    let folder = folder("defaults");
    write(&folder, "scheduler.yaml", &defaults.out);
    let checked = run_in(&folder, &["config", "check", "scheduler.yaml"]);
    assert_eq!(checked.code, 0, "{}", checked.err);
    assert_eq!(checked.out, "scheduler.yaml: fine (schedulers: default-scheduler)\n");
}

#[test]
fn everything_wrong_is_told_at_once_with_its_line() {
    let text = "\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
podMaxBackoffSeconds: -1
profiles:
- plugins:
    filter:
      enabled:
      - name: NodeNam
";
    let said = run_with(&folder("check"), &["config", "check", "-"], text);
    assert_eq!((said.code, said.out.as_str()), (1, ""));
    assert_eq!(
        said.err,
        "\
error: podMaxBackoffSeconds: Invalid value: -1: must be greater than or equal to \
PodInitialBackoffSeconds
 --> standard input:3:23
3 | podMaxBackoffSeconds: -1
  |                       ^^

error: profiles[0].plugins.filter.enabled[0].name: FilterPlugin \"NodeNam\" does not exist
 --> standard input:8:15
8 |       - name: NodeNam
  |               ^^^^^^^ did you mean `NodeName`?
"
    );
}
