//! Pages of what the scheduler knows.

use serde_json::json;

use super::*;
use crate::listing::{
    Mark, NodeQuery, NodeSort, PlaceName, QueuePage, QueueQuery, QueueSortBy, Sorted,
};

fn query(by: QueueSortBy) -> QueueQuery {
    QueueQuery {
        namespace: None,
        place: None,
        search: None,
        sorted: Sorted { by, reversed: false },
        limit: 100,
        after: None,
    }
}

impl TestCluster {
    fn page(&self, query: &QueueQuery) -> QueuePage {
        let journal = &self.scheduler.queue().observer().1.0;
        let page = self.scheduler.queue_page(query, journal, self.now);
        page.expect("the mark is of this order")
    }

    fn names(&self, query: &QueueQuery) -> Vec<String> {
        self.page(query).items.into_iter().map(|item| item.name).collect()
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
            let api = json!({
                "metadata": {"name": name, "namespace": "default", "uid": format!("uid-{name}")},
                "spec": {"containers": [testing::container("cpu=9")], "priority": priority},
            });
            cluster.set_pod(name, api);
        }
        cluster
    }
}

#[test]
fn the_queue_is_listed_place_by_place_in_its_own_order() {
    let cluster = TestCluster::crowded();
    let page = cluster.page(&query(QueueSortBy::Place));
    let rows: Vec<_> = page
        .items
        .iter()
        .map(|item| (item.name.as_str(), item.place.as_str(), item.position))
        .collect();
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
    assert_eq!((page.total, page.next), (7, None));
    let big = &page.items[4];
    // Once more when the binding that was refused gave its node back.
    assert_eq!((big.attempts, big.rejectors.as_slice()), (2, &["NodeResourcesFit".to_owned()][..]));
    assert_eq!(big.message.as_deref(), Some("1 Insufficient cpu"));
    assert_eq!(page.items[6].gated_by.as_deref(), Some("SchedulingGates"));
    let unlucky = &page.items[3];
    assert!(unlucky.backoff_until.is_some_and(|until| until > cluster.now));
    assert!(unlucky.message.as_ref().is_some_and(|said| said.contains("refused")), "{unlucky:?}");
}

#[test]
fn pages_of_any_size_and_order_make_the_whole_list() {
    let cluster = TestCluster::crowded();
    use QueueSortBy::*;
    for by in [Place, Namespace, Name, Priority, Attempts, Queued, Since, Backoff] {
        for reversed in [false, true] {
            let mut query = QueueQuery { sorted: Sorted { by, reversed }, ..query(by) };
            let all = cluster.names(&query);
            assert_eq!(all.len(), 7, "{by:?}");
            for limit in 1..=7 {
                (query.limit, query.after) = (limit, None);
                let mut found = Vec::new();
                loop {
                    let page = cluster.page(&query);
                    assert_eq!(page.total, 7);
                    found.extend(page.items.into_iter().map(|item| item.name));
                    query.after = page.next.map(|mark| {
                        Mark::parse(&mark.to_string()).expect("a mark reads as it is written")
                    });
                    if query.after.is_none() {
                        break;
                    }
                }
                assert_eq!(found, all, "{by:?}, reversed: {reversed}, {limit} a page");
            }
        }
    }
    let by_priority =
        QueueQuery { sorted: Sorted { by: Priority, reversed: true }, limit: 2, ..query(Priority) };
    assert_eq!(cluster.names(&by_priority), ["urgent", "big-1"]);
}

#[test]
fn what_is_asked_for_is_counted_and_listed_alone() {
    let cluster = TestCluster::crowded();
    let of = |change: &dyn Fn(&mut QueueQuery)| {
        let mut query = query(QueueSortBy::Name);
        change(&mut query);
        let page = cluster.page(&query);
        (page.total, page.items.into_iter().map(|item| item.name).collect::<Vec<_>>())
    };
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let found = of(&|query| query.search = Some("alm".to_owned()));
    assert_eq!(found, (2, names(&["calm", "calm-too"])));
    let found = of(&|query| query.place = Some(PlaceName::Unschedulable));
    assert_eq!(found, (2, names(&["big-0", "big-1"])));
    let found = of(&|query| (query.search, query.limit) = (Some("default/big".to_owned()), 1));
    assert_eq!(found, (2, names(&["big-0"])));
    assert_eq!(of(&|query| query.namespace = Some("other".to_owned())), (0, vec![]));
}

#[test]
fn a_mark_of_another_order_is_refused() {
    let cluster = TestCluster::crowded();
    let journal = &cluster.scheduler.queue().observer().1.0;
    let mark = Mark::parse("/default/big-0").expect("it is a mark");
    let by_name = QueueQuery { after: Some(mark.clone()), ..query(QueueSortBy::Name) };
    assert!(cluster.scheduler.queue_page(&by_name, journal, cluster.now).is_some());
    let by_priority = QueueQuery { after: Some(mark), ..query(QueueSortBy::Priority) };
    assert!(cluster.scheduler.queue_page(&by_priority, journal, cluster.now).is_none());
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
    let journal = &cluster.scheduler.queue().observer().1.0;
    let found = |text: &str, limit| {
        let found = cluster.scheduler.find_pods(text, limit, journal);
        found.into_iter().map(|pod| format!("{} {}", pod.name, pod.place)).collect::<Vec<_>>()
    };
    assert_eq!(found("small", 20), ["small bound", "smaller notOurs"]);
    assert_eq!(found("held", 20), ["held gone"]);
    assert_eq!(found("big", 1), ["big-0 unschedulable"]);
    assert_eq!(found("default/calm", 20), ["calm unschedulable", "calm-too unschedulable"]);
    assert!(found("nothing", 20).is_empty());
}
