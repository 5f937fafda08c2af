//! The plugin's decisions, as tables.

use serde_json::{Value, json};

use super::*;
use crate::framework::Framework;
use crate::testing::{self, Cluster, FITS};

const NEAR: &str = "UnschedulableAndUnresolvable: node(s) didn't match pod affinity rules";
const APART: &str = "Unschedulable: node(s) didn't match pod anti-affinity rules";
const EXISTING: &str = "Unschedulable: node(s) didn't satisfy existing pods anti-affinity rules";

/// Labels from `key=value` pairs, separated by blanks.
fn labels(text: &str) -> Value {
    let pairs = text.split_whitespace().filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(key, value)| (key.to_owned(), json!(value)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// A term about pods with these labels.
fn term(key: &str, text: &str) -> Value {
    json!({"topologyKey": key, "labelSelector": {"matchLabels": labels(text)}})
}

/// A term about pods in these namespaces, too.
fn term_in(namespaces: Value, selector: Value) -> Value {
    let mut term = term("zone", "app=web");
    term["namespaces"] = namespaces;
    term["namespaceSelector"] = selector;
    term
}

fn near(terms: &[Value]) -> Value {
    json!({"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}})
}

fn apart(terms: &[Value]) -> Value {
    json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}})
}

fn likes(terms: &[(i32, Value)]) -> Value {
    json!({"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": weighted(terms)}})
}

fn dislikes(terms: &[(i32, Value)]) -> Value {
    json!({"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": weighted(terms)}})
}

fn weighted(terms: &[(i32, Value)]) -> Vec<Value> {
    let weighted =
        |(weight, term): &(i32, Value)| json!({"weight": weight, "podAffinityTerm": term});
    terms.iter().map(weighted).collect()
}

fn both(mut one: Value, other: Value) -> Value {
    for (section, terms) in other.as_object().into_iter().flatten() {
        one[section] = terms.clone();
    }
    one
}

/// A waiting pod.
fn pod(text: &str, affinity: Value) -> Value {
    json!({"metadata": {"labels": labels(text)}, "spec": {"containers": [], "affinity": affinity}})
}

/// A pod that runs on the node of that number, with affinity.
fn asking(node: usize, text: &str, affinity: Value) -> Value {
    let mut pod = pod(text, affinity);
    pod["metadata"]["name"] = json!(format!("on-{node} {text}"));
    pod["spec"]["nodeName"] = json!(format!("node-{node}"));
    pod
}

/// One without.
fn on(node: usize, text: &str) -> Value {
    asking(node, text, Value::Null)
}

/// One in a namespace of that name.
fn within(namespace: &str, mut pod: Value) -> Value {
    pod["metadata"]["namespace"] = json!(namespace);
    pod
}

/// Two nodes in zone 1, one in zone 2, one in none.
fn cluster(pods: &[Value]) -> Cluster {
    let node = |text: &str| json!({"metadata": {"labels": labels(text)}});
    let namespace =
        |name: &str, team: &str| json!({"metadata": {"name": name, "labels": {"team": team}}});
    testing::cluster(json!({
        "nodes": [node("zone=1 host=a"), node("zone=1 host=b"), node("zone=2 host=c"), node("")],
        "namespaces": [namespace("default", "d"), namespace("x", "t"), namespace("y", "u")],
        "pods": pods,
    }))
}

/// What becomes of each node, a letter each: fits, company that is required is not near, company
/// that is unwanted is near, or company that does not want the pod.
fn letters(said: &[String]) -> String {
    let letter = |said: &String| match said.as_str() {
        FITS => "f",
        NEAR => "n",
        APART => "a",
        EXISTING => "e",
        other => panic!("{other}"),
    };
    said.iter().map(letter).collect()
}

