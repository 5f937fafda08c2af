//! Traces: what becomes of their rows, and what is said of those that are wrong.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use k8s_openapi::api::core::v1::{Node, Pod};
use roadstead_cluster::embedded::{self, Cluster};
use roadstead_queue::Time;
use roadstead_sim::openb::{GPU, GPU_MILLI, GPU_MODEL, Source, Trace, TraceError};
use roadstead_sim::{Config, Outcome, Setup, Simulation, Timeline};

fn read(nodes: &str, pods: &str) -> Result<Trace, TraceError> {
    let nodes = Source { file: "nodes.csv", text: nodes };
    Trace::read(nodes, Source { file: "pods.csv", text: pods })
}

fn run(trace: &Trace) -> Outcome {
    let cluster = Cluster::new(embedded::Config::default());
    let mut simulation = Simulation::new(cluster, Setup::default(), Config::default());
    simulation.run(&mut trace.play(), &mut |_| ()).expect("it ends");
    simulation.outcome()
}

fn example(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/openb");
    fs::read_to_string(folder.join(name)).expect("the example is there")
}

const NODES: &str = "sn,cpu_milli,memory_mib,gpu,model\nn-0,8000,16384,2,T4\n";
const PODS: &str = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,\
                    creation_time,deletion_time,scheduled_time\n";

#[test]
fn gpus_are_counted_whole_and_in_thousandths() {
    #[rustfmt::skip]
    let rows = [
        // num_gpu, gpu_milli, whole, thousandths
        ("0,0",    None,    None,         "no GPU"),
        ("2,1000", Some(2), Some(2000),   "whole ones"),
        ("1,1000", Some(1), Some(1000),   "a whole one"),
        ("1,",     Some(1), Some(1000),   "a whole one, without a share"),
        ("1,600",  Some(1), Some(600),    "more than half"),
        ("1,500",  None,    Some(500),    "half"),
    ];
    for (columns, whole, milli, name) in rows {
        let pods = format!("{PODS}p,1000,1024,{columns},A10|T4,LS,Running,5,65,6\n");
        let mut cluster = Cluster::new(embedded::Config::default());
        let mut replay = read(NODES, &pods).expect("it reads").play();
        assert!(replay.act(Time::from_secs(5), &mut cluster).is_empty(), "{name}");
        let pod = cluster.get::<Pod>("default", "p").expect("it has come");
        let spec = pod.spec.as_ref().expect("it has one");
        let resources = spec.containers[0].resources.clone().expect("it asks for something");
        let asked = |of: &str| {
            let amount = resources.requests.as_ref()?.get(of)?;
            let limit = resources.limits.as_ref()?.get(of);
            assert_eq!(limit, Some(amount), "{name}: not overcommitted");
            amount.0.parse::<u64>().ok()
        };
        assert_eq!((asked(GPU), asked(GPU_MILLI)), (whole, milli), "{name}");
    }
}

#[test]
fn models_are_labels_of_nodes_and_an_affinity_of_pods() {
    let pods = format!("{PODS}p,1000,1024,1,1000,A10|T4,LS,Running,5,65,6\n");
    let mut cluster = Cluster::new(embedded::Config::default());
    let mut replay = read(NODES, &pods).expect("it reads").play();
    assert_eq!(replay.next(), Some(Time::ZERO));
    assert!(replay.act(Time::ZERO, &mut cluster).is_empty());
    assert_eq!(replay.next(), Some(Time::from_secs(5)));
    assert!(replay.act(Time::from_secs(5), &mut cluster).is_empty());
    assert_eq!(replay.next(), None);

    let node = cluster.get::<Node>("", "n-0").expect("it is there");
    assert_eq!(node.metadata.labels.as_ref().and_then(|l| l.get(GPU_MODEL)), Some(&"T4".into()));
    let pod = cluster.get::<Pod>("default", "p").expect("it has come");
    let affinity = pod.spec.as_ref().and_then(|s| s.affinity.as_ref()).expect("it has one");
    let required = affinity
        .node_affinity
        .as_ref()
        .and_then(|a| a.required_during_scheduling_ignored_during_execution.as_ref())
        .expect("it is required");
    let expressions = required.node_selector_terms[0].match_expressions.as_ref().expect("one");
    assert_eq!(expressions[0].key, GPU_MODEL);
    assert_eq!(expressions[0].values, Some(vec!["A10".into(), "T4".into()]));
}

#[test]
fn a_pod_runs_as_long_as_it_did_however_late_it_starts() {
    // Both want the whole node: the second waits, and then runs its 100 seconds.
    let pods = format!(
        "{PODS}a,8000,1024,0,0,,LS,Running,0,50,0\nb,8000,1024,0,0,,LS,Running,10,110,10\n\
         c,8000,1024,0,0,,BE,Pending,20,40,\n"
    );
    let outcome = run(&read(NODES, &pods).expect("it reads"));
    let ends: BTreeMap<&str, Option<f64>> =
        outcome.pods.iter().map(|pod| (&*pod.name, pod.ended.map(|s| s.get()))).collect();
    assert_eq!(outcome.counts.finished, 2);
    assert_eq!(outcome.counts.deleted, 1);
    assert_eq!(ends["c"], Some(40.0), "the trace never saw it scheduled, and deletes it");
    let late = ends["b"].expect("it has ended");
    assert!((150.0..170.0).contains(&late), "{late}");
}

