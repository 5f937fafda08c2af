//! The page: that it stands alone, says what the outcome says, and lets nobody in.

use roadstead_cluster::embedded::{self, Cluster};
use roadstead_cluster::manifests;
use roadstead_queue::Time;
use roadstead_sim::{Config, Outcome, Setup, Simulation, Uneventful, report};

fn run(text: &str) -> Outcome {
    let mut cluster = Cluster::new(embedded::Config::default());
    let report = cluster.load(Time::ZERO, manifests::parse("test.yaml", text));
    assert!(report.problems.is_empty(), "{:?}", report.problems);
    let mut simulation = Simulation::new(cluster, Setup::default(), Config::default());
    simulation.run(&mut Uneventful, &mut |_| ()).expect("it ends");
    simulation.outcome()
}

const SMALL: &str = "
{kind: Node, apiVersion: v1, metadata: {name: pier-0}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 110}}}
---
{kind: Pod, apiVersion: v1, metadata: {name: web}, spec: {containers: [{name: main, resources: {requests: {cpu: 3}}}]}}
---
{kind: Pod, apiVersion: v1, metadata: {name: more}, spec: {containers: [{name: main, resources: {requests: {cpu: 3}}}]}}
";

#[test]
fn the_page_says_what_came_of_the_run() {
    let page = report::html(&run(SMALL));
    for expected in [
        "<h1>1 of 2 pods waits</h1>",
        "<h2 id=\"chart-0\">Queue depth</h2>",
        "<h2 id=\"chart-1\">Throughput</h2>",
        "<h2 id=\"chart-2\">Wait</h2>",
        "<h2 id=\"chart-3\">Node use</h2>",
        "<h3>1 pod <span class=\"tag\">unschedulable</span></h3>",
        "0/1 nodes are available: 1 Insufficient cpu.",
        "<dt>NodeResourcesFit</dt><dd>looks again when: ",
        "default/more",
        "<th scope=\"row\">pier-0</th>",
        "75% <small>3 of 4</small>",
    ] {
        assert!(page.contains(expected), "no {expected} in\n{page}");
    }
}

#[test]
fn the_page_needs_nothing_else() {
    let page = report::html(&run(SMALL));
    for outside in ["src=", "href=", "@import", "url(", "fetch(", "XMLHttpRequest"] {
        assert!(!page.contains(outside), "{outside}");
    }
    // Names of XML's own, which are never looked up.
    let addresses = page.matches("http").count();
    assert_eq!(addresses, page.matches("http://www.w3.org/2000/svg").count());
}

#[test]
fn what_comes_from_outside_stays_text() {
    let mut outcome = run(SMALL);
    let evil = "</script><script>alert('1')</script>&\"";
    for pod in &mut outcome.pods {
        pod.name = evil.to_owned();
        pod.reason = Some(evil.to_owned());
        for rejector in &mut pod.rejectors {
            rejector.plugin = evil.to_owned();
            rejector.wakes_when = vec![evil.to_owned()];
        }
    }
    for node in &mut outcome.nodes {
        node.name = evil.to_owned();
    }
    for amount in outcome.series.points.iter_mut().flat_map(|point| &mut point.nodes) {
        amount.resource = evil.to_owned();
    }
    for amount in &mut outcome.resources {
        amount.resource = evil.to_owned();
    }
    outcome.troubles.push(evil.to_owned());
    let page = report::html(&outcome);
    assert!(!page.contains("<script>alert"), "{page}");
    assert!(!page.contains("</script><script>a"), "{page}");
    assert!(
        page.contains("&lt;/script&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;&quot;")
    );
}

#[test]
fn every_element_that_opens_closes() {
    let page = report::html(&run(SMALL));
    let names = [
        "html", "head", "body", "main", "section", "article", "details", "table", "thead", "tbody",
        "tr", "td", "th", "dl", "div", "ul", "li", "svg", "script", "style", "h1", "h2", "h3",
    ];
    for name in names {
        let opened =
            page.matches(&format!("<{name}>")).count() + page.matches(&format!("<{name} ")).count();
        assert_eq!(opened, page.matches(&format!("</{name}>")).count(), "{name}");
    }
}

#[test]
fn an_empty_run_has_a_page() {
    let page = report::html(&run(""));
    assert!(page.contains("<h1>No pods</h1>"));
    assert!(!page.contains("NaN") && !page.contains("inf%"), "{page}");
}

#[test]
fn the_same_outcome_gives_the_same_page() {
    assert_eq!(report::html(&run(SMALL)), report::html(&run(SMALL)));
}
