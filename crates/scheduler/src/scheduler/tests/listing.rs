//! Pages of what the scheduler knows.

use std::ops::Range;

use serde_json::json;

use super::*;
use crate::listing::{
    KnownPod, Mark, NodeQuery, NodeSort, PlaceName, PodSearch, QueueItem, QueueListing, QueueQuery,
    QueueSortBy, QueueSurvey, Sorted,
};

fn query(by: QueueSortBy) -> QueueQuery {
    let sorted = Sorted { by, reversed: false };
    QueueQuery { namespace: None, place: None, search: None, sorted }
}

fn name_of(item: QueueItem) -> String {
    item.name
}

impl TestCluster {
    fn kept(&self) -> &Journal {
        &self.scheduler.queue().observer().1.0
    }

    fn listing(&self, query: &QueueQuery) -> QueueListing {
        let mut survey = QueueSurvey::new(query.clone());
        while !self.scheduler.survey_queue(&mut survey, 3) {}
        survey.finish()
    }

    fn rows(&self, listing: &QueueListing, rows: Range<usize>) -> Vec<QueueItem> {
        let rows = self.scheduler.queue_rows(listing, rows, self.kept());
        rows.expect("it is the same queue")
    }

    /// All pods of a listing.
    fn items(&self, query: &QueueQuery) -> Vec<QueueItem> {
        let listing = self.listing(query);
        self.rows(&listing, 0..listing.len())
    }

    fn names(&self, query: &QueueQuery) -> Vec<String> {
        self.items(query).into_iter().map(name_of).collect()
    }

    fn found(&self, text: &str, limit: usize, pods_each: usize) -> Vec<KnownPod> {
        let mut search = PodSearch::new(text.to_owned(), limit, pods_each);
        loop {
            if let Some(found) = self.scheduler.search_pods(&mut search, self.kept()) {
                return found;
            }
        }
    }

    /// The cluster shows a pod that asks for too much; nobody tries it yet.
    fn queue(&mut self, name: &str, priority: i32) {
        let api = json!({
            "metadata": {"name": name, "namespace": "default", "uid": format!("uid-{name}")},
            "spec": {"containers": [testing::container("cpu=9")], "priority": priority},
        });
        self.set_pod(name, api);
    }

    /// Some pods in each place, some active.
    fn crowded() -> Self {
        let mut cluster = Self::new();
        cluster.node("pier", "cpu=1");
        cluster.pod("big-1", "cpu=4", json!({"spec": {"priority": 5}}));
        cluster.pod("big-0", "cpu=4", json!({}));
        cluster.pod("held", "cpu=1", json!({"spec": {"schedulingGates": [{"name": "wait"}]}}));
        cluster.refuses = true;
        cluster.pod("unlucky", "cpu=1", json!({"metadata": {"namespace": "default"}}));
        cluster.refuses = false;
        cluster.now = cluster.now + Duration::from_millis(500);
        for (name, priority) in [("calm", 0), ("urgent", 10), ("calm-too", 0)] {
            cluster.queue(name, priority);
        }
        cluster
    }
}

#[test]
fn the_queue_is_listed_place_by_place_in_its_own_order() {
    let cluster = TestCluster::crowded();
    let items = cluster.items(&query(QueueSortBy::Place));
    let rows: Vec<_> =
        items.iter().map(|item| (item.name.as_str(), item.place.as_str(), item.position)).collect();
    assert_eq!(
        rows,
        [
            ("urgent", "active", Some(0)),
            ("calm", "active", Some(1)),
            ("calm-too", "active", Some(2)),
            ("unlucky", "backoff", None),
            ("big-0", "unschedulable", None),
            ("big-1", "unschedulable", None),
            ("held", "gated", None),
        ]
    );
    let big = &items[4];
    // Once more when the binding that was refused gave its node back.
    assert_eq!((big.attempts, big.rejectors.as_slice()), (2, &["NodeResourcesFit".to_owned()][..]));
    assert_eq!(big.message.as_deref(), Some("1 Insufficient cpu"));
    assert_eq!(items[6].gated_by.as_deref(), Some("SchedulingGates"));
    let unlucky = &items[3];
    assert!(unlucky.backoff_until.is_some_and(|until| until > cluster.now));
    assert!(unlucky.message.as_ref().is_some_and(|said| said.contains("refused")), "{unlucky:?}");
}

const ORDERS: [QueueSortBy; 8] = [
    QueueSortBy::Place,
    QueueSortBy::Namespace,
    QueueSortBy::Name,
    QueueSortBy::Priority,
    QueueSortBy::Attempts,
    QueueSortBy::Queued,
    QueueSortBy::Since,
    QueueSortBy::Backoff,
];

