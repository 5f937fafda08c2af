//! What is wrong with a document, all of it at once, each with its line.

use std::cell::RefCell;
use std::fmt::{self, Write as _};

use super::tree::{Node, Spot};

/// A document that cannot be used, and everything that is wrong with it.
///
/// Prints as a compiler would: each problem with the line that it is on.
///
/// ```text
/// error: profiles[0].plugins.filter.enabled[0].name: FilterPlugin "NodeNam" does not exist
///   --> scheduler.yaml:14:17
/// 14 |         - name: NodeNam
///    |                 ^^^^^^^ did you mean `NodeName`?
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentError {
    file: String,
    text: String,
    problems: Vec<Problem>,
}

impl DocumentError {
    /// Of a file, or of a text that is called so; `text` is all of it.
    #[must_use]
    pub fn new(file: &str, text: &str, problems: Vec<Problem>) -> Self {
        Self { file: file.to_owned(), text: text.to_owned(), problems }
    }

    /// The file, as it was named; empty for what was never in one.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// What is wrong, in the order of the file.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl std::error::Error for DocumentError {}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            if i > 0 {
                f.write_str("\n\n")?;
            }
            problem.print(f, &self.file, &self.text)?;
        }
        Ok(())
    }
}

/// One thing that is wrong with a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    path: String,
    message: String,
    spot: Option<Spot>,
    hint: Option<String>,
    /// Whether the field could not even be read: then whatever else is said of it is noise.
    is_unread: bool,
}

impl Problem {
    /// The field, as a path from the root, such as `profiles[0].schedulerName`; empty for the
    /// whole.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The reason in kube-scheduler's words, the path included.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The line in the file, from 1; nothing for what was never in one.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.spot.map(|spot| spot.line)
    }

    /// The column in the line, in characters from 1.
    #[must_use]
    pub fn column(&self) -> Option<usize> {
        self.spot.map(|spot| spot.column)
    }

    /// What might help.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Looks the path up. The value of a field that is not there is its default, and the line is
    /// that of whatever the field would be in: both want saying.
    fn locate(&mut self, document: &Node) {
        if self.spot.is_some() {
            return;
        }
        let (spot, rest) = document.find(&self.path);
        self.spot = Some(spot);
        let absent = rest.trim_start_matches('.');
        let is_field = !absent.is_empty() && !absent.contains(['.', '[']);
        if is_field && self.hint.is_none() && self.message.contains(": Invalid value: ") {
            self.hint = Some(format!("`{absent}` is not set"));
        }
    }

    fn print(&self, f: &mut fmt::Formatter<'_>, file: &str, text: &str) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        let Some(spot) = self.spot else {
            return self.hint.iter().try_for_each(|hint| write!(f, "\n  = {hint}"));
        };
        let line = text.lines().nth(spot.line.saturating_sub(1)).unwrap_or_default();
        let excerpt = Excerpt::of(line, spot);
        let margin = spot.line.to_string().len();
        write!(f, "\n{:margin$}--> {file}:{}:{}", "", spot.line, spot.column)?;
        write!(f, "\n{} | {}", spot.line, excerpt.line)?;
        write!(f, "\n{:margin$} | {}", "", excerpt.carets)?;
        self.hint.iter().try_for_each(|hint| write!(f, " {hint}"))
    }
}

/// The part of a line that matters, and the carets below it.
struct Excerpt {
    line: String,
    carets: String,
}

impl Excerpt {
    fn of(line: &str, spot: Spot) -> Self {
        let line: Vec<char> = line.trim_end().chars().collect();
        let start = spot.column.saturating_sub(1).min(line.len());
        let from = if line.len() > WIDEST { start.saturating_sub(WIDEST / 3) } else { 0 };
        let to = line.len().min(from + WIDEST);
        let rest = to - start;
        let width = if spot.width == 0 { rest } else { spot.width.min(rest) };

        let (mut shown, mut carets) = (String::new(), String::new());
        if from > 0 {
            shown.push('…');
            carets.push(' ');
        }
        shown.extend(&line[from..to]);
        // A tab stays a tab, or the caret would not stand below its letter.
        carets.extend(line[from..start].iter().map(|&c| if c == '\t' { c } else { ' ' }));
        carets.extend(std::iter::repeat_n('^', width.max(1)));
        if to < line.len() {
            shown.push('…');
        }
        Self { line: shown, carets }
    }
}

/// Characters of a line that are shown: a document of JSON may be one line.
const WIDEST: usize = 120;

/// Where the parts of reading and checking put what they find.
#[derive(Debug, Default)]
pub struct Problems(RefCell<Vec<Problem>>);

impl Problems {
    /// The field at `path` cannot be read; `message` is whole.
    pub fn mistyped(&self, path: &str, spot: Spot, message: String) {
        self.add(path, Some(spot), message, None, true);
    }

    /// There is no field `path`.
    pub fn unknown(&self, path: &str, spot: Spot, message: String, nearest: Option<&str>) {
        let hint = nearest.map(did_you_mean);
        self.add(path, Some(spot), message, hint, true);
    }

    /// The document cannot be read.
    pub fn unreadable(&self, spot: Option<Spot>, message: String) {
        self.add("", spot, message, None, false);
    }

    /// A value that will not do. `value` is as Kubernetes prints it, quoted if it is a string.
    pub fn invalid(&self, path: &str, value: impl fmt::Display, detail: impl fmt::Display) {
        self.at(path, format!("Invalid value: {value}: {detail}"));
    }

