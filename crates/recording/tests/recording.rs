//! Writing and reading recordings.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use roadstead_cluster::{Kind, Object};
use roadstead_model::Text;
use roadstead_queue::Time;
use roadstead_recording::{Ending, Header, ReadError, Reader, RecordError, Recorded, Recorder};
use roadstead_recording::{Source, Step};
use serde_json::json;

#[test]
fn every_kind_of_step_reads_back_as_it_was_told() {
    let file = file("kinds");
    let steps = steps();
    let mut recorder = Recorder::create(&file, &header()).expect("a new file");
    for (at, step) in &steps {
        recorder.step(*at, step.clone());
    }
    let written = recorder.finish(Time::from_secs(9)).expect("it is written");
    assert_eq!(written.steps, steps.len() as u64 + 1);

    let mut reader = Reader::open(&file).expect("a recording");
    assert_eq!(*reader.header(), header());
    let mut read = read_all(&mut reader);
    let last = read.pop().expect("the end");
    assert!(matches!(last.step, Step::Ended { commands: 0, .. }), "{last:?}");
    assert_eq!(last.at, Time::from_secs(9));
    let read: Vec<_> = read.into_iter().map(|recorded| (recorded.at, recorded.step)).collect();
    assert_eq!(read, steps);
    assert_eq!(reader.ending(), Some(Ending::Complete));
    assert_eq!(reader.find_end().expect("it is whole"), Time::from_nanos(u64::MAX));
    assert_eq!(read_all(&mut reader).len(), steps.len() + 1, "it begins again");
}

#[test]
fn managed_fields_are_left_out() {
    let file = file("managed");
    let mut pod = json!({"metadata": {"name": "web", "managedFields": [{"manager": "kubectl"}]}});
    let step = Step::Set(Object::from_json(Kind::Pod, &pod).expect("a pod"));
    let mut recorder = Recorder::create(&file, &header()).expect("a new file");
    recorder.step(Time::ZERO, step);
    recorder.finish(Time::ZERO).expect("it is written");

    pod["metadata"].as_object_mut().expect("it is one").remove("managedFields");
    let bare = Object::from_json(Kind::Pod, &pod).expect("a pod");
    let first = Reader::open(&file).expect("a recording").next_step().expect("it is whole");
    assert_eq!(first.map(|recorded| recorded.step), Some(Step::Set(bare)));
}

#[test]
fn what_was_told_is_in_the_file_within_a_second_or_so() {
    let file = file("second");
    let mut recorder = Recorder::create(&file, &header()).expect("a new file");
    recorder.step(Time::from_secs(1), Step::Cycle);
    let told = Instant::now();
    // As a process that dies would leave it: the recorder is never asked to write anything.
    let mut read = Vec::new();
    while read.is_empty() && told.elapsed() < Duration::from_secs(10) {
        thread::sleep(Duration::from_millis(20));
        read = read_all(&mut Reader::open(&file).expect("the header is there at once"));
    }
    assert_eq!(read.len(), 1, "after {:?}", told.elapsed());
    std::mem::forget(recorder);
}

#[test]
fn a_recording_that_nobody_ended_says_that_it_was_cut() {
    let file = file("dropped");
    let mut recorder = Recorder::create(&file, &header()).expect("a new file");
    recorder.step(Time::from_secs(1), Step::Cycle);
    drop(recorder);
    let mut reader = Reader::open(&file).expect("a recording");
    assert_eq!(read_all(&mut reader).len(), 1);
    let length = std::fs::metadata(&file).expect("it is there").len();
    assert_eq!(reader.ending(), Some(Ending::Cut { byte: length, of: length }));
}

