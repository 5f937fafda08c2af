//! `roadstead sim --record` and `roadstead replay`.

use std::path::Path;

use serde_json::Value;

use crate::testing::{Said, folder, run, run_in, write};

const POD: &str = "{apiVersion: v1, kind: Pod, metadata: {name: web}, \
                   spec: {containers: [{name: main, image: web}]}}\n";
const RUSH: &str = "examples/scenarios/rush-hour.yaml";

#[test]
fn what_sim_records_replays_to_the_same_outcome() {
    for (test, input) in [("rush", RUSH), ("shop", "examples/shop")] {
        let file = recording(test, input);
        let mut replayed = json(&run(&["replay", "-o", "json", &file]));
        let told = replayed.as_object_mut().and_then(|all| all.remove("replay")).expect("it says");
        assert_eq!((&told["reproduced"], &told["source"]), (&true.into(), &"sim".into()));
        assert!(told["decisions"].as_u64() > Some(100), "{told}");
        assert_eq!(replayed, json(&run(&["sim", "-o", "json", "--exit-zero", input])), "{input}");
    }
}

#[test]
fn a_replay_prints_the_summary_and_that_it_is_the_same_bit_for_bit() {
    let file = recording("summary", "examples/shop");
    let replayed = run(&["replay", "--pods", &file]);
    assert_eq!((replayed.code, replayed.err.as_str()), (0, ""));
    let simulated = run(&["sim", "--pods", "--exit-zero", "examples/shop"]);
    let without_first = |said: &Said| said.out.lines().skip(1).collect::<Vec<_>>().join("\n");
    assert!(without_first(&replayed).starts_with(&without_first(&simulated)), "{}", replayed.out);
    let last = replayed.out.lines().last().expect("it prints");
    assert!(
        last.starts_with("Reproduced bit for bit: ") && last.ends_with(" decisions."),
        "{last}"
    );
}

#[test]
fn a_pod_is_explained_as_of_any_time_and_reports_are_as_of_then() {
    let file = recording("moment", RUSH);
    let page = Path::new(&file).with_extension("html");
    let page = page.to_str().expect("it is UTF-8");
    let said =
        run(&["replay", &file, "--until", "12m", "--explain", "batch-225", "--report", page]);
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    assert!(said.out.contains("12m of virtual time"), "{}", said.out);
    assert!(said.out.contains("default/batch-225 waits for an event"), "{}", said.out);
    assert!(std::fs::read_to_string(page).expect("it is written").contains("<svg"));

    let later = run(&["replay", &file, "--at", "16m", "--explain", "batch-225"]);
    assert!(later.out.contains("default/batch-225 is on counter-13"), "{}", later.out);
    let early = run(&["replay", &file, "--until", "1m", "--explain", "batch-225"]);
    assert_eq!(early.code, 1);
    assert!(
        early.err.contains("batch-225: it is not there yet; it comes at 11m39"),
        "{}",
        early.err
    );
}

#[test]
fn one_wrong_name_does_not_withhold_the_outcome() {
    let file = recording("names", "examples/shop");
    let names = ["--explain", "ml/train-visoin", "--explain", "ml/train-vision"];
    for command in [&["replay", &file][..], &["sim", "examples/shop"]] {
        let said = run(&[command, &names].concat());
        assert_eq!(said.code, 1);
        assert!(said.out.contains("of virtual time"), "{}", said.out);
        assert!(said.out.contains("ml/train-vision waits"), "{}", said.out);
        let expected = "error: --explain ml/train-visoin: there was no such pod; did you mean \
                        ml/train-vision?\n";
        assert_eq!(said.err, expected);
    }
    for wrong in ["", "shop/", "a/b/c"] {
        let said = run(&["replay", &file, "--explain", wrong]);
        assert!(said.code == 1 && said.err.contains("[NAMESPACE/]POD, such as"), "{}", said.err);
    }
}

#[test]
fn what_is_asked_for_beyond_the_end_is_told_and_so_is_what_follows_it() {
    let file = recording("end", "examples/shop");
    let beyond = run(&["replay", &file, "--until", "99h"]);
    assert!(beyond.out.contains("The recording ends at "), "{}", beyond.out);
    let whole = run(&["replay", &file]);
    assert!(!whole.out.contains("The recording ends at "), "{}", whole.out);

    let mut bytes = std::fs::read(&file).expect("it is there");
    bytes.extend(b"something else");
    std::fs::write(&file, bytes).expect("it can be written");
    let longer = run(&["replay", &file]);
    assert_eq!((longer.code, longer.err.as_str()), (0, ""));
    assert!(longer.out.contains("14 bytes follow the end of the recording"), "{}", longer.out);
    let told = json(&run(&["replay", &file, "-o", "json"]))["replay"].take();
    assert_eq!(told["ignoredBytes"], 14);
}

#[test]
fn a_recording_that_ends_before_its_first_step_is_empty() {
    let file = recording("empty", "examples/shop");
    let mut bytes = std::fs::read(&file).expect("it is there");
    let length = u32::from_le_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]);
    bytes.truncate(20 + length as usize + 5);
    std::fs::write(&file, bytes).expect("it can be written");
    let said = run(&["replay", &file]);
    assert_eq!((said.code, said.out.as_str()), (1, ""));
    assert!(said.err.contains("the recording is empty"), "{}", said.err);
}

