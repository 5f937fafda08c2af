//! Numbers and texts as people read them.

use std::cmp::Ordering;
use std::fmt::Write as _;

/// A text in which nothing is markup. Good for elements and for quoted attributes.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() && c != '\n' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// A whole number, its thousands apart: `12,345`.
pub(super) fn count(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// So many of something.
pub(super) fn plural(number: usize, name: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {name}{ending}", count(number))
}

/// A number with as many decimals as it takes to tell it from its neighbours.
pub(super) fn number(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 100.0 || v.fract() == 0.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    let rounded = format!("{value:.decimals$}");
    let (whole, fraction) = rounded.split_once('.').unwrap_or((&rounded, ""));
    let fraction = fraction.trim_end_matches('0');
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), count);
    if fraction.is_empty() { whole } else { format!("{whole}.{fraction}") }
}

/// A part of the whole: `43%`.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 1.0 {
        "<1%".replace('<', "&lt;")
    } else {
        format!("{percent:.0}%")
    }
}

/// A length of time in its two largest units: `2 h 5 min`.
pub(super) fn span(seconds: f64) -> String {
    if seconds == 0.0 {
        return "0 s".to_owned();
    }
    if seconds < 1.0 {
        return format!("{} ms", number((seconds * 1000.0).round()));
    }
    if seconds < 10.0 {
        return format!("{} s", number(seconds));
    }
    let mut rest = seconds.round() as u64;
    let mut out = String::new();
    let mut parts = 0;
    for (length, unit) in [(86_400, "d"), (3600, "h"), (60, "min"), (1, "s")] {
        let whole = rest / length;
        rest %= length;
        // Seconds beside days say nothing.
        if whole > 0 && parts < 2 {
            let _ = write!(out, "{}{whole} {unit}", if parts > 0 { " " } else { "" });
        }
        parts += usize::from(whole > 0 || parts > 0);
    }
    out
}

/// The order of names in which `node-2` is before `node-10`.
pub(super) fn natural(a: &str, b: &str) -> Ordering {
    let parts = |text| Parts(text).map(|part: &str| (part.parse::<u64>().ok(), part));
    parts(a).cmp(parts(b)).then_with(|| a.cmp(b))
}

/// The runs of digits and of other characters in a text.
struct Parts<'a>(&'a str);

impl<'a> Iterator for Parts<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let is_number = self.0.chars().next()?.is_ascii_digit();
        let end = self.0.find(|c: char| c.is_ascii_digit() != is_number).unwrap_or(self.0.len());
        let (part, rest) = self.0.split_at(end);
        self.0 = rest;
        Some(part)
    }
}

/// An amount of a resource: bytes in the unit that suits them, everything else as it is.
pub(super) fn amount(resource: &str, value: f64) -> String {
    if resource != "memory" && !resource.contains("storage") && !resource.starts_with("hugepages-")
    {
        return number(value);
    }
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = value;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", number(value), units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_people_read_them() {
        #[rustfmt::skip]
        let rows = [
            (count(0), "0"), (count(999), "999"), (count(1_234_567), "1,234,567"),
            (plural(1, "pod"), "1 pod"), (plural(0, "pod"), "0 pods"),
            (number(0.0), "0"), (number(0.126), "0.13"), (number(12.34), "12.3"), (number(1999.6), "2,000"),
            (percent(0.0), "0%"), (percent(0.004), "&lt;1%"), (percent(0.426), "43%"), (percent(1.0), "100%"),
            (span(0.0), "0 s"), (span(0.0123), "12 ms"), (span(1.5), "1.5 s"), (span(59.6), "1 min"),
            (span(61.0), "1 min 1 s"), (span(3600.0), "1 h"), (span(3601.0), "1 h"),
            (span(90_061.0), "1 d 1 h"),
            (amount("cpu", 2.5), "2.5"), (amount("memory", 1.5 * 1024.0 * 1024.0 * 1024.0), "1.5 GiB"),
            (amount("example.com/gpu", 4.0), "4"),
        ];
        for (found, expected) in rows {
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn numbers_in_names_count_as_numbers() {
        let mut names = ["n-10", "n-2", "n-02", "m", "n-2-b", "n-", "n-99999999999999999999"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["m", "n-", "n-99999999999999999999", "n-02", "n-2", "n-2-b", "n-10"]);
    }

    #[test]
    fn nothing_from_outside_is_markup() {
        assert_eq!(escape("<b a='x'>&\"\u{0}"), "&lt;b a=&#39;x&#39;&gt;&amp;&quot;\u{fffd}");
    }
}
