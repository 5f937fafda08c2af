//! Quantities: Kubernetes' exact decimal numbers with suffixes.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// An exact amount, such as `100m`, `1.5Gi` or `12e3`.
///
/// Parsing, rounding, comparing and adding give what Go's `resource.Quantity` gives, including
/// where its 64-bit results overflow. What differs:
/// - the resolution is a billionth and the range ±1.7·10²⁹; amounts beyond are clamped, and
///   [`value`](Self::value) and [`milli_value`](Self::milli_value) of a clamped one are clamped too
///   (Go has no limit there and returns the low 64 bits);
/// - a quantity does not remember how it was written: `5.`, `+1` and `1E3` print as `5`, `1`, `1e3`.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    nanos: i128,
    /// Which of Go's two forms it would be in: an `i64` times a power of ten, or a big decimal
    /// (`None`). The forms differ in how they overflow.
    scale: Option<i8>,
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    DecimalSi,
    BinarySi,
    DecimalExponent,
}

impl Quantity {
    /// Nothing.
    pub const ZERO: Self = Self { nanos: 0, scale: Some(0), format: Format::DecimalSi };

    /// Reads a quantity as the API writes it.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        if text.is_empty() {
            return Err(QuantityError::Format);
        }
        let parts = Parts::scan(text)?;
        let suffix = Suffix::parse(parts.suffix).ok_or(QuantityError::Suffix)?;
        Ok(Self::small(&parts, &suffix).unwrap_or_else(|| Self::big(&parts, &suffix)))
    }

    /// A whole number of units.
    #[must_use]
    pub const fn units(value: i64) -> Self {
        Self { nanos: value as i128 * NANO, scale: Some(0), format: Format::DecimalSi }
    }

    /// A whole number of thousandths.
    #[must_use]
    pub const fn millis(value: i64) -> Self {
        Self { nanos: value as i128 * (NANO / 1000), scale: Some(-3), format: Format::DecimalSi }
    }

    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        if other.nanos == 0 {
            return self;
        }
        if self.nanos == 0 {
            return other;
        }
        let nanos = self.nanos.saturating_add(other.nanos);
        let scale = self.scale.zip(other.scale).map(|(a, b)| a.min(b)).filter(|scale| {
            // Go leaves the small form for good when the sum, or an operand at its scale, is too big.
            [nanos, self.nanos, other.nanos]
                .into_iter()
                .all(|n| i64::try_from(unscaled(n, *scale)).is_ok())
        });
        Self { nanos, scale, format: self.format }
    }

    /// In whole units, rounded away from zero. Overflows as Go's `Value()`.
    #[must_use]
    pub fn value(self) -> i64 {
        self.scaled(0)
    }

    /// In thousandths, rounded away from zero. Overflows as Go's `MilliValue()`.
    #[must_use]
    pub fn milli_value(self) -> i64 {
        self.scaled(-3)
    }

    /// Whether it is nothing.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.nanos == 0
    }

    /// Go's `int64Amount` form, where the number has few enough digits for it.
    fn small(parts: &Parts<'_>, suffix: &Suffix) -> Option<Self> {
        let digits = parts.whole.len() + parts.fraction.len();
        let (multiplier, exponent) = match suffix.format {
            Format::BinarySi => {
                // Upstream guesses the digits of 2^n as n·3/10 − 1.
                let room = 15 - parts.whole.len() as i64 - i64::from(suffix.exponent) * 3 / 10 - 1;
                if !parts.fraction.is_empty() || room < 0 {
                    return None;
                }
                (1_i64 << suffix.exponent, 0)
            }
            _ if digits > 18 => return None,
            _ => (1, suffix.exponent),
        };
        let scale = i64::from(exponent) - parts.fraction.len() as i64;
        if scale < -9 {
            return None;
        }
        let number = [parts.whole, parts.fraction].concat().parse::<i64>().ok()?;
        let number = parts.signed(i128::from(number.checked_mul(multiplier)?));
        // Beyond 10^60 nothing but zero fits the range; the exact scale no longer matters.
        let scale = scale.min(60) as i8;
        let nanos = times_power_of_ten(number, u32::from(scale.abs_diff(-9)));
        Some(Self { nanos, scale: Some(scale), format: suffix.format })
    }

    /// Go's `inf.Dec` form.
    fn big(parts: &Parts<'_>, suffix: &Suffix) -> Self {
        let mut format = suffix.format;
        let nanos = match format {
            Format::BinarySi => {
                let nanos = parts.binary_nanos(suffix.exponent as u32).min(MAX_BINARY_NANOS);
                if (1..NANO).contains(&nanos) {
                    format = Format::DecimalSi;
                }
                nanos
            }
            _ => parts.decimal_nanos(i64::from(suffix.exponent)),
        };
        Self { nanos: parts.signed(nanos), scale: None, format }
    }

    fn scaled(self, target: i8) -> i64 {
        if matches!(self.nanos, i128::MAX | i128::MIN) {
            return if self.nanos > 0 { i64::MAX } else { i64::MIN };
        }
        let unit = 10_i128.pow((target + 9) as u32);
        let Some(scale) = self.scale else {
            // Low 64 bits, as Go's `big.Int.Int64`.
            return (self.nanos.div_euclid(unit) + i128::from(self.nanos.rem_euclid(unit) != 0))
                as i64;
        };
        if scale < target {
            let away = i128::from(self.nanos % unit != 0) * self.nanos.signum();
            return (self.nanos / unit + away) as i64;
        }
        let exact = self.nanos / unit;
        match scale - target {
            // Multiplied in one step, which wraps; in any other number of steps overflow gives 0.
            0 | 1 | 2 | 3 | 6 | 9 => exact as i64,
            _ => i64::try_from(exact).unwrap_or(0),
        }
    }
}

