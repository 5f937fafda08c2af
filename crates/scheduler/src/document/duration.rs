//! Durations as Go writes them: `15s`, `1m30s`, `-2h0m0.5s`.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

/// A span of time as a configuration writes it, which may be negative until it is checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Duration {
    nanoseconds: i64,
}

impl From<std::time::Duration> for Duration {
    fn from(duration: std::time::Duration) -> Self {
        Self { nanoseconds: i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX) }
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self { nanoseconds: 0 };

    /// So many seconds.
    #[must_use]
    pub const fn from_seconds(seconds: i64) -> Self {
        Self { nanoseconds: seconds.saturating_mul(SECOND) }
    }

    /// Reads what Go's `time.ParseDuration` reads, and refuses in its words.
    ///
    /// # Errors
    ///
    /// `time: invalid duration "…"`, or that of its unit.
    pub fn parse(text: &str) -> Result<Self, String> {
        let invalid = || format!("time: invalid duration {text:?}");
        let (is_negative, mut rest) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        if rest == "0" {
            return Ok(Self::ZERO);
        }
        if rest.is_empty() {
            return Err(invalid());
        }
        let mut total: i128 = 0;
        while !rest.is_empty() {
            let number = rest.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(rest.len());
            let (digits, tail) = rest.split_at(number);
            let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
            if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
                return Err(invalid());
            }
            let unit = tail.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(tail.len());
            let (unit, tail) = tail.split_at(unit);
            if unit.is_empty() {
                return Err(format!("time: missing unit in duration {text:?}"));
            }
            let scale = unit_of(unit)
                .ok_or_else(|| format!("time: unknown unit {unit:?} in duration {text:?}"))?;
            total += amount(whole, fraction, scale).ok_or_else(invalid)?;
            if total > i128::from(i64::MAX) + i128::from(is_negative) {
                return Err(invalid());
            }
            rest = tail;
        }
        let total = if is_negative { -total } else { total };
        i64::try_from(total).map(|nanoseconds| Self { nanoseconds }).map_err(|_| invalid())
    }

    /// The same in nanoseconds.
    #[must_use]
    pub const fn as_nanoseconds(self) -> i64 {
        self.nanoseconds
    }

    /// The same as the standard library has it; nothing if it is negative.
    #[must_use]
    pub fn to_std(self) -> Option<std::time::Duration> {
        u64::try_from(self.nanoseconds).ok().map(std::time::Duration::from_nanos)
    }
}

impl fmt::Display for Duration {
    /// As Go's `Duration.String`: seconds as the last unit, smaller ones only below a second.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.nanoseconds.unsigned_abs();
        if total == 0 {
            return f.write_str("0s");
        }
        if self.nanoseconds < 0 {
            f.write_str("-")?;
        }
        match total {
            0..1_000 => write!(f, "{total}ns"),
            1_000..1_000_000 => write!(f, "{}µs", decimal(total, 1_000)),
            1_000_000..1_000_000_000 => write!(f, "{}ms", decimal(total, 1_000_000)),
            _ => {
                let (minutes, rest) =
                    (total / MINUTE.unsigned_abs(), total % MINUTE.unsigned_abs());
                if minutes >= 60 {
                    write!(f, "{}h", minutes / 60)?;
                }
                if minutes > 0 {
                    write!(f, "{}m", minutes % 60)?;
                }
                write!(f, "{}s", decimal(rest, SECOND.unsigned_abs()))
            }
        }
    }
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(NAME, ReadDuration)
    }
}

/// By this name the configuration's own deserializer knows a duration. It parses one itself, so
/// that a bad one does not end the reading, and hands over nanoseconds.
pub(super) const NAME: &str = "roadstead.Duration";

struct ReadDuration;

impl<'de> Visitor<'de> for ReadDuration {
    type Value = Duration;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration such as \"15s\"")
    }

    fn visit_i64<E>(self, nanoseconds: i64) -> Result<Duration, E> {
        Ok(Duration { nanoseconds })
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, from: D) -> Result<Duration, D::Error> {
        let text = String::deserialize(from)?;
        Duration::parse(&text).map_err(D::Error::custom)
    }
}