#[test]
fn pages_of_any_size_and_order_make_the_whole_list() {
    let cluster = TestCluster::crowded();
    for (by, reversed) in ORDERS.into_iter().flat_map(|by| [(by, false), (by, true)]) {
        let query = QueueQuery { sorted: Sorted { by, reversed }, ..query(by) };
        let all = cluster.names(&query);
        assert_eq!(all.len(), 7, "{by:?}");
        for limit in 1..=7 {
            let (mut found, mut mark) = (Vec::new(), None::<Mark>);
            for _ in 0..7 {
                // Each page from another listing, as if none were kept.
                let listing = cluster.listing(&query);
                let given = mark.map_or(Some(0), |mark| listing.up_to(&mark));
                let given = given.expect("the mark is of this order");
                let end = listing.len().min(given + limit);
                found.extend(cluster.rows(&listing, given..end).into_iter().map(name_of));
                if end == listing.len() {
                    break;
                }
                let text = listing.mark(end).expect("there were some").to_string();
                mark = Some(Mark::parse(&text).expect("a mark reads as it is written"));
            }
            assert_eq!(found, all, "{by:?}, reversed: {reversed}, {limit} a page");
        }
    }
    let sorted = Sorted { by: QueueSortBy::Priority, reversed: true };
    let by_priority = QueueQuery { sorted, ..query(QueueSortBy::Priority) };
    assert_eq!(cluster.names(&by_priority)[..2], ["urgent", "big-1"]);
    let sorted = Sorted { by: QueueSortBy::Queued, reversed: true };
    let by_age = QueueQuery { sorted, ..query(QueueSortBy::Queued) };
    let ages: Vec<_> = cluster.items(&by_age).into_iter().map(|item| item.queued).collect();
    assert!(ages.is_sorted_by(|a, b| a >= b), "{ages:?}");
}

#[test]
fn a_pod_that_waits_all_the_time_is_listed_once_whatever_happens_meanwhile() {
    for (by, reversed) in ORDERS.into_iter().flat_map(|by| [(by, false), (by, true)]) {
        let mut cluster = TestCluster::new();
        cluster.node("pier", "cpu=1");
        for number in 0..60 {
            cluster.queue(&format!("stays-{number}"), number % 4);
            cluster.queue(&format!("goes-{number}"), number % 3);
        }
        let mut turn = 0;
        // Some are tried and rejected, some become more urgent, one goes and comes again.
        let mut churn = |cluster: &mut TestCluster| {
            cluster.now = cluster.now + Duration::from_millis(700);
            for _ in 0..5 {
                cluster.scheduler.schedule_one(cluster.now);
            }
            let stays = format!("stays-{}", turn * 7 % 60);
            cluster.queue(&stays, turn % 9);
            let goes = format!("goes-{}", turn % 60);
            cluster.scheduler.pod_gone(&key(&goes), cluster.now);
            cluster.queue(&format!("comes-{turn}"), 1);
            if turn % 2 == 0 {
                cluster.queue(&goes, 2);
            }
            cluster.scheduler.on_time(cluster.now);
            turn += 1;
        };
        let mut survey =
            QueueSurvey::new(QueueQuery { sorted: Sorted { by, reversed }, ..query(by) });
        let mut steps = 0;
        while !cluster.scheduler.survey_queue(&mut survey, 7) {
            steps += 1;
            churn(&mut cluster);
        }
        assert_eq!(steps, 120 / 7, "what comes later makes it no longer");
        let listing = survey.finish();
        let mut names = Vec::new();
        for start in (0..listing.len()).step_by(9) {
            names.extend(cluster.rows(&listing, start..start + 9).into_iter().map(name_of));
            churn(&mut cluster);
        }
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all, "{by:?}: none is listed twice");
        let stay = names.iter().filter(|name| name.starts_with("stays")).count();
        assert_eq!(stay, 60, "{by:?}");
    }
}

#[test]
fn what_is_asked_for_is_counted_and_listed_alone() {
    let cluster = TestCluster::crowded();
    let of = |change: &dyn Fn(&mut QueueQuery)| {
        let mut query = query(QueueSortBy::Name);
        change(&mut query);
        assert_eq!(cluster.listing(&query).len(), cluster.names(&query).len());
        cluster.names(&query)
    };
    let found = of(&|query| query.search = Some("alm".to_owned()));
    assert_eq!(found, ["calm", "calm-too"]);
    let found = of(&|query| query.place = Some(PlaceName::Unschedulable));
    assert_eq!(found, ["big-0", "big-1"]);
    let found = of(&|query| query.search = Some("default/big".to_owned()));
    assert_eq!(found, ["big-0", "big-1"]);
    assert!(of(&|query| query.namespace = Some("other".to_owned())).is_empty());
}

