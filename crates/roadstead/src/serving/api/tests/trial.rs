//! A run of schemathesis, where there is one.

use std::process::Command;

use clap::Parser;

use super::stage::TestStage;
use crate::serving::tests::FakeScheduler;
use crate::serving::{Health, Ports, ProcessMetrics, Served, ServingOptions, shown};

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: ServingOptions,
}

/// `ROADSTEAD_SCHEMATHESIS` names `e2e/api/check`, which takes a base URL; without it nothing is
/// checked here.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn made_up_requests_are_answered_as_described() {
    let Some(check) = std::env::var_os("ROADSTEAD_SCHEMATHESIS") else {
        eprintln!("ROADSTEAD_SCHEMATHESIS is not set: nothing is checked");
        return;
    };
    for can_change in [true, false] {
        let line = ["roadstead", "--secure-port", "0", "--insecure-loopback-port", "0"];
        let options = Line::try_parse_from(line).expect("they are options").options;
        let served = Served {
            source: std::sync::Arc::new(FakeScheduler::default()),
            health: std::sync::Arc::new(Health::new()),
            process: std::sync::Arc::new(ProcessMetrics::default()),
            more: shown(TestStage::crowded(can_change)),
        };
        let serving = Ports::open(&options, None).await.expect("it opens").serve(served);
        let address = serving.insecure_address().expect("it serves plain HTTP");
        let check = check.clone();
        let run = move || Command::new(check).arg(format!("http://{address}")).status();
        let status = tokio::task::spawn_blocking(run).await.expect("it runs").expect("it runs");
        assert!(status.success(), "{status}");
        serving.shutdown().await;
    }
}
