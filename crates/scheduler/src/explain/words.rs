//! Kubernetes' notions in few words.

use roadstead_model::{
    AffinityTerm, Condition, HostPort, NodeField, NodeSelector, NodeSelectorTerm, Quantity,
    Requirement, Selector, Taint, Text,
};

/// An amount of a resource as manifests write it.
pub(crate) fn amount(resource: &str, amount: i64) -> String {
    match resource {
        "cpu" => Quantity::millis(amount).to_string(),
        "memory" | "ephemeral-storage" => bytes(amount),
        name if name.starts_with("hugepages-") => bytes(amount),
        _ => amount.to_string(),
    }
}

fn bytes(amount: i64) -> String {
    let binary = (amount % 1024 == 0).then(|| Quantity::parse(&format!("{}Ki", amount / 1024)));
    match binary {
        Some(Ok(quantity)) => quantity.to_string(),
        _ => amount.to_string(),
    }
}

/// `key=value:Effect`, as kubectl writes it.
pub(crate) fn taint(taint: &Taint) -> String {
    let (key, value, effect) = (&taint.key, &taint.value, taint.effect.as_str());
    if value.is_empty() { format!("{key}:{effect}") } else { format!("{key}={value}:{effect}") }
}

/// `8080/TCP`, with the address unless it is any.
pub(crate) fn port(port: &HostPort) -> String {
    match port.ip.as_str() {
        "0.0.0.0" => format!("{}/{}", port.port, port.protocol),
        ip => format!("{ip}:{}/{}", port.port, port.protocol),
    }
}

/// A condition on a label, as kubectl's selectors write it.
pub(crate) fn requirement(requirement: &Requirement) -> String {
    let key = &requirement.key;
    match &requirement.condition {
        Condition::In(values) => match &**values {
            [one] => format!("{key}={one}"),
            several => format!("{key} in ({})", list(several)),
        },
        Condition::NotIn(values) => match &**values {
            [one] => format!("{key}!={one}"),
            several => format!("{key} notin ({})", list(several)),
        },
        Condition::Exists => key.to_string(),
        Condition::DoesNotExist => format!("!{key}"),
        Condition::Gt(bound) => format!("{key}>{bound}"),
        Condition::Lt(bound) => format!("{key}<{bound}"),
    }
}

/// What a selector of pods selects: `a pod labelled app=db`.
pub(crate) fn pods(selector: &Selector, one: &str, labelled: &str) -> String {
    match selector.requirements() {
        Some([]) => one.to_owned(),
        Some(requirements) => {
            let all: Vec<_> = requirements.iter().map(requirement).collect();
            format!("{one} {labelled} {}", all.join(","))
        }
        None => format!("{one} of no kind"),
    }
}

/// So many pods that a selector selects: `2 pods fewer labelled app=db`.
pub(crate) fn counted_pods(number: i64, how: &str, selector: &Selector) -> String {
    let what = if number == 1 { "1 pod".to_owned() } else { format!("{number} pods") };
    pods(selector, [what.as_str(), how].join(" ").trim_end(), "labelled")
}

/// The namespaces of a term, unless they are the pod's own: ` in namespace a`.
pub(crate) fn elsewhere(term: &AffinityTerm, own: &Text) -> String {
    let has_selector = !term.namespace_selector.is_nothing();
    match &*term.namespaces {
        [only] if only == own && !has_selector => String::new(),
        [] if term.namespace_selector.is_empty() => " in any namespace".to_owned(),
        [] => " in a namespace that it selects".to_owned(),
        [only] if !has_selector => format!(" in namespace {only}"),
        several if !has_selector => format!(" in one of the namespaces {}", list(several)),
        several => format!(" in a namespace that it selects or one of {}", list(several)),
    }
}

/// What a selector of nodes selects: `disktype=ssd and zone in (a, b), or called n1`.
pub(crate) fn nodes(selector: &NodeSelector) -> String {
    let terms: Vec<_> = selector.terms().iter().map(node_term).collect();
    if terms.is_empty() { "of no kind".to_owned() } else { terms.join(", or ") }
}

pub(crate) fn node_term(term: &NodeSelectorTerm) -> String {
    let labels: Vec<_> = term.expressions.iter().map(requirement).collect();
    let labelled = (!labels.is_empty()).then(|| format!("labelled {}", labels.join(",")));
    let field = |field: &NodeField| match field {
        NodeField::NameIs(name) => format!("called {name}"),
        NodeField::NameIsNot(name) => format!("not called {name}"),
        NodeField::Always(true) => "of any kind".to_owned(),
        NodeField::Always(false) => "of no kind".to_owned(),
    };
    let all: Vec<_> = labelled.into_iter().chain(term.fields.iter().map(field)).collect();
    // A term without conditions selects nothing.
    if all.is_empty() { "of no kind".to_owned() } else { all.join(" and ") }
}

/// `a, b and c`.
pub(crate) fn joined<T: AsRef<str>>(words: &[T], by: &str) -> String {
    match words {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [others @ .., last] => format!("{} {by} {}", list(others), last.as_ref()),
    }
}

/// `a, b, c`.
pub(crate) fn list<T: AsRef<str>>(words: &[T]) -> String {
    words.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ")
}

/// `a or b`, and of many the first few.
pub(crate) fn any_of(words: Vec<String>) -> String {
    a_few(words, "or")
}

/// `a and b`, and of many the first few.
pub(crate) fn all_of(words: Vec<String>) -> String {
    a_few(words, "and")
}

fn a_few(mut words: Vec<String>, joined_by: &str) -> String {
    words.sort();
    words.dedup();
    let more = words.len().saturating_sub(A_FEW);
    if more > 0 {
        words.truncate(A_FEW);
        words.push(format!("{more} more"));
    }
    joined(&words, joined_by)
}

/// `1 node`, `2 nodes`.
pub(crate) fn counted(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

const A_FEW: usize = 3;