/// Why a text is not a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QuantityError {
    /// It is not a number with a suffix.
    Format,
    /// Its suffix is not known.
    Suffix,
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Format => {
                "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
            }
            Self::Suffix => "unable to parse quantity's suffix",
        })
    }
}

impl std::error::Error for QuantityError {}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Quantity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.nanos.hash(state);
    }
}

/// The canonical form: no fraction, the largest suffix that loses nothing.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nanos == 0 {
            return f.write_str("0");
        }
        let is_binary = self.format == Format::BinarySi
            && self.nanos.unsigned_abs() >= 1024 * NANO as u128
            && self.nanos % NANO == 0;
        if is_binary {
            let (mut number, mut suffix) = (self.nanos / NANO, 0);
            while number % 1024 == 0 && suffix + 1 < BINARY_SUFFIXES.len() {
                (number, suffix) = (number / 1024, suffix + 1);
            }
            return write!(f, "{number}{}", BINARY_SUFFIXES[suffix]);
        }
        let (mut number, mut exponent) = (self.nanos, -9);
        let last = if self.format == Format::DecimalExponent { i32::MAX } else { 18 };
        while number % 1000 == 0 && exponent < last {
            (number, exponent) = (number / 1000, exponent + 3);
        }
        match (self.format, exponent) {
            (Format::DecimalExponent, 0) => write!(f, "{number}"),
            (Format::DecimalExponent, _) => write!(f, "{number}e{exponent}"),
            _ => write!(f, "{number}{}", DECIMAL_SUFFIXES[(exponent + 9) as usize / 3]),
        }
    }
}

/// A quantity's text, taken apart.
struct Parts<'a> {
    is_negative: bool,
    /// Digits before the point, without leading zeros, at least one.
    whole: &'a str,
    /// Digits after the point.
    fraction: &'a str,
    suffix: &'a str,
}

impl<'a> Parts<'a> {
    /// As lenient as upstream: a missing number is zero, so `m` and `Ki` are quantities.
    fn scan(text: &'a str) -> Result<Self, QuantityError> {
        let (is_negative, rest) = match text.as_bytes()[0] {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let (whole, rest) = split_digits(rest.trim_start_matches('0'));
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => split_digits(rest),
            None => ("", rest),
        };
        let exponent =
            suffix.trim_start_matches(['e', 'E', 'i', 'n', 'u', 'm', 'k', 'K', 'M', 'G', 'T', 'P']);
        let (_, beyond) = split_digits(exponent.strip_prefix(['-', '+']).unwrap_or(exponent));
        if !beyond.is_empty() {
            return Err(QuantityError::Format);
        }
        let whole = if whole.is_empty() { "0" } else { whole };
        Ok(Self { is_negative, whole, fraction, suffix })
    }