#[test]
fn a_recording_that_was_cut_is_replayed_up_to_the_cut_which_is_told() {
    let file = recording("cut", RUSH);
    let whole = std::fs::read(&file).expect("it is there");
    std::fs::write(&file, &whole[..whole.len() / 2]).expect("it can be written");
    let said = run(&["replay", &file]);
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    let of = format!(" of {}, after ", whole.len() / 2);
    assert!(said.out.contains("The recording is cut at byte ") && said.out.contains(&of));
    assert!(said.out.contains("Reproduced bit for bit"), "{}", said.out);
}

#[test]
fn a_damaged_recording_says_where_and_how_far_it_can_be_replayed() {
    let file = recording("damaged", RUSH);
    let mut bytes = std::fs::read(&file).expect("it is there");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    std::fs::write(&file, &bytes).expect("it can be written");
    let said = run(&["replay", &file]);
    assert_eq!((said.code, said.out.as_str()), (1, ""));
    assert!(said.err.contains("damaged at byte"), "{}", said.err);
    let way_out = said.err.split("--until ").nth(1).expect("it names the way out").trim();
    let said = run(&["replay", &file, "--until", way_out]);
    assert_eq!((said.code, said.err.as_str()), (0, ""), "--until {way_out}");
}

#[test]
fn the_same_configuration_changes_nothing_and_another_one_is_compared() {
    let file = recording("config", RUSH);
    let folder = folder("replay_config_files");
    write(&folder, "same.yaml", &run(&["config", "defaults"]).out);
    let packing = "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, \
                   profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: \
                   {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}}]}]}";
    write(&folder, "packing.yaml", packing);
    let same = json(&run_in(&folder, &["replay", &file, "--config", "same.yaml", "-o", "json"]));
    let (counts, pods) = (&same["counts"], same["pods"].as_array().expect("a list").len());
    assert_eq!(counts["equal"], pods);
    assert!(pods > 1000, "{pods}");

    let other = run_in(&folder, &["replay", &file, "--config", "packing.yaml"]);
    assert_eq!((other.code, other.err.as_str()), (0, ""));
    for word in ["sooner", "later", "elsewhere", "NAMESPACE  NAME", "more; -o json has all"] {
        assert!(other.out.contains(word), "{word}: {}", other.out);
    }
    write(
        &folder,
        "nobody.yaml",
        &packing.replace("{pluginConfig", "{schedulerName: a, pluginConfig"),
    );
    let nobody = run_in(&folder, &["replay", &file, "--config", "nobody.yaml"]);
    let warning = "warning: nobody.yaml: no profile is called default-scheduler; ";
    assert!(nobody.err.starts_with(warning), "{}", nobody.err);
    assert!(nobody.err.ends_with(" pods that ask for it belong to nobody\n"), "{}", nobody.err);
    let wrong = run_in(&folder, &["replay", &file, "--config", "absent.yaml"]);
    assert!(wrong.code == 1 && wrong.err.contains("absent.yaml: cannot read"), "{}", wrong.err);
}

#[test]
fn what_cannot_be_recorded_or_replayed_is_refused_with_the_way_out() {
    let folder = folder("replay_refused");
    write(&folder, "taken.rec", "precious");
    write(&folder, "pod.yaml", POD);
    for (arguments, said) in [
        (&["sim", "--record", "taken.rec", "pod.yaml"][..], "remove it, or choose another name"),
        (&["sim", "--record", "no/such/folder.rec", "pod.yaml"], "folder.rec: cannot write"),
        (&["replay", "taken.rec"], "taken.rec: this is no recording"),
        (&["replay", "absent.rec"], "absent.rec: cannot read"),
        (&["replay"], "required"),
        (&["replay", "taken.rec", "--config", "a.yaml", "--pods"], "cannot be used with"),
        (&["replay", "taken.rec", "--until", "soon"], "soon"),
    ] {
        let refused = run_in(&folder, arguments);
        assert_eq!(refused.code, 1, "{arguments:?}: {}", refused.out);
        assert!(refused.err.contains(said), "{arguments:?}: {}", refused.err);
    }
    assert_eq!(std::fs::read_to_string(folder.join("taken.rec")).expect("it is there"), "precious");
    // An input that is wrong leaves no recording behind.
    write(&folder, "wrong.yaml", "kind: Pod");
    write(&folder, "two.yaml", &format!("{POD}---\n{POD}"));
    let nowhere = ["sim", "--record", "new.rec", "pod.yaml", "--report", "no/such/folder.html"];
    for arguments in [&["sim", "--record", "new.rec", "wrong.yaml"][..], &nowhere] {
        assert_eq!(run_in(&folder, arguments).code, 1, "{arguments:?}");
        assert!(!folder.join("new.rec").exists(), "{arguments:?}");
    }
    let manifest = run_in(&folder, &["sim", "--config", "two.yaml", "pod.yaml"]);
    assert!(manifest.err.contains("one document only, a KubeSchedulerConfiguration"));
}

/// Records a simulation of these manifests, and says where.
fn recording(test: &str, input: &str) -> String {
    let file = folder(&format!("replay_{test}")).join("run.rec");
    let file = file.to_str().expect("it is UTF-8").to_owned();
    let said = run(&["sim", "--exit-zero", "--record", &file, input]);
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    file
}

fn json(said: &Said) -> Value {
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    serde_json::from_str(&said.out).expect("it is JSON")
}
