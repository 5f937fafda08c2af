//! In which form a client wants its answer.

/// The forms of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The objects themselves.
    Plain,
    /// Rows and columns.
    Table,
    /// All groups with all that is in them, at once.
    Aggregated,
}

impl Form {
    /// The first form that a client names and that the answer has. A client that names none takes
    /// what comes; the plain form is always to be had, for those who take it.
    pub(super) fn of(accept: Option<&str>, also: Option<Self>) -> Option<Self> {
        let Some(accept) = accept else { return Some(Self::Plain) };
        accept.split(',').find_map(|part| {
            let form = Self::read(part)?;
            (form == Self::Plain || also == Some(form)).then_some(form)
        })
    }

    fn read(part: &str) -> Option<Self> {
        let mut words = part.split(';').map(str::trim);
        if !matches!(words.next()?, "application/json" | "application/*" | "*/*" | "") {
            return None;
        }
        let mut said = [("as", ""), ("g", ""), ("v", "")];
        for (name, value) in words.filter_map(|word| word.split_once('=')) {
            if let Some(slot) = said.iter_mut().find(|(known, _)| *known == name) {
                slot.1 = value;
            }
        }
        match said.map(|(_, value)| value) {
            ["", ..] => Some(Self::Plain),
            ["Table", "meta.k8s.io", "v1"] => Some(Self::Table),
            ["APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2"] => Some(Self::Aggregated),
            _ => None,
        }
    }
}