#[test]
fn shares_never_take_more_than_there_is() {
    let mut pods = PODS.to_owned();
    for (i, milli) in [600, 600, 600, 400, 400, 1000].into_iter().enumerate() {
        pods.push_str(&format!("p-{i},100,128,1,{milli},,LS,Running,{i},,\n"));
    }
    let outcome = run(&read(NODES, &pods).expect("it reads"));
    let waiting: Vec<&str> =
        outcome.pods.iter().filter(|pod| pod.node.is_none()).map(|pod| &*pod.name).collect();
    assert_eq!(waiting, ["p-2", "p-5"], "three of 600 do not share two GPUs");
}

#[test]
fn the_example_runs_and_repeats() {
    let trace = read(&example("nodes.csv"), &example("pods.csv")).expect("it reads");
    let (first, second) = (run(&trace), run(&trace));
    assert_eq!(first.counts.total, trace.pods());
    assert_eq!(first.counts.waiting.total(), 0, "{:?}", first.reasons);
    assert!(first.troubles.is_empty(), "{:?}", first.troubles);
    assert!(first.pods.iter().any(|pod| pod.waited.get() > 10.0), "some have to wait");
    let json = |outcome: &Outcome| serde_json::to_string(outcome).expect("it is plain data");
    assert_eq!(json(&first), json(&second));
}

#[test]
fn a_broken_trace_is_refused_with_file_line_column_and_reason() {
    let good = "p,1,1,0,0,,LS,Running,0,9,0\n";
    #[rustfmt::skip]
    let rows: Vec<(String, String, &str)> = vec![
        ("sn,cpu_milli\na,1\n".into(), PODS.into(),
            "error: nodes.csv:1: column `memory_mib`: no such column; expected the columns sn, cpu_milli, memory_mib"),
        (String::new(), PODS.into(),
            "error: nodes.csv:1: column `sn`: no such column; expected the columns sn, cpu_milli, memory_mib\n\
             error: nodes.csv:1: column `cpu_milli`: no such column; expected the columns sn, cpu_milli, memory_mib\n\
             error: nodes.csv:1: column `memory_mib`: no such column; expected the columns sn, cpu_milli, memory_mib"),
        ("sn,cpu_milli,memory_mib,sn\n".into(), PODS.into(),
            "error: nodes.csv:1: column `sn`: this column is there twice"),
        (format!("{NODES}n-1,12x,-5,0,\n"), PODS.into(),
            "error: nodes.csv:3: column `cpu_milli`: `12x` is not a whole number from 0 to 1000000000000\n\
             error: nodes.csv:3: column `memory_mib`: `-5` is not a whole number from 0 to 1000000000000"),
        (format!("{NODES}n-0,1,1,0,\n,,1,0,\n"), PODS.into(),
            "error: nodes.csv:3: column `sn`: `n-0` is the name on line 2 already\n\
             error: nodes.csv:4: column `sn`: empty, expected a name\n\
             error: nodes.csv:4: column `cpu_milli`: empty, expected a whole number"),
        (NODES.into(), format!("{PODS}p,1,1\n"), "error: pods.csv:2: 3 fields, expected 11"),
        (NODES.into(), format!("{PODS}{good}q,1,1,1,1200,,LS,Running,9,10,\n"),
            "error: pods.csv:3: column `gpu_milli`: `1200` is more than one GPU, expected at most 1000"),
        (NODES.into(), format!("{PODS}q,1,1,0,0,,LS,Running,9,8,\nr,1,1,0,0,,LS,Running,5,8,10\n"),
            "error: pods.csv:2: column `deletion_time`: `8` is before the creation_time\n\
             error: pods.csv:3: column `deletion_time`: `8` is before the scheduled_time"),
        (NODES.into(), format!("{PODS}{good}\"q,1\n"),
            "error: pods.csv:3: a quote opens here and never closes\nerror: pods.csv:3: 1 fields, expected 11"),
    ];
    for (nodes, pods, expected) in rows {
        let error = read(&nodes, &pods).expect_err(expected);
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn a_table_of_another_kind_does_not_fill_the_screen() {
    let rows = "p,x,1,0,0,,LS,Running,0,9,0\n".repeat(100);
    let error = read(NODES, &format!("{PODS}{rows}")).expect_err("it is wrong").to_string();
    assert_eq!(error.lines().count(), 21);
    assert!(error.ends_with("and 179 more"), "{error}");
}