    fn signed(&self, amount: i128) -> i128 {
        if self.is_negative { -amount } else { amount }
    }

    /// |number| · 10^exponent in nanos, rounded up.
    fn decimal_nanos(&self, exponent: i64) -> i128 {
        let digits = [self.whole, self.fraction].concat();
        let shift = exponent + 9 - self.fraction.len() as i64;
        if shift >= 0 {
            let shift = u32::try_from(shift).unwrap_or(u32::MAX);
            return times_power_of_ten(number(&digits), shift);
        }
        let kept = digits.len().saturating_sub(usize::try_from(-shift).unwrap_or(usize::MAX));
        let (kept, dropped) = digits.split_at(kept);
        let round_up = dropped.bytes().any(|digit| digit != b'0');
        number(kept).saturating_add(i128::from(round_up))
    }

    /// |number| · 2^exponent in nanos, rounded up.
    fn binary_nanos(&self, exponent: u32) -> i128 {
        let unit = NANO << exponent;
        // From the last digit to the first; a floor of floors is the floor of the whole.
        let (mut part, mut is_exact) = (0_i128, true);
        for digit in self.fraction.bytes().rev() {
            part += i128::from(digit - b'0') * unit;
            is_exact &= part % 10 == 0;
            part /= 10;
        }
        number(self.whole).saturating_mul(unit).saturating_add(part + i128::from(!is_exact))
    }
}

struct Suffix {
    /// Of ten, or of two in the binary format.
    exponent: i32,
    format: Format,
}

