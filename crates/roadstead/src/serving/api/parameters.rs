//! Reading what requests say, strictly: what is not understood is refused.

use std::fmt::Display;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequestParts, RawPathParams};
use http::StatusCode;
use http::request::Parts;
use roadstead_scheduler::listing::Sorted;

use super::problem::Problem;

/// The parameters of a query, each at most once.
#[derive(Debug, Default)]
pub(super) struct Parameters(Vec<(String, String)>);

impl Parameters {
    fn parse(query: &str) -> Result<Self, Problem> {
        if query.len() > LONGEST_QUERY {
            let problem = format!("the query: must be at most {LONGEST_QUERY} bytes");
            return Err(Problem::bad_request(problem).about("query"));
        }
        let mut all = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decode(name).ok_or_else(|| {
                Problem::bad_request("the query: a name is not readable").about("query")
            })?;
            let value =
                decode(value).ok_or_else(|| wrong(&name, "must be percent-encoded UTF-8"))?;
            if all.iter().any(|(known, _)| *known == name) {
                return Err(wrong(&name, "is given more than once"));
            }
            all.push((name, value));
        }
        Ok(Self(all))
    }

    /// Refuses all parameters but these.
    pub(super) fn allow(&self, known: &[&str]) -> Result<(), Problem> {
        let unknown = |(name, _): &&(String, String)| !known.contains(&name.as_str());
        let Some((name, _)) = self.0.iter().find(unknown) else { return Ok(()) };
        let expected = match known {
            [] => "there are none here".to_owned(),
            known => format!("there are {}", known.join(", ")),
        };
        Err(wrong(name, &format!("is not a parameter; {expected}")))
    }

    /// A text to look for; an empty one is as good as none.
    pub(super) fn text(&self, name: &'static str) -> Result<Option<&str>, Problem> {
        Ok(self.value(name)?.filter(|value| !value.is_empty()))
    }

    fn value(&self, name: &'static str) -> Result<Option<&str>, Problem> {
        let Some((_, value)) = self.0.iter().find(|(known, _)| known == name) else {
            return Ok(None);
        };
        if value.chars().count() > LONGEST_VALUE {
            let problem = format!("must be at most {LONGEST_VALUE} characters long");
            return Err(Problem::field(name, problem));
        }
        if value.chars().any(char::is_control) {
            return Err(Problem::field(name, "must have no control characters"));
        }
        Ok(Some(value))
    }

    /// A number between 1 and `most`.
    pub(super) fn limit(&self, most: usize, default: usize) -> Result<usize, Problem> {
        let Some(value) = self.value("limit")? else { return Ok(default) };
        // Digits alone: `+5` would be read too.
        let is_plain = value.bytes().all(|byte| byte.is_ascii_digit());
        let number = value.parse().ok().filter(|number| is_plain && (1..=most).contains(number));
        number.ok_or_else(|| {
            Problem::field("limit", format!("must be between 1 and {most}, not {}", shown(value)))
        })
    }

    /// One of these words.
    pub(super) fn one_of<T: Copy>(
        &self,
        name: &'static str,
        words: &[(&str, T)],
    ) -> Result<Option<T>, Problem> {
        let Some(value) = self.value(name)? else { return Ok(None) };
        let found = words.iter().find(|(word, _)| *word == value);
        let found = found.ok_or_else(|| {
            let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            let problem = format!("must be one of {}, not {}", words.join(", "), shown(value));
            Problem::field(name, problem)
        })?;
        Ok(Some(found.1))
    }
}

impl<S: Sync> FromRequestParts<S> for Parameters {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Self::parse(parts.uri.query().unwrap_or_default())
    }
}

/// The names in a path, in their order.
pub(super) struct Segments<const N: usize>(pub(super) [String; N]);

impl<S: Send + Sync, const N: usize> FromRequestParts<S> for Segments<N> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let unreadable =
            || Problem::bad_request("the path: must be percent-encoded UTF-8").about("path");
        let found =
            RawPathParams::from_request_parts(parts, state).await.map_err(|_| unreadable())?;
        let mut names = Vec::new();
        for (part, value) in &found {
            if value.chars().count() > LONGEST_VALUE || value.chars().any(char::is_control) {
                let problem = format!(
                    "the path's {part}: must be at most {LONGEST_VALUE} characters long, and none \
                     a control character"
                );
                return Err(Problem::bad_request(problem).about("path"));
            }
            names.push(value.to_owned());
        }
        Ok(Self(names.try_into().map_err(|_| unreadable())?))
    }
}

/// In which order a list was asked for, in words and as it is meant.
pub(super) struct Sort<S> {
    words: String,
    pub(super) sorted: Sorted<S>,
}