#[test]
fn rows_are_of_now_and_of_what_was_asked_for() {
    let mut cluster = TestCluster::crowded();
    let active = QueueQuery { place: Some(PlaceName::Active), ..query(QueueSortBy::Place) };
    let listing = cluster.listing(&active);
    cluster.scheduler.schedule_one(cluster.now);
    cluster.queue("most-urgent", 50);
    let rows = cluster.rows(&listing, 0..10);
    let rows: Vec<_> = rows.iter().map(|item| (item.name.as_str(), item.position)).collect();
    assert_eq!(rows, [("calm", Some(1)), ("calm-too", Some(2))]);
    assert_eq!(listing.len(), 3);
}

#[test]
fn a_mark_of_another_order_is_refused() {
    let cluster = TestCluster::crowded();
    let mark = Mark::parse("/default/big-0").expect("it is a mark");
    assert_eq!(cluster.listing(&query(QueueSortBy::Name)).up_to(&mark), Some(1));
    assert_eq!(cluster.listing(&query(QueueSortBy::Priority)).up_to(&mark), None);
}

#[test]
fn a_survey_of_another_queue_begins_again() {
    let (one, other) = (TestCluster::crowded(), TestCluster::crowded());
    let mut survey = QueueSurvey::new(query(QueueSortBy::Name));
    assert!(!one.scheduler.survey_queue(&mut survey, 3));
    while !other.scheduler.survey_queue(&mut survey, 3) {}
    let listing = survey.finish();
    assert_eq!(listing.len(), 7);
    assert!(one.scheduler.queue_rows(&listing, 0..7, one.kept()).is_none());
    assert_eq!(other.rows(&listing, 0..7).len(), 7);
}

#[test]
fn nodes_are_listed_with_what_all_of_them_come_to() {
    let mut cluster = TestCluster::new();
    cluster.node("pier", "cpu=4 memory=8Gi");
    cluster.node("quay", "cpu=2 memory=8Gi");
    cluster.node_json(json!({
        "metadata": {"name": "mole", "labels": {"topology.kubernetes.io/zone": "north"}},
        "spec": {"taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]},
        "status": {"allocatable": {"cpu": "1", "pods": "5"},
                   "conditions": [{"type": "Ready", "status": "False"}]},
    }));
    cluster.pod("web", "cpu=2 memory=1Gi", json!({"spec": {"nodeName": "quay"}}));
    let sorted = Sorted { by: NodeSort::Cpu, reversed: true };
    let query = NodeQuery { search: None, sorted, limit: 2, after: None };
    let page = cluster.scheduler.node_page(&query, cluster.now).expect("there is no mark");
    let names: Vec<_> = page.items.iter().map(|node| node.name.as_str()).collect();
    assert_eq!((names, page.total), (vec!["quay", "mole"], 3));
    assert_eq!(page.summary.histogram, [2, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!((page.summary.cpu.allocatable, page.summary.cpu.requested), (7000, 2000));
    let mole = &page.items[1];
    assert_eq!((mole.zone.as_deref(), mole.ready), (Some("north"), Some(false)));
    assert_eq!(mole.taints, ["gpu=yes:NoSchedule"]);

    let quay = cluster.scheduler.node_detail("quay", 250).expect("it is there");
    assert_eq!((quay.pods_on_it.len(), quay.pods_on_it[0].cpu), (1, 2000));
    assert_eq!(cluster.scheduler.node_detail("moon", 250), None);
}

#[test]
fn any_pod_is_found_by_a_part_of_its_name() {
    let mut cluster = TestCluster::crowded();
    cluster.run();
    cluster.pod("small", "cpu=1", json!({"spec": {"nodeName": "pier"}}));
    cluster.pod("smaller", "cpu=1", json!({"spec": {"schedulerName": "other"}}));
    cluster.delete("held");
    let found = |text: &str, limit| {
        let found = cluster.found(text, limit, 1000);
        // In however many steps.
        assert_eq!(cluster.found(text, limit, 1), found);
        found.into_iter().map(|pod| format!("{} {}", pod.name, pod.place)).collect::<Vec<_>>()
    };
    assert_eq!(found("small", 20), ["small bound", "smaller notOurs"]);
    assert_eq!(found("held", 20), ["held gone"]);
    assert_eq!(found("big", 1), ["big-0 unschedulable"]);
    assert_eq!(found("default/calm", 20), ["calm unschedulable", "calm-too unschedulable"]);
    assert!(found("nothing", 20).is_empty());
}