#[test]
fn many_steps_become_many_blocks_each_of_which_stands_on_its_own() {
    let file = file("blocks");
    let long = "a cluster in trouble ".repeat(1000);
    let mut recorder = Recorder::create(&file, &header()).expect("a new file");
    for second in 0..100 {
        recorder.step(Time::from_secs(second), Step::Trouble(long.clone()));
    }
    let written = recorder.finish(Time::from_secs(100)).expect("it is written");
    assert!(written.raw_bytes > 2_000_000 && written.bytes < 50_000, "{written:?}");
    let whole = std::fs::read(&file).expect("it is there");
    let blocks = whole.windows(4).filter(|four| *four == b"\x9eblk").count();
    assert!((7..=9).contains(&blocks), "{blocks} blocks");

    // The first block is damaged: what follows it cannot be relied on, and the error says where.
    let first = whole.windows(4).position(|four| four == b"\x9eblk").expect("there are some");
    let mut damaged = whole.clone();
    damaged[first + 40] ^= 0x10;
    let input = std::io::Cursor::new(damaged);
    let error = Reader::new("run.rec", input).expect("the header is whole").next_step();
    match error {
        Err(ReadError::Damaged { byte, of, steps, .. }) => {
            assert_eq!((byte, of, steps), (first as u64, whole.len() as u64, 0));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn nothing_is_overwritten_and_the_error_names_the_way_out() {
    let file = file("exists");
    std::fs::write(&file, "precious").expect("it can be written");
    let error = Recorder::create(&file, &header()).expect_err("there is a file");
    assert!(matches!(error, RecordError::Exists { .. }));
    let said = error.to_string();
    assert!(
        said.contains("exists") && said.contains("remove it, or choose another name"),
        "{said}"
    );
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), "precious");

    let nowhere = file.join("run.rec");
    let error = Recorder::create(&nowhere, &header()).expect_err("it is no folder");
    assert!(error.to_string().contains("cannot write"), "{error}");
}

#[cfg(unix)]
#[test]
fn only_its_owner_reads_a_recording() {
    use std::os::unix::fs::PermissionsExt;
    let file = file("owner");
    let recorder = Recorder::create(&file, &header()).expect("a new file");
    let mode = std::fs::metadata(&file).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o077, 0, "{mode:o}");
    drop(recorder);
}

fn steps() -> Vec<(Time, Step)> {
    let pod = json!({
        "metadata": {"name": "web", "namespace": "shop", "uid": "u-1"},
        "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "500m"}}}]},
        "status": {"phase": "Pending", "startTime": "2024-01-11T21:20:00Z"},
    });
    let node = json!({"metadata": {"name": "pier"}, "status": {"allocatable": {"cpu": "4"}}});
    let object = |kind, value| Object::from_json(kind, &value).expect("it reads");
    let failed = || Err("the connection was refused".to_owned());
    let text = Text::unshared;
    let all = [
        Step::Set(object(Kind::Node, node.clone())),
        Step::Set(object(Kind::Pod, pod)),
        Step::OnTime,
        Step::Cycle,
        Step::Decided { commands: 3, digest: 0xbeef },
        Step::Bound { uid: text("u-1"), result: Ok(()) },
        Step::Bound { uid: text("u-1"), result: failed() },
        Step::Written { uid: text("u-1"), result: failed() },
        Step::Evicted { preemptor: text("u-2"), result: Ok(()) },
        Step::Verify { budget: u64::MAX },
        Step::Trouble("something went wrong".to_owned()),
        Step::Gone(object(Kind::Node, node)),
    ];
    // Also times that stand still, go back, or are as late as they can be.
    let times = [1, 1, 5, 3, u64::MAX, 0].map(Time::from_nanos);
    times.into_iter().cycle().zip(all).collect()
}

fn header() -> Header {
    Header::new(Source::Run, json!({"kind": "KubeSchedulerConfiguration"}), u64::MAX)
        .starting(Time::from_secs(1_700_000_000))
        .with_leftover_after(Duration::from_secs(60))
}

fn read_all(reader: &mut Reader) -> Vec<Recorded> {
    std::iter::from_fn(|| reader.next_step().expect("no damage in the middle")).collect()
}

fn file(test: &str) -> PathBuf {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}.rec"));
    let _ = std::fs::remove_file(&file);
    file
}
