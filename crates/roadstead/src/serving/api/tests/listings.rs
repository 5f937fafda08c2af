//! Lists of very many pods, page by page.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::Router;
use roadstead_scheduler::listing::{QueueQuery, QueueSortBy, Sorted};
use serde_json::Value;

use super::stage::{TestStage, get};
use crate::serving::api::listings::Listings;
use crate::serving::api::stage::Stage;
use crate::serving::shown;

const SORTS: [&str; 8] =
    ["place", "namespace", "name", "priority", "attempts", "queued", "since", "backoff"];

/// A page of the pods called so and so, and what it says of the next.
async fn page(router: &Router, query: &str, token: Option<&str>) -> (Vec<String>, Option<String>) {
    let token = token.map(|token| format!("&continue={}", token.replace('/', "%2F")));
    let path = format!("/api/v1/queue?{query}{}", token.unwrap_or_default());
    let page = get(router, &path).await.body;
    let items = page["items"].as_array().unwrap_or_else(|| panic!("{path}: {page}"));
    let name = |item: &Value| item["name"].as_str().expect("a name").to_owned();
    (items.iter().map(name).collect(), page["continue"].as_str().map(str::to_owned))
}

/// All pages, with something happening between them.
async fn pages(router: &Router, query: &str, mut between: impl FnMut(usize)) -> Vec<String> {
    let (mut all, mut next) = page(router, query, None).await;
    for number in 0.. {
        let Some(token) = next else { break };
        between(number);
        let names;
        (names, next) = page(router, query, Some(&token)).await;
        all.extend(names);
    }
    all
}

#[tokio::test]
async fn all_pages_of_a_list_cost_one_look_at_each_pod_and_one_at_each_row() {
    let stage = TestStage::crowded(false);
    stage.add("pod", 0..4_994);
    let router = shown(stage.clone());
    for sort in SORTS {
        let before = stage.asked.load(Ordering::Relaxed);
        let names = pages(&router, &format!("limit=1000&sort=-{sort}"), |_| ()).await;
        let asked = stage.asked.load(Ordering::Relaxed) - before;
        assert_eq!(names.len(), 5_000, "{sort}");
        // Steps of 4096 slots, and of 250 rows.
        assert_eq!(asked, 2 + 5 * 4, "{sort}");
    }
}

#[tokio::test]
async fn pods_that_stay_are_listed_once_while_others_come_and_go() {
    for sort in SORTS.into_iter().flat_map(|sort| [sort.to_owned(), format!("-{sort}")]) {
        let stage = TestStage::crowded(false);
        stage.add("stays", 0..50);
        stage.add("goes", 0..50);
        let router = shown(stage.clone());
        let churn = |number: usize| {
            stage.add("comes", number..number + 1);
            stage.with(|scheduler, now| {
                for at in [number, 49 - number] {
                    let key = crate::explained::key("crowd", &format!("goes-{at}"));
                    scheduler.pod_gone(&key, now);
                }
                for _ in 0..3 {
                    scheduler.schedule_one(now);
                }
            });
        };
        let mut names =
            pages(&router, &format!("namespace=crowd&limit=7&sort={sort}"), churn).await;
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all, "{sort}: none is listed twice");
        let stay = names.iter().filter(|name| name.starts_with("stays")).count();
        assert_eq!(stay, 50, "{sort}");
    }
}

#[tokio::test]
async fn a_page_that_is_asked_for_again_is_of_now() {
    let stage = TestStage::crowded(false);
    stage.add("pod", 0..10);
    let router = shown(stage.clone());
    let query = "namespace=crowd&sort=name&limit=4";
    let (_, next) = page(&router, query, None).await;
    let token = next.expect("there is more");
    let (first, _) = page(&router, query, Some(&token)).await;
    assert_eq!(first, ["pod-4", "pod-5", "pod-6", "pod-7"]);
    stage.add("pod", 41..43);
    let (again, next) = page(&router, query, Some(&token)).await;
    assert_eq!(again, ["pod-4", "pod-41", "pod-42", "pod-5"]);
    let (last, next) = page(&router, query, next.as_deref()).await;
    assert_eq!((last.len(), next), (4, None));
    // Of another query it says where to go on, and nothing else.
    let (other, _) =
        page(&router, "namespace=crowd&sort=name&limit=4&search=5", Some(&token)).await;
    assert_eq!(other, ["pod-5"]);
}

#[tokio::test]
async fn a_page_is_filled_up_where_pods_have_left() {
    let stage = TestStage::crowded(false);
    stage.add("pod", 0..10);
    let router = shown(stage.clone());
    let query = "namespace=crowd&sort=name&limit=2";
    let (_, next) = page(&router, query, None).await;
    for number in [2, 3, 4] {
        let key = crate::explained::key("crowd", &format!("pod-{number}"));
        stage.with(|scheduler, now| scheduler.pod_gone(&key, now));
    }
    let (names, _) = page(&router, query, next.as_deref()).await;
    assert_eq!(names, ["pod-5", "pod-6"]);
}

#[tokio::test]
async fn who_waits_for_a_listing_shares_it() {
    let stage = TestStage::crowded(false);
    let (listings, stage) = (Listings::new(), stage as Arc<TestStage>);
    let query = || QueueQuery {
        namespace: None,
        place: None,
        search: None,
        sorted: Sorted { by: QueueSortBy::Name, reversed: false },
    };
    let asked: &dyn Stage = &*stage;
    let make = || listings.make(asked, query());
    let (a, b, c, d) = tokio::join!(make(), make(), make(), make());
    for listing in [a, b, c, d] {
        assert_eq!(listing.ok().map(|listing| listing.len()), Some(6));
    }
    // The first had begun when the others came; one of them made theirs.
    assert_eq!(stage.asked.load(Ordering::Relaxed), 2);
}