impl Suffix {
    fn parse(suffix: &str) -> Option<Self> {
        if let Some(index) = DECIMAL_SUFFIXES.iter().position(|s| *s == suffix) {
            return Some(Self { exponent: index as i32 * 3 - 9, format: Format::DecimalSi });
        }
        if let Some(index) = BINARY_SUFFIXES.iter().position(|s| *s == suffix) {
            return Some(Self { exponent: index as i32 * 10, format: Format::BinarySi });
        }
        let exponent: i64 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
        // Upstream cuts the exponent to 32 bits.
        Some(Self { exponent: exponent as i32, format: Format::DecimalExponent })
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().position(|c| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// Digits as a number; none are zero, too many the largest one.
fn number(digits: &str) -> i128 {
    digits
        .bytes()
        .fold(0_i128, |sum, digit| sum.saturating_mul(10).saturating_add(i128::from(digit - b'0')))
}

fn times_power_of_ten(number: i128, exponent: u32) -> i128 {
    if number == 0 {
        return 0;
    }
    let overflow = if number > 0 { i128::MAX } else { i128::MIN };
    10_i128.checked_pow(exponent).and_then(|power| number.checked_mul(power)).unwrap_or(overflow)
}

/// `nanos` counted in units of 10^scale, which divide it.
fn unscaled(nanos: i128, scale: i8) -> i128 {
    10_i128.checked_pow(u32::from(scale.abs_diff(-9))).map_or(0, |power| nanos / power)
}

const NANO: i128 = 1_000_000_000;
const MAX_BINARY_NANOS: i128 = i64::MAX as i128 * NANO;
const DECIMAL_SUFFIXES: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const BINARY_SUFFIXES: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

#[cfg(test)]
mod tests {
    use super::*;

    /// Upstream's answers; see `conformance/` for how they were made.
    const TABLE: &str = include_str!("../tests/data/quantities.txt");

    #[test]
    fn every_row_of_upstreams_table() {
        let mut rows = 0;
        for line in TABLE.lines() {
            let (input, expected) = line.split_once(" -> ").expect("a row");
            let input = input.trim_start();
            // The column is padded with blanks: the row ` 1` cannot be told from `1` but by its answer.
            let input = if (input, expected) == ("1", "ERR") { " 1" } else { input };
            rows += 1;
            let parsed = Quantity::parse(input);
            if expected == "ERR" {
                assert!(parsed.is_err(), "{input:?} is {parsed:?}");
                continue;
            }
            let quantity = parsed.unwrap_or_else(|e| panic!("{input:?}: {e}"));
            let (printed, numbers) = expected.split_once(" value=").unwrap();
            let (value, milli) = numbers.split_once(" milli=").unwrap();
            assert_eq!(quantity.value().to_string(), value, "value of {input:?}");
            assert_eq!(quantity.milli_value().to_string(), milli, "milli value of {input:?}");
            // Upstream prints these as they were written; everything else in canonical form.
            let printed = match printed {
                "5." => "5",
                "+1" => "1",
                "1E3" => "1e3",
                other => other,
            };
            assert_eq!(quantity.to_string(), printed, "{input:?} printed");
        }
        assert_eq!(rows, 39);
    }

    #[test]
    fn what_the_table_leaves_out() {
        let rows = [
            // text, value, milli value, printed
            ("0", 0, 0, "0"),
            ("-0.5", -1, -500, "-500m"),
            ("1T", 1_000_000_000_000, 1_000_000_000_000_000, "1T"),
            ("1023Ki", 1_047_552, 1_047_552_000, "1023Ki"),
            ("1000Ki", 1_024_000, 1_024_000_000, "1000Ki"),
            ("1024Ki", 1_048_576, 1_048_576_000, "1Mi"),
            ("0.5Ki", 512, 512_000, "512"),
            ("0.0001Ki", 1, 103, "102400u"),
            ("100000000000000000000m", 100_000_000_000_000_000, 7_766_279_631_452_241_920, "100P"),
            ("0.5m", 1, 1, "500u"),
            ("1e-20", 1, 1, "1e-9"),
            ("2e0", 2, 2000, "2"),
            ("1e1000", i64::MAX, i64::MAX, ""),
            ("0e1000", 0, 0, "0"),
        ];
        for (text, value, milli, printed) in rows {
            let quantity = Quantity::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(quantity.value(), value, "value of {text}");
            assert_eq!(quantity.milli_value(), milli, "milli value of {text}");
            if !printed.is_empty() {
                assert_eq!(quantity.to_string(), printed, "{text} printed");
                assert_eq!(Quantity::parse(printed), Ok(quantity), "{printed} read again");
            }
        }
    }

    #[test]
    fn sums_are_exact_and_rounded_once() {
        let half = Quantity::parse("0.5m").unwrap();
        assert_eq!(half.plus(half).milli_value(), 1);
        assert_eq!(
            Quantity::parse("1.5Gi").unwrap().plus(Quantity::parse("512Mi").unwrap()).to_string(),
            "2Gi"
        );
        assert_eq!(Quantity::units(1).plus(Quantity::millis(500)).milli_value(), 1500);
        assert_eq!(Quantity::ZERO.plus(half), half);
    }

    #[test]
    fn amounts_compare_however_they_are_written() {
        let parse = |text| Quantity::parse(text).unwrap();
        assert_eq!(parse("1"), parse("1000m"));
        assert_eq!(parse("1Gi"), parse("1073741824"));
        assert!(parse("1G") < parse("1Gi"));
        assert!(parse("-1") < parse("0"));
    }

    #[test]
    fn odd_texts_do_not_panic() {
        for text in [
            "+",
            "-",
            ".",
            "-.",
            "e",
            "E+",
            "1e",
            "1e+",
            "1e99999999999999999999",
            "--",
            "1.2.3",
            "é",
            "1é",
            "9".repeat(400).as_str(),
            "0.0000000000000000000000000000000000000000000000009Ei",
            "1e2147483647",
            "1e-2147483648",
            "9999999999999999999",
            "-1e1000",
        ] {
            if let Ok(quantity) = Quantity::parse(text) {
                let _ = (
                    quantity.value(),
                    quantity.milli_value(),
                    quantity.to_string(),
                    quantity.plus(quantity),
                );
            }
        }
        assert_eq!(Quantity::parse("1é"), Err(QuantityError::Format));
        assert_eq!(Quantity::parse("1K"), Err(QuantityError::Suffix));
    }
}