impl<S> Sort<S> {
    /// What the last page said of where it ended, if this is not the first.
    pub(super) fn token<'a>(&self, parameters: &'a Parameters) -> Result<Option<&'a str>, Problem> {
        let Some(token) = parameters.value("continue")? else { return Ok(None) };
        let token = token.split_once(':').filter(|(words, _)| *words == self.words);
        token.map(|(_, token)| Some(token)).ok_or_else(wrong_mark)
    }

    /// What to hand back for the next page.
    pub(super) fn marked(&self, mark: impl Display) -> String {
        format!("{}:{mark}", self.words)
    }
}

/// The order that was asked for; by default the first of these.
pub(super) fn sorted<S: Copy>(
    parameters: &Parameters,
    words: &[(&'static str, S)],
) -> Result<Sort<S>, Problem> {
    let wanted = parameters.value("sort")?.or(words.first().map(|(word, _)| *word));
    let wanted = wanted.unwrap_or_default();
    let (reversed, word) = match wanted.strip_prefix('-') {
        Some(word) => (true, word),
        None => (false, wanted),
    };
    let Some((_, by)) = words.iter().find(|(known, _)| *known == word) else {
        let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        let problem = format!(
            "must be one of {}, with a - before it to reverse it, not {}",
            words.join(", "),
            shown(wanted)
        );
        return Err(Problem::field("sort", problem));
    };
    Ok(Sort { words: wanted.to_owned(), sorted: Sorted { by: *by, reversed } })
}

pub(super) fn wrong_mark() -> Problem {
    Problem::field("continue", "must be what the last page of the same query said")
}

/// A body as text.
pub(super) fn body(body: Result<Bytes, BytesRejection>) -> Result<String, Problem> {
    let body = body.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            let most = crate::serving::BODY_SIZE / 1024;
            let problem = format!("the body: must be at most {most} KiB; send it in parts");
            Problem::new(StatusCode::PAYLOAD_TOO_LARGE, problem).about("body")
        }
        _ => wrong_body("did not arrive whole"),
    })?;
    String::from_utf8(body.into()).map_err(|_| wrong_body("must be UTF-8"))
}

pub(super) fn wrong_body(message: impl Display) -> Problem {
    Problem::bad_request(format!("the body: {message}")).about("body")
}

/// A parameter is wrong, whose name is what somebody sent.
fn wrong(name: &str, message: &str) -> Problem {
    let problem = Problem::bad_request(format!("{}: {message}", shown(name)));
    problem.about(name.chars().take(MOST_SHOWN).collect::<String>())
}

/// A value to be spoken of, cut if it is long.
fn shown(value: &str) -> String {
    match value.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{:?}…", &value[..end]),
        None => format!("{value:?}"),
    }
}

/// Undoes percent-encoding, and `+` for a space.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        match *first {
            b'%' => {
                let (digits, tail) = tail.split_at_checked(2)?;
                let is_hex = digits.iter().all(u8::is_ascii_hexdigit);
                let digits = std::str::from_utf8(digits).ok().filter(|_| is_hex)?;
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
                rest = tail;
            }
            b'+' => bytes.push(b' '),
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok()
}

const LONGEST_QUERY: usize = 8 * 1024;
/// Names in Kubernetes have at most 253 letters; a token to continue has two of them.
const LONGEST_VALUE: usize = 600;
const MOST_SHOWN: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_understood_is_refused() {
        for query in ["a=%", "a=%f", "a=%zz", "%ff=1", "a=%ff", "a=1&a=2", "a=%+1", "a=1&%61=2"] {
            assert!(Parameters::parse(query).is_err(), "{query}");
        }
        assert!(Parameters::parse(&"x".repeat(LONGEST_QUERY + 1)).is_err());
        let both = Parameters::parse("a=b+c%2f%C3%A4&&d").expect("it is right");
        assert_eq!(both.text("a").expect("it is short"), Some("b c/ä"));
        assert_eq!(both.text("d").expect("it is short"), None);
        assert!(both.allow(&["a"]).is_err());
        assert!(both.allow(&["a", "d"]).is_ok());
    }

    #[test]
    fn limits_are_whole_numbers_within_bounds() {
        let rows = [
            ("", Some(20)),
            ("limit=", None),
            ("limit=1", Some(1)),
            ("limit=100", Some(100)),
            ("limit=0", None),
            ("limit=101", None),
            ("limit=-1", None),
            ("limit=%2B5", None),
            ("limit=1e1", None),
            ("limit=99999999999999999999999", None),
        ];
        for (query, expected) in rows {
            let parameters = Parameters::parse(query).expect("it reads");
            assert_eq!(parameters.limit(100, 20).ok(), expected, "{query}");
        }
    }

    #[test]
    fn values_have_an_end_and_no_control_characters() {
        let long = format!("search={}", "x".repeat(LONGEST_VALUE + 1));
        for query in [long.as_str(), "search=a%00b", "search=%0a"] {
            let parameters = Parameters::parse(query).expect("it reads");
            assert!(parameters.text("search").is_err(), "{query}");
        }
    }
}
