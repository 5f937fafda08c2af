//! Tables as comma-separated values: quoted fields, any order of columns, and the place of whatever
//! is wrong.

use std::collections::BTreeMap;

use super::Problem;

/// A table whose first row names the columns.
pub(super) struct Table<'a> {
    file: &'a str,
    columns: BTreeMap<String, usize>,
    pub(super) rows: Vec<Row>,
}

/// A row and the line on which it begins, from 1.
pub(super) struct Row {
    pub(super) line: usize,
    fields: Vec<String>,
}

impl<'a> Table<'a> {
    /// Reads a text. Columns of `required` must be there; others may be.
    pub(super) fn read(
        file: &'a str,
        text: &str,
        required: &[&str],
        problems: &mut Vec<Problem>,
    ) -> Self {
        let text = text.trim_start_matches('\u{feff}');
        let mut rows = split(file, text, problems).into_iter();
        let header = rows.next().unwrap_or(Row { line: 1, fields: Vec::new() });
        let mut columns = BTreeMap::new();
        for (i, name) in header.fields.iter().enumerate() {
            let name = name.trim();
            if columns.insert(name.to_owned(), i).is_some() {
                let reason = "this column is there twice".to_owned();
                problems.push(Problem::new(file, header.line, name, reason));
            }
        }
        for name in required.iter().filter(|name| !columns.contains_key(**name)) {
            let reason = format!("no such column; expected the columns {}", required.join(", "));
            problems.push(Problem::new(file, header.line, name, reason));
        }
        let width = header.fields.len();
        let mut kept = Vec::new();
        for row in rows {
            if row.fields.len() == width {
                kept.push(row);
            } else {
                let reason = format!("{} fields, expected {width}", row.fields.len());
                problems.push(Problem::new(file, row.line, "", reason));
            }
        }
        Self { file, columns, rows: kept }
    }

    /// A field; empty where there is no such column.
    pub(super) fn text<'r>(&self, row: &'r Row, column: &str) -> &'r str {
        self.columns.get(column).map_or("", |i| row.fields[*i].trim())
    }

    /// A name, which must be there.
    pub(super) fn name<'r>(
        &self,
        row: &'r Row,
        column: &str,
        problems: &mut Vec<Problem>,
    ) -> &'r str {
        let name = self.text(row, column);
        if name.is_empty() && self.columns.contains_key(column) {
            let reason = "empty, expected a name".to_owned();
            problems.push(Problem::new(self.file, row.line, column, reason));
        }
        name
    }

    /// A whole number that is not negative, or nothing for an empty field. A fraction of zero, as
    /// tools print that know only one kind of number, is fine.
    pub(super) fn number(
        &self,
        row: &Row,
        column: &str,
        problems: &mut Vec<Problem>,
    ) -> Option<u64> {
        let text = self.text(row, column);
        if text.is_empty() {
            return None;
        }
        let whole = text.split_once('.').filter(|(_, zeros)| zeros.bytes().all(|c| c == b'0'));
        let parsed = whole.map_or(text, |(whole, _)| whole).parse::<u64>().ok();
        // Beyond this, milliseconds and thousandths of it would not fit.
        let number = parsed.filter(|number| *number <= LARGEST);
        if number.is_none() {
            let reason = format!("`{text}` is not a whole number from 0 to {LARGEST}");
            problems.push(Problem::new(self.file, row.line, column, reason));
        }
        number
    }

    /// A whole number that must be there.
    pub(super) fn required(&self, row: &Row, column: &str, problems: &mut Vec<Problem>) -> u64 {
        if self.text(row, column).is_empty() && self.columns.contains_key(column) {
            let reason = "empty, expected a whole number".to_owned();
            problems.push(Problem::new(self.file, row.line, column, reason));
        }
        self.number(row, column, problems).unwrap_or(0)
    }
}

/// Cuts a text into rows. A field in quotes may hold commas, ends of lines, and quotes twice.
fn split(file: &str, text: &str, problems: &mut Vec<Problem>) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut row = Row { line: 1, fields: Vec::new() };
    let (mut field, mut line, mut quoted_since) = (String::new(), 1, None);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\n' {
            line += 1;
        }
        match (c, quoted_since) {
            ('"', Some(_)) if chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            ('"', Some(_)) => quoted_since = None,
            (c, Some(_)) => field.push(c),
            ('"', None) if field.trim().is_empty() => {
                field.clear();
                quoted_since = Some(line);
            }
            (',', None) => row.fields.push(std::mem::take(&mut field)),
            ('\r', None) if chars.peek() == Some(&'\n') => {}
            ('\n', None) => {
                row.fields.push(std::mem::take(&mut field));
                let done = std::mem::replace(&mut row, Row { line, fields: Vec::new() });
                rows.push(done);
            }
            (c, None) => field.push(c),
        }
    }
    if let Some(line) = quoted_since {
        let reason = "a quote opens here and never closes".to_owned();
        problems.push(Problem::new(file, line, "", reason));
    }
    if !(field.is_empty() && row.fields.is_empty()) {
        row.fields.push(field);
        rows.push(row);
    }
    // An empty line is no row.
    rows.retain(|row| !matches!(&row.fields[..], [only] if only.trim().is_empty()));
    rows
}

const LARGEST: u64 = 1_000_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_cut_as_they_should_be() {
        #[rustfmt::skip]
        let rows: [(&str, &[&[&str]], &str); 8] = [
            ("a,b\n1,2\n",             &[&["a", "b"], &["1", "2"]],      "plain"),
            ("a,b\r\n1,2",             &[&["a", "b"], &["1", "2"]],      "CRLF, and no end"),
            ("\"a,b\",\"c\"\"d\"\n",   &[&["a,b", "c\"d"]],              "quotes"),
            ("\"a\nb\",c\n",           &[&["a\nb", "c"]],                "an end of line in quotes"),
            ("a,,\n",                  &[&["a", "", ""]],                "empty fields"),
            ("\n\na\n\n",              &[&["a"]],                        "empty lines"),
            ("",                       &[],                              "nothing"),
            ("a\"b,c\n",               &[&["a\"b", "c"]],                "a quote within"),
        ];
        for (text, expected, name) in rows {
            let mut problems = Vec::new();
            let found = split("t.csv", text, &mut problems);
            let found: Vec<Vec<&str>> =
                found.iter().map(|row| row.fields.iter().map(|f| &**f).collect()).collect();
            assert_eq!(found, expected, "{name}");
            assert!(problems.is_empty(), "{name}");
        }
    }

    #[test]
    fn a_row_knows_its_line() {
        let rows = split("t.csv", "a\n\n\"b\nc\"\nd\n", &mut Vec::new());
        assert_eq!(rows.iter().map(|row| row.line).collect::<Vec<_>>(), [1, 3, 5]);
    }
}
