//! Numbers, times and amounts as people read them.

use std::time::Duration;

/// A whole number, its thousands apart.
pub(crate) fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things.
pub(crate) fn count(things: usize, one: &str) -> String {
    let plural = if things == 1 { "" } else { "s" };
    format!("{} {one}{plural}", number(things as u64))
}

/// A duration in its two largest units; below ten seconds to the millisecond.
pub(crate) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if seconds < 10 && duration.subsec_millis() > 0 {
        let text = format!("{seconds}.{:03}", duration.subsec_millis());
        return format!("{}s", text.trim_end_matches('0'));
    }
    let parts = [
        (seconds / 86_400, "d"),
        (seconds / 3600 % 24, "h"),
        (seconds / 60 % 60, "m"),
        (seconds % 60, "s"),
    ];
    let Some(first) = parts.iter().position(|(amount, _)| *amount > 0) else {
        return "0s".to_owned();
    };
    let shown = parts[first..].iter().take(2).filter(|(amount, _)| *amount > 0);
    shown.map(|(amount, unit)| format!("{amount}{unit}")).collect()
}

pub(super) fn seconds(seconds: roadstead_sim::Seconds) -> String {
    duration(Duration::try_from_secs_f64(seconds.get()).unwrap_or(Duration::MAX))
}

/// So much of a resource, bytes in the unit of `unit_of`.
pub(super) fn amount(resource: &str, value: f64, unit_of: f64) -> (String, &'static str) {
    let is_bytes =
        matches!(resource, "memory" | "ephemeral-storage") || resource.starts_with("hugepages-");
    let mut unit = 0;
    while is_bytes && unit + 1 < UNITS.len() && unit_of >= 1024_f64.powi(unit as i32 + 1) {
        unit += 1;
    }
    let scaled = value / 1024_f64.powi(unit as i32);
    let text = format!("{scaled:.1}");
    (text.strip_suffix(".0").unwrap_or(&text).to_owned(), UNITS[unit])
}

const UNITS: [&str; 6] = ["", " Ki", " Mi", " Gi", " Ti", " Pi"];

/// A bar of `width` characters, of which `share` (0 to 1) is full.
pub(crate) fn bar(share: f64, width: usize) -> String {
    let share = share.clamp(0.0, 1.0);
    let eighths = (share * (width * 8) as f64).round() as usize;
    // A bar that is not quite full does not look full, and one that is not empty not empty.
    let most = if share < 1.0 { width * 8 - 1 } else { width * 8 };
    let eighths = eighths.clamp(usize::from(share > 0.0), most);
    let mut bar = "█".repeat(eighths / 8);
    if eighths % 8 > 0 {
        bar.push(PARTS[eighths % 8 - 1]);
    }
    let missing = width - bar.chars().count();
    bar + &"·".repeat(missing)
}

const PARTS: [char; 7] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/// Cells in columns, as wide as they need to be; the last of a row is not padded.
pub(super) fn columns(rows: &[Vec<String>]) -> Vec<String> {
    let width = |cell: &String| cell.chars().count();
    let most = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..most)
        .map(|column| rows.iter().filter_map(|row| row.get(column)).map(width).max().unwrap_or(0))
        .collect();
    let line = |row: &Vec<String>| {
        let mut line = String::new();
        for (cell, wanted) in row.iter().zip(&widths) {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', wanted - width(cell) + 2));
        }
        line.trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// Words in lines of at most `width` characters, the first and the others after their prefixes.
pub(super) fn wrapped(text: &str, first: &str, rest: &str, width: usize) -> String {
    let mut out = String::new();
    let mut line = first.to_owned();
    let mut is_empty = true;
    for word in text.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > width {
            out.push_str(&line);
            out.push('\n');
            rest.clone_into(&mut line);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    out + &line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_told_in_two_units() {
        let rows = [
            (0, "0s"),
            (5, "0.005s"),
            (1_500, "1.5s"),
            (9_990, "9.99s"),
            (10_990, "10s"),
            (60_000, "1m"),
            (331_000, "5m31s"),
            (3_600_000, "1h"),
            (3_661_000, "1h1m"),
            (90_061_000, "1d1h"),
            (12_901_761_000, "149d7h"),
        ];
        for (millis, expected) in rows {
            assert_eq!(duration(Duration::from_millis(millis)), expected, "{millis} ms");
        }
    }

    #[test]
    fn bars_are_full_only_when_they_are() {
        let rows = [
            (0.0, "····"),
            (0.001, "▏···"),
            (0.5, "██··"),
            (0.53, "██▏·"),
            (0.999, "███▉"),
            (1.0, "████"),
            (1.5, "████"),
        ];
        for (share, expected) in rows {
            assert_eq!(bar(share, 4), expected, "{share}");
        }
    }

    #[test]
    fn amounts_of_bytes_have_units() {
        let rows = [
            ("cpu", 40.5, 64.0, "40.5", ""),
            ("cpu", 2.0, 64.0, "2", ""),
            ("memory", 3.0 * 1024.0 * 1024.0 * 1024.0, 64.0 * 1024_f64.powi(3), "3", " Gi"),
            ("memory", 0.0, 0.0, "0", ""),
            ("hugepages-2Mi", 1024.0, 2048.0, "1", " Ki"),
            ("example.com/gpu", 4096.0, 4096.0, "4096", ""),
        ];
        for (resource, value, of, text, unit) in rows {
            assert_eq!(amount(resource, value, of), (text.to_owned(), unit), "{resource} {value}");
        }
    }

    #[test]
    fn numbers_have_their_thousands_apart() {
        let rows = [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")];
        for (given, expected) in rows {
            assert_eq!(number(given), expected);
        }
    }

    #[test]
    fn words_are_wrapped_where_they_no_longer_fit() {
        assert_eq!(wrapped("aa bb cc", "- ", "  ", 7), "- aa bb\n  cc");
        assert_eq!(wrapped("aaaaaaaaaa b", "- ", "  ", 7), "- aaaaaaaaaa\n  b");
        assert_eq!(wrapped("", "- ", "  ", 7), "- ");
    }
}