    /// A value that is none of those that would do.
    pub fn unsupported(&self, path: &str, value: &str, supported: &[&str]) {
        let mut list = String::new();
        for value in supported {
            let _ = write!(list, "{}{value:?}", if list.is_empty() { "" } else { ", " });
        }
        self.at(path, format!("Unsupported value: {value:?}: supported values: {list}"));
    }

    /// The same for a value that is no longer in the document.
    pub fn unsupported_at(&self, path: &str, spot: Spot, value: &str, supported: &str) {
        let message =
            format!("{path}: Unsupported value: {value:?}: supported values: {supported:?}");
        self.add(path, Some(spot), message, None, false);
    }

    /// A value that must be there.
    pub fn required(&self, path: &str, detail: &str) {
        let separator = if detail.is_empty() { "" } else { ": " };
        self.at(path, format!("Required value{separator}{detail}"));
    }

    /// Something else that is wrong with the field at `path`.
    pub fn at(&self, path: &str, reason: impl fmt::Display) {
        self.hinted(path, reason, None);
    }

    /// The same, with advice.
    pub fn hinted(&self, path: &str, reason: impl fmt::Display, hint: Option<String>) {
        self.add(path, None, format!("{path}: {reason}"), hint, false);
    }

    /// Whether nothing is wrong so far.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    /// Whether something is wrong with the field at `path` or below it.
    #[must_use]
    pub fn concern(&self, path: &str) -> bool {
        self.0.borrow().iter().any(|problem| is_below(&problem.path, path))
    }

    /// All of them with their places in the document, in its order.
    #[must_use]
    pub fn located(self, document: Option<&Node>) -> Vec<Problem> {
        let mut problems = self.0.into_inner();
        let unread: Vec<String> =
            problems.iter().filter(|p| p.is_unread).map(|p| p.path.clone()).collect();
        problems.retain(|p| p.is_unread || !unread.iter().any(|path| is_below(&p.path, path)));
        for problem in &mut problems {
            problem.spot = problem.spot.filter(|spot| spot.line > 0);
            if let Some(document) = document {
                problem.locate(document);
            }
        }
        problems.sort_by_key(|problem| problem.spot);
        problems.dedup_by(|a, b| a.message == b.message);
        problems
    }

    fn add(
        &self,
        path: &str,
        spot: Option<Spot>,
        message: String,
        hint: Option<String>,
        is_unread: bool,
    ) {
        let path = path.to_owned();
        self.0.borrow_mut().push(Problem { path, message, spot, hint, is_unread });
    }
}

fn is_below(path: &str, top: &str) -> bool {
    path.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// A hint that names what was probably meant.
#[must_use]
pub fn did_you_mean(name: &str) -> String {
    format!("did you mean `{name}`?")
}

/// The name that was probably meant, if any is near enough.
#[must_use]
pub fn nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = |other: &'a str| {
        let distance = distance(&name.to_lowercase(), &other.to_lowercase());
        (distance <= name.chars().count().max(3) / 3).then_some((distance, other))
    };
    names.into_iter().filter_map(near).min_by_key(|&(distance, _)| distance).map(|(_, name)| name)
}

/// Insertions, deletions, replacements and swaps of neighbours between two names.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_is_near_and_nothing_far_is_meant() {
        const NAMES: [&str; 5] =
            ["NodeName", "NodePorts", "NodeAffinity", "NodeResourcesFit", "weight"];
        #[rustfmt::skip]
        let rows = [
            ("NodeResourceFit",  Some("NodeResourcesFit"), "a letter left out"),
            ("NodeResourcesFitt",Some("NodeResourcesFit"), "a letter too much"),
            ("NodeAffinty",      Some("NodeAffinity"),     "another left out"),
            ("NodeNmae",         Some("NodeName"),         "two letters swapped"),
            ("nodename",         Some("NodeName"),         "the case alone"),
            ("wieght",           Some("weight"),           "swapped"),
            ("GPUTopology",      None,                     "something else"),
            ("",                 None,                     "nothing"),
            ("a",                None,                     "too short to say"),
        ];
        for (name, meant, why) in rows {
            assert_eq!(nearest(name, NAMES), meant, "{why}");
        }
    }

    #[test]
    fn distances() {
        let rows = [("", "", 0), ("", "ab", 2), ("ab", "ba", 1), ("kitten", "sitting", 3)];
        for (a, b, expected) in rows {
            assert_eq!(distance(a, b), expected, "{a} {b}");
            assert_eq!(distance(b, a), expected, "{b} {a}");
        }
    }

    #[test]
    fn carets_stand_below_what_is_wrong() {
        let long = format!("{}bad{}", "a".repeat(200), "z".repeat(200));
        #[rustfmt::skip]
        let rows = [
            ("a: bad # why",  (4, 3),   "a: bad # why".to_owned(),  "   ^^^".to_owned()),
            ("\ta: bad",      (5, 3),   "\ta: bad".to_owned(),      "\t   ^^^".to_owned()),
            ("é: bad  ",      (4, 0),   "é: bad".to_owned(),        "   ^^^".to_owned()),
            ("a: |",          (9, 3),   "a: |".to_owned(),          "    ^".to_owned()),
            (&long,           (201, 3), format!("…{}bad{}…", "a".repeat(40), "z".repeat(77)),
                                        format!("{}^^^", " ".repeat(41))),
        ];
        for (line, (column, width), shown, carets) in rows {
            let excerpt = Excerpt::of(line, Spot { line: 1, column, width });
            assert_eq!((excerpt.line, excerpt.carets), (shown, carets), "{line}");
        }
    }
}
