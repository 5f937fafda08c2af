//! Random histories on a bad network: whatever is missed, at the end the listener knows what is
//! there.

use std::collections::BTreeMap;

use roadstead_cluster::api::faults::{Chances, FaultConfig};
use roadstead_cluster::embedded::{Binding, Config, DeleteOptions};
use roadstead_cluster::kubernetes::{Input, WatchOptions};
use roadstead_cluster::{Key, Kind, Object};
use tokio::time::timeout;

use crate::testing::*;

#[tokio::test(start_paused = true)]
async fn who_listens_ends_up_with_what_is_there() {
    let (mut relists, mut resumed) = (0, 0);
    for seed in 0..40 {
        let mut random = Random(seed);
        let chances =
            || Chances { dropped: 0.05, lost: 0.05, throttled: 0.02, failed: 0.05, conflict: 0.0 };
        let setup = Setup {
            config: Config { seed, changes_kept: 20, ..Config::default() },
            options: WatchOptions {
                streaming_lists: seed % 2 == 0,
                page_size: 1 + seed as u32 % 5,
                ..WatchOptions::default()
            },
            faults: FaultConfig { seed, writes: Chances::default(), reads: chances(), cut: 0.1 },
            room: 1 + seed as usize % 7,
            guard: Guard::default(),
        };
        let mut h = setup.start(EVERYTHING);
        let mut mirror = Mirror::default();
        for _ in 0..150 {
            random_step(&h, &mut random);
            for _ in 0..random.below(6) {
                let waits = std::time::Duration::from_millis(random.below(1500));
                if let Ok(input) = timeout(waits, h.inputs.recv()).await {
                    mirror.hear(input.expect("the watches go on"));
                }
            }
        }
        h.faults.configure(FaultConfig::default());
        // Longer than the longest wait between two tries.
        let longest = std::time::Duration::from_secs(60);
        while let Ok(input) = timeout(longest, h.inputs.recv()).await {
            mirror.hear(input.expect("the watches go on"));
        }
        assert_eq!(mirror.objects, h.there(), "seed {seed}");
        assert!(mirror.is_synced, "seed {seed}");
        let statuses = h.watching.statuses();
        relists += statuses.iter().map(|status| status.lists - 1).sum::<u64>();
        resumed += statuses.iter().map(|status| status.resumed).sum::<u64>();
    }
    assert!(relists > 300 && resumed > 300, "{relists} relists, {resumed} resumed");
}

/// What a listener makes of what it hears.
#[derive(Default)]
struct Mirror {
    objects: BTreeMap<Key, Object>,
    is_synced: bool,
}

impl Mirror {
    fn hear(&mut self, input: Input) {
        match input {
            Input::Set(object) => {
                let old = self.objects.insert(object.key(), object.clone());
                if let Some(old) = old {
                    assert_eq!(old.uid(), object.uid(), "another object, and the old not gone");
                    assert!(old.version() < object.version(), "old news: {}", object.key());
                }
            }
            Input::Gone(object) => {
                let old = self.objects.remove(&object.key());
                let old = old.unwrap_or_else(|| panic!("{} was not known", object.key()));
                assert_eq!(old.uid(), object.uid());
            }
            Input::Synced => {
                assert!(!self.is_synced, "once");
                self.is_synced = true;
            }
            other => panic!("{other:?}"),
        }
    }
}

fn random_step(h: &Harness, random: &mut Random) {
    let name = format!("pod-{}", random.below(8));
    let key = Kind::Pod.key("default", &name);
    let is_there = h.cluster.with(|cluster, _| cluster.object(&key).is_some());
    match random.below(10) {
        0..4 if !is_there => h.load(&pods([&*name])),
        0..2 if is_there => {
            let options = DeleteOptions::default();
            let _ = h.cluster.with(|cluster, now| cluster.delete(now, &key, &options));
        }
        2..4 => h.touch(Kind::Pod, &name),
        4 => h.touch(Kind::Node, "pier"),
        5 => {
            let bind = Binding::new("default", &name, "pier");
            let _ = h.cluster.with(|cluster, now| cluster.bind(now, &bind));
        }
        6 => h.after(1),
        7 => h.touch(Kind::Service, "web"),
        8 => h.faults.cut_watches(),
        _ => h.forget(),
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }
}