fn unit_of(unit: &str) -> Option<i64> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => SECOND,
        "m" => MINUTE,
        "h" => 60 * MINUTE,
        _ => return None,
    })
}

/// `whole.fraction` units in nanoseconds; digits below a nanosecond are cut off.
fn amount(whole: &str, fraction: &str, scale: i64) -> Option<i128> {
    let parse = |digits: &str| if digits.is_empty() { Some(0) } else { digits.parse().ok() };
    let whole: i128 = parse(whole)?;
    let fraction = &fraction[..fraction.len().min(18)];
    let tenths = 10_i128.pow(u32::try_from(fraction.len()).ok()?);
    let scale = i128::from(scale);
    Some(whole.checked_mul(scale)? + parse(fraction)? * scale / tenths)
}

/// `total / unit` with as many decimals as it takes.
fn decimal(total: u64, unit: u64) -> String {
    let digits = unit.ilog10() as usize;
    let fraction = format!("{:0digits$}", total % unit);
    match fraction.trim_end_matches('0') {
        "" => (total / unit).to_string(),
        fraction => format!("{}.{fraction}", total / unit),
    }
}

const SECOND: i64 = 1_000_000_000;
const MINUTE: i64 = 60 * SECOND;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_and_print_as_in_go() {
        #[rustfmt::skip]
        let rows = [
            ("15s",            "15s",          15_000_000_000),
            ("600s",           "10m0s",        600_000_000_000),
            ("1h",             "1h0m0s",       3_600_000_000_000),
            ("1.5h",           "1h30m0s",      5_400_000_000_000),
            ("1m30.25s",       "1m30.25s",     90_250_000_000),
            ("-2s",            "-2s",          -2_000_000_000),
            ("+2s",            "2s",           2_000_000_000),
            ("0",              "0s",           0),
            ("0s",             "0s",           0),
            (".5s",            "500ms",        500_000_000),
            ("1.s",            "1s",           1_000_000_000),
            ("1us",            "1µs",          1_000),
            ("1500ns",         "1.5µs",        1_500),
            ("999ns",          "999ns",        999),
            ("0.1234567891s",  "123.456789ms", 123_456_789),
            ("9223372036854775807ns",  "2562047h47m16.854775807s",  i64::MAX),
            ("-9223372036854775808ns", "-2562047h47m16.854775808s", i64::MIN),
        ];
        for (text, printed, nanoseconds) in rows {
            let duration = Duration::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(duration.as_nanoseconds(), nanoseconds, "{text}");
            assert_eq!(duration.to_string(), printed, "{text}");
            assert_eq!(Duration::parse(printed), Ok(duration), "{printed}");
        }
    }

    #[test]
    fn refusals_are_in_gos_words() {
        let rows = [
            ("", r#"time: invalid duration """#),
            ("-", r#"time: invalid duration "-""#),
            ("abc", r#"time: invalid duration "abc""#),
            ("1.2.3s", r#"time: invalid duration "1.2.3s""#),
            (".s", r#"time: invalid duration ".s""#),
            ("15", r#"time: missing unit in duration "15""#),
            ("1d", r#"time: unknown unit "d" in duration "1d""#),
            ("9223372036854775808ns", r#"time: invalid duration "9223372036854775808ns""#),
            (
                "99999999999999999999999999999999999999999h",
                "time: invalid duration \"99999999999999999999999999999999999999999h\"",
            ),
        ];
        for (text, error) in rows {
            assert_eq!(Duration::parse(text), Err(error.to_owned()), "{text}");
        }
    }

    #[test]
    fn only_a_negative_one_is_not_the_standard_librarys() {
        assert_eq!(Duration::from_seconds(2).to_std(), Some(std::time::Duration::from_secs(2)));
        assert_eq!(Duration::parse("-1ns").unwrap().to_std(), None);
    }
}