#[test]
fn a_pod_goes_where_its_company_is_right() {
    let web = |key| term(key, "app=web");
    let (to_web, off_web) = (|| near(&[web("zone")]), || apart(&[web("zone")]));
    let (db, first) = (term("zone", "app=db"), || vec![on(1, "app=web")]);
    let in_x = || vec![within("x", on(1, "app=web"))];
    let two = || near(&[web("zone"), term("zone", "tier=back")]);
    let hosts = || near(&[web("zone"), web("host")]);
    let team = |operator: &str, team: &str| json!({"matchExpressions": [{"key": "team", "operator": operator, "values": [team]}]});
    let nameless = json!({"topologyKey": "zone"});
    let all = json!({});
    let apart_in = |selector: Value| apart(&[term_in(json!([]), selector)]);
    let mut leaving = on(1, "app=web");
    leaving["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    #[rustfmt::skip]
    let rows = [
        ("nobody asks anything",                    pod("app=web", json!({})),                                first(),                                    "ffff"),
        ("in the other's zone",                     pod("", to_web()),                                        first(),                                    "ffnn"),
        ("the other is leaving",                    pod("", to_web()),                                        vec![leaving],                              "ffnn"),
        ("the other is in a namespace not named",   pod("", to_web()),                                        in_x(),                                     "nnnn"),
        ("no pod is all",                           pod("", two()),                                           vec![on(1, "app=web"), on(1, "tier=back")], "nnnn"),
        ("no pod is all, but itself",               pod("app=web tier=back", two()),                          vec![on(1, "app=web"), on(1, "tier=back")], "fffn"),
        ("zone and host",                           pod("", hosts()),                                         first(),                                    "fnnn"),
        ("the first of its kind",                   pod("app=web", to_web()),                                 vec![],                                     "fffn"),
        ("the first, and not of its kind",          pod("app=db", to_web()),                                  vec![],                                     "nnnn"),
        ("not the first of its kind",               pod("app=web", to_web()),                                 vec![on(3, "app=web")],                     "nnfn"),
        ("the first that is in a zone",             pod("app=web", to_web()),                                 vec![on(4, "app=web")],                     "fffn"),
        ("a term without selector",                 pod("app=web", near(&[nameless])),                        first(),                                    "nnnn"),
        ("away from the other's zone",              pod("", off_web()),                                       first(),                                    "aaff"),
        ("one term is enough",                      pod("", apart(&[db.clone(), web("zone")])),               first(),                                    "aaff"),
        ("the other keeps away",                    pod("app=web", json!({})),                                vec![asking(1, "", off_web())],             "eeff"),
        ("the other keeps nobody away",             pod("app=web", json!({})),                                vec![asking(4, "", off_web())],             "ffff"),
        ("the other keeps others away",             pod("app=db", json!({})),                                 vec![asking(1, "", off_web())],             "ffff"),
        ("near, but not too near",                  pod("", both(to_web(), apart(&[web("host")]))),           first(),                                    "afnn"),
        ("near nobody, and too near",               pod("", both(near(&[db]), off_web())),                    first(),                                    "nnnn"),
        ("all namespaces",                          pod("", apart_in(all)),                                   in_x(),                                     "aaff"),
        ("a team's namespaces",                     pod("", apart_in(team("In", "t"))),                       in_x(),                                     "aaff"),
        ("another team's",                          pod("", apart_in(team("In", "u"))),                       in_x(),                                     "ffff"),
        ("one by name, one by team",                pod("", near(&[term_in(json!(["x"]), team("In", "u"))])), vec![within("y", on(3, "app=web"))],        "nnfn"),
        ("all but its own team's, which count too", pod("", apart_in(team("NotIn", "d"))),                    first(),                                    "aaff"),
    ];
    for (what, pod, running, expected) in rows {
        let mut cluster = cluster(&running);
        let plugin = cluster.plugin(InterPodAffinity::extensions, Value::Null);
        let pod = cluster.pod(pod);
        assert_eq!(letters(&cluster.filter(&plugin, &pod)), expected, "{what}");
    }
}

#[test]
fn others_terms_look_at_the_labels_of_the_pods_namespace() {
    let team = |team: &str| json!({"matchLabels": {"team": team}});
    for (theirs, expected) in [("d", EXISTING), ("t", FITS)] {
        let keeper = asking(1, "", apart(&[term_in(json!([]), team(theirs))]));
        let mut cluster = cluster(&[within("x", keeper)]);
        let plugin = cluster.plugin(InterPodAffinity::extensions, Value::Null);
        let pod = cluster.pod(pod("app=web", json!({})));
        assert_eq!(cluster.filter(&plugin, &pod)[0], expected, "{theirs}");
    }
}

#[test]
fn a_pod_with_a_bad_term_fits_nowhere() {
    let bad = likes(&[(1, term("zone", "app={{.bad}}"))]);
    let mut cluster = cluster(&[]);
    let plugin = cluster.plugin(InterPodAffinity::extensions, Value::Null);
    let pod = cluster.pod(pod("", bad));
    let said = cluster.filter(&plugin, &pod);
    let words =
        "UnschedulableAndUnresolvable: parsing pod: preferredAffinityTerms: values[0][app]: ";
    assert!(said.iter().all(|said| said.starts_with(words)), "{said:?}");
}

#[test]
fn a_what_if_counts_for_itself() {
    let web = || term("zone", "app=web");
    #[rustfmt::skip]
    let rows = [
        ("the one to keep away from goes",        "",        apart(&[web()]), on(1, "app=web"),               [FITS, FITS]),
        ("the one that keeps away goes",          "app=web", json!({}),       asking(1, "", apart(&[web()])), [FITS, FITS]),
        ("the company goes",                      "",        near(&[web()]),  on(1, "app=web"),               [NEAR, NEAR]),
        ("the company goes, and it may be first", "app=web", near(&[web()]),  on(1, "app=web"),               [FITS, FITS]),
    ];
    for (what, own, affinity, other, expected) in rows {
        let mut cluster = cluster(std::slice::from_ref(&other));
        let plugin = cluster.plugin(InterPodAffinity::extensions, Value::Null);
        let (pod, other) = (cluster.pod(pod(own, affinity)), cluster.pod(other));
        let (framework, context) = (Framework::new([(plugin, 1)]), cluster.context());
        let mut state = CycleState::new();
        framework.pre_filter(&context, &mut state, &pod).expect("PreFilter passes");
        let say = |state: &CycleState| {
            [0, 2].map(|at| {
                let node = cluster.nodes.at(at).expect("a node");
                let said = framework.filter(&context, state, &pod, node);
                said.map_or_else(|status| testing::words(&status), |()| FITS.to_owned())
            })
        };
        let before = say(&state);
        let node = cluster.nodes.at(0).expect("a node");
        let mut what_if = state.clone();
        framework.remove_pod(&context, &mut what_if, &pod, &other, node).expect("it goes");
        assert_eq!(say(&what_if), expected, "{what}");
        assert_eq!(say(&state), before, "{what}: the original");
        framework.add_pod(&context, &mut what_if, &pod, &other, node).expect("it comes back");
        assert_eq!(say(&what_if), before, "{what}: back again");
    }
}

#[test]
fn who_waits_for_a_node_counts_there_unless_nobody_else_asks_anything() {
    let keeper = || apart(&[term("zone", "app=web")]);
    let mut waiting = asking(1, "", keeper());
    waiting["spec"]["nodeName"] = Value::Null;
    waiting["status"] = json!({"nominatedNodeName": "node-1"});
    #[rustfmt::skip]
    let rows = [
        ("alone",                  vec![waiting.clone()],                  [FITS, FITS]),
        ("with another that asks", vec![waiting, asking(3, "", keeper())], [EXISTING, EXISTING]),
    ];
    for (what, pods, expected) in rows {
        let mut cluster = cluster(&pods);
        let plugin = cluster.plugin(InterPodAffinity::extensions, Value::Null);
        let pod = cluster.pod(pod("app=web", json!({})));
        let said = cluster.filter(&plugin, &pod);
        assert_eq!([said[0].as_str(), said[2].as_str()], expected, "{what}");
    }
}

#[test]
fn pods_go_where_they_like_each_other() {
    let web = |key| term(key, "app=web");
    let app = |name: &str| term("host", &format!("app={name}"));
    let fan = || asking(3, "", likes(&[(7, web("zone"))]));
    let (fond, cross) = (|| likes(&[(5, web("zone"))]), || dislikes(&[(5, web("zone"))]));
    let (one, needy) = (|| vec![on(1, "app=web")], || vec![asking(3, "", near(&[web("zone")]))]);
    let three = || vec![on(1, "app=web"), on(2, "app=web"), on(3, "app=web")];
    let abc = || vec![on(1, "app=a"), on(2, "app=b"), on(3, "app=c")];
    let one_by_one = || likes(&[(1, app("a")), (2, app("b")), (3, app("c"))]);
    let none = || json!({});
    let web_pod = || pod("app=web", json!({}));
    let hard = |weight: i32| json!({"hardPodAffinityWeight": weight});
    let ignoring = || json!({"ignorePreferredTermsOfExistingPods": true});
    #[rustfmt::skip]
    let rows = [
        ("nobody likes anybody",                    none(),     web_pod(),                                one(),                                              None),
        ("nobody is there",                         none(),     pod("", fond()),                          vec![],                                             None),
        ("it likes one",                            none(),     pod("", fond()),                          one(),                                              Some([100, 100, 0, 0])),
        ("it likes two more than one",              none(),     pod("", fond()),                          three(),                                            Some([100, 100, 50, 0])),
        ("it dislikes one",                         none(),     pod("", cross()),                         one(),                                              Some([0, 0, 100, 100])),
        ("it cannot make up its mind",              none(),     pod("", both(fond(), cross())),           one(),                                              Some([0; 4])),
        ("cut, not rounded",                        none(),     pod("", one_by_one()),                    abc(),                                              Some([33, 66, 100, 0])),
        ("one likes it",                            none(),     web_pod(),                                vec![fan()],                                        Some([0, 0, 100, 0])),
        ("one dislikes it",                         none(),     web_pod(),                                vec![asking(3, "", dislikes(&[(7, web("zone"))]))], Some([100, 100, 0, 100])),
        ("one needs it",                            none(),     web_pod(),                                needy(),                                            Some([0, 0, 100, 0])),
        ("one needs it, for nothing",               hard(0),    web_pod(),                                needy(),                                            None),
        ("one needs it more than another likes it", hard(10),   web_pod(),                                vec![fan(), asking(1, "", near(&[web("host")]))],   Some([100, 0, 70, 0])),
        ("who likes it is ignored",                 ignoring(), web_pod(),                                vec![fan()],                                        None),
        ("but not by who likes others",             ignoring(), pod("app=web", likes(&[(5, app("db"))])), vec![fan()],                                        Some([0, 0, 100, 0])),
    ];
    for (what, arguments, pod, running, expected) in rows {
        let mut cluster = cluster(&running);
        let plugin = cluster.plugin(InterPodAffinity::extensions, arguments);
        let pod = cluster.pod(pod);
        let expected = expected.map(|scores| scores.to_vec());
        assert_eq!(cluster.scores(&plugin, &pod), Ok(expected), "{what}");
    }
}

#[test]
fn pods_wake_those_that_they_may_help() {
    let (add, delete, update) = (Action::ADD, Action::DELETE, events::UPDATE_POD_LABEL);
    let web = || term("zone", "app=web");
    let two = || [web(), term("zone", "tier=back")];
    let of_team = || term_in(json!([]), json!({"matchLabels": {"team": "t"}}));
    // Upstream's hint takes no labels of a namespace for those that are not excluded.
    let not_d =
        json!({"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["d"]}]});
    let other_teams = term_in(json!([]), not_d);
    let unplaced = |mut pod: Value| {
        pod["spec"]["nodeName"] = Value::Null;
        pod
    };
    let nominated = |pod: Value| {
        let mut pod = unplaced(pod);
        pod["status"] = json!({"nominatedNodeName": "node-1"});
        pod
    };
    let (no, blank) = (|| Value::Null, || pod("app=web", json!({})));
    let (off_web, off_two) = (|| pod("", apart(&[web()])), || pod("", apart(&two())));
    let (to_team, off_team) = (|| pod("", near(&[of_team()])), || pod("", apart(&[of_team()])));
    let of_x = |text: &str| within("x", on(1, text));
    let keeper = |terms: &[Value]| asking(1, "", apart(terms));
    let named = |text: &str| pod(text, near(&[web()]));
    let bad = || [term("zone", "app={{.bad}}")];
    #[rustfmt::skip]
    let rows = [
        ("its own new labels",                          named("a=2"),             update, named("a=1"),                named("a=2"),               "Queue"),
        ("company that is nowhere",                     named(""),                add,    no(),                        unplaced(on(1, "app=web")), "Skip"),
        ("company",                                     named(""),                add,    no(),                        on(1, "app=web"),           "Queue"),
        ("half the company",                            pod("", near(&two())),    add,    no(),                        on(1, "app=web"),           "Skip"),
        ("company for others",                          named(""),                add,    no(),                        on(1, "app=db"),            "Skip"),
        ("D3: company in a team's namespace",           to_team(),                add,    no(),                        of_x("app=web"),            "Queue"),
        ("company in another's",                        to_team(),                add,    no(),                        on(1, "app=web"),           "Skip"),
        ("who becomes company",                         named(""),                update, on(1, "app=db"),             on(1, "app=web"),           "Queue"),
        ("who stays company",                           named(""),                update, on(1, "app=web"),            on(1, "app=web a=1"),       "Skip"),
        ("who is no longer company",                    named(""),                update, on(1, "app=web"),            on(1, "app=db"),            "Skip"),
        ("D5: the same, and it may be first",           named("app=web"),         update, on(1, "app=web"),            on(1, "app=db"),            "Queue"),
        ("who was to be kept away from",                off_web(),                update, on(1, "app=web"),            on(1, "app=db"),            "Queue"),
        ("D4: for one of two reasons",                  off_two(),                update, on(1, "app=web"),            on(1, ""),                  "Queue"),
        ("who is to be kept away from",                 off_web(),                update, on(1, "app=db"),             on(1, "app=web"),           "Skip"),
        ("who was to be kept away from goes",           off_web(),                delete, on(1, "app=web"),            no(),                       "Queue"),
        ("or no longer waits",                          off_web(),                delete, nominated(on(1, "app=web")), no(),                       "Queue"),
        ("D4: one of two reasons goes",                 off_two(),                delete, on(1, "app=web"),            no(),                       "Queue"),
        ("D3: it goes from a team's namespace",         off_team(),               delete, of_x("app=web"),             no(),                       "Queue"),
        ("who kept it away goes",                       blank(),                  delete, keeper(&[web()]),            no(),                       "Queue"),
        ("who kept others away goes",                   pod("app=db", json!({})), delete, keeper(&[web()]),            no(),                       "Skip"),
        ("D4: who kept it away for one of two reasons", blank(),                  delete, keeper(&two()),              no(),                       "Queue"),
        ("who kept all but its own team away goes",     blank(),                  delete, keeper(&[other_teams]),      no(),                       "Queue"),
        ("company goes",                                named(""),                delete, on(1, "app=web"),            no(),                       "Skip"),
        ("D5: company goes, and it may be first",       named("app=web"),         delete, on(1, "app=web"),            no(),                       "Queue"),
        ("its terms are bad",                           pod("", near(&bad())),    add,    no(),                        on(1, "app=web"),           "Error"),
        ("the other's terms are bad",                   named(""),                delete, keeper(&bad()),              no(),                       "Error"),
    ];
    for (what, pod, action, old, new, expected) in rows {
        let mut cluster = cluster(&[]);
        let plugin = cluster.plugin(InterPodAffinity::extensions, Value::Null);
        let pod = cluster.pod(pod);
        let event = cluster.event(events::ASSIGNED_POD, action, old, new);
        assert_eq!(cluster.hint(&plugin, &pod, &event), expected, "{what}");
    }
}

#[test]
fn nodes_wake_those_that_they_may_help() {
    let (add, update) = (Action::ADD, events::UPDATE_NODE_LABEL);
    let node = |text: &str| json!({"metadata": {"labels": labels(text)}});
    let web = || [term("zone", "app=web")];
    let (to, from) = (|| pod("", near(&web())), || pod("", apart(&web())));
    let first = || pod("app=web", near(&web()));
    #[rustfmt::skip]
    let rows = [
        ("a zone, to go to",                     to(),               add,                       Value::Null,    node("zone=3"),        "Queue"),
        ("a node in no zone, to go to",          to(),               add,                       Value::Null,    node("host=d"),        "Skip"),
        ("a node in no zone, to get away",       from(),             add,                       Value::Null,    node("host=d"),        "Queue"),
        ("a node gets into a zone, to go to",    to(),               update,                    node(""),       node("zone=1"),        "Queue"),
        ("a node changes zones, to go to",       to(),               update,                    node("zone=1"), node("zone=2"),        "Queue"),
        ("D7: others may have left with it",     to(),               update,                    node("zone=1"), node(""),              "Queue"),
        ("D5: and the pod may be first",         first(),            update,                    node("zone=1"), node(""),              "Queue"),
        ("a node gets into a zone, to get away", from(),             update,                    node(""),       node("zone=1"),        "Skip"),
        ("a node leaves its zone, to get away",  from(),             update,                    node("zone=1"), node(""),              "Queue"),
        ("other labels",                         from(),             update,                    node("zone=1"), node("zone=1 host=a"), "Skip"),
        ("D7: only others kept it away",         pod("", json!({})), add,                       Value::Null,    node("zone=3"),        "Queue"),
        ("other taints",                         to(),               events::UPDATE_NODE_TAINT, node(""),       node(""),              "Queue"),
        ("a node goes",                          to(),               Action::DELETE,            node("zone=1"), Value::Null,           "deaf"),
    ];
    for (what, pod, action, old, new, expected) in rows {
        let mut cluster = cluster(&[]);
        let plugin = cluster.plugin(InterPodAffinity::extensions, Value::Null);
        let pod = cluster.pod(pod);
        let event = cluster.event(events::NODE, action, old, new);
        assert_eq!(cluster.hint(&plugin, &pod, &event), expected, "{what}");
    }
}

#[test]
fn an_object_of_another_kind_is_an_error() {
    let mut cluster = cluster(&[]);
    let plugin = cluster.plugin(InterPodAffinity::extensions, Value::Null);
    let pod = cluster.pod(pod("", json!({})));
    for resource in [events::NODE, events::ASSIGNED_POD] {
        let event = testing::stranger(&mut cluster.world, resource, Action::ADD);
        assert_eq!(cluster.hint(&plugin, &pod, &event), "Error", "{event:?}");
    }
}

#[test]
fn bad_arguments_are_named() {
    let path = "hardPodAffinityWeight";
    #[rustfmt::skip]
    let rows = [
        (json!({path: 101}),       path, "Invalid value: 101: not in valid range [0, 100]"),
        (json!({path: -1}),        path, "Invalid value: -1: not in valid range [0, 100]"),
        (json!({"hardWeight": 1}), "",   "unknown field `hardWeight`"),
    ];
    for (arguments, path, message) in rows {
        let error =
            InterPodAffinity::extensions(&arguments, &mut World::new()).err().expect("an error");
        assert_eq!(error.path, path, "{arguments}");
        assert!(error.message.starts_with(message), "{arguments}: {}", error.message);
    }
}
