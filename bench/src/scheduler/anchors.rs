//! How fast kube-scheduler v1.36.4 is, as measured on a machine with two cores.
//!
//! Its algorithm was measured in process, without an API server, as the median CPU time of a
//! scheduling cycle; it looks at a sample of the nodes only. Its throughput was measured with
//! upstream's scheduler_perf, an API server and etcd beside it. Not every case was measured at
//! every size, so each of ours stands beside the nearest of theirs.

/// What the scheduler is given to do, as far as the algorithm was measured.
#[derive(Clone, Copy)]
pub(crate) enum Work {
    Plain,
    AntiAffinity,
    Spread,
    FitsNowhere,
}

/// A scheduling cycle's time in milliseconds, in the measured cluster that is nearest in size.
pub(crate) fn cycle_ms(work: Work, nodes: usize) -> f64 {
    let row = match nodes {
        0..=300 => [0.51, 0.63, 0.76, 0.26],
        301..=2_500 => [2.0, 5.2, 4.3, 2.8],
        _ => [2.2, 8.4, 7.1, 15.9],
    };
    row[work as usize]
}

/// Pods a second, and how many nodes that was measured with.
#[derive(Clone, Copy)]
pub(crate) struct Throughput {
    pub(crate) pods_per_second: f64,
    pub(crate) nodes: usize,
}

const fn throughput(pods_per_second: f64, nodes: usize) -> Throughput {
    Throughput { pods_per_second, nodes }
}

pub(crate) const BASIC: Throughput = throughput(215.0, 5_000);
pub(crate) const ANTI_AFFINITY: Throughput = throughput(121.0, 500);
pub(crate) const SPREADING: Throughput = throughput(151.0, 500);
pub(crate) const UNSCHEDULABLE: Throughput = throughput(231.0, 500);
pub(crate) const CHURN: Throughput = throughput(194.0, 1_000);
pub(crate) const PREEMPTION: Throughput = throughput(7.0, 1_000);
