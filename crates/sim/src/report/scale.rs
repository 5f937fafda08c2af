//! Axes: where ticks stand, and what they say.

use super::words::{number, percent, span};

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Count,
    Seconds,
    Share,
}

impl Unit {
    /// A value in words.
    pub(super) fn say(self, value: f64) -> String {
        match self {
            Self::Count => number(value),
            Self::Seconds if value == 0.0 => "0".to_owned(),
            Self::Seconds => span(value),
            Self::Share => percent(value),
        }
    }
}

/// Ticks from 0 to a round number that is not below `highest`.
pub(super) fn upward(highest: f64, unit: Unit) -> Vec<f64> {
    let step = match unit {
        Unit::Share if highest <= 1.0 => 0.25,
        Unit::Seconds if highest >= 60.0 => time_step(highest, 4.0),
        _ => decimal_step(highest, 4.0),
    };
    // Half a pod is none.
    let step = if unit == Unit::Count && highest >= 2.0 { step.max(1.0) } else { step };
    let top = if unit == Unit::Share && highest <= 1.0 { 1.0 } else { highest };
    let steps = (top / step).ceil().max(1.0) as u32;
    (0..=steps).map(|i| f64::from(i) * step).collect()
}

/// Ticks of a time axis that ends at `end`.
pub(super) fn along(end: f64) -> Vec<f64> {
    let step = if end < 10.0 { decimal_step(end, 5.0) } else { time_step(end, 5.0) };
    let steps = (end / step).floor() as u32;
    (0..=steps).map(|i| f64::from(i) * step).collect()
}

/// 1, 2 or 5 times a power of ten, so that there are about so many.
fn decimal_step(highest: f64, wanted: f64) -> f64 {
    let rough = if highest > 0.0 { highest / wanted } else { 0.25 };
    let power = 10_f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|m| m * power)
        .find(|step| *step >= rough)
        .unwrap_or(rough)
}

/// A length of time that people count in.
fn time_step(highest: f64, wanted: f64) -> f64 {
    const MINUTE: f64 = 60.0;
    const HOUR: f64 = 60.0 * MINUTE;
    const DAY: f64 = 24.0 * HOUR;
    let rough = highest / wanted;
    let steps = [1.0, 2.0, 5.0, 10.0, 15.0, 30.0]
        .into_iter()
        .chain([1.0, 2.0, 5.0, 10.0, 15.0, 30.0].map(|m| m * MINUTE))
        .chain([1.0, 2.0, 3.0, 6.0, 12.0].map(|h| h * HOUR));
    let days = rough / DAY;
    steps.into_iter().find(|step| *step >= rough).unwrap_or_else(|| decimal_step(days, 1.0) * DAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_reach_the_top() {
        #[rustfmt::skip]
        let rows: [(f64, Unit, &[f64]); 7] = [
            (0.0,    Unit::Count,   &[0.0, 0.5]),
            (3.0,    Unit::Count,   &[0.0, 1.0, 2.0, 3.0]),
            (37.0,   Unit::Count,   &[0.0, 10.0, 20.0, 30.0, 40.0]),
            (0.3,    Unit::Share,   &[0.0, 0.25, 0.5, 0.75, 1.0]),
            (1.6,    Unit::Share,   &[0.0, 0.5, 1.0, 1.5, 2.0]),
            (200.0,  Unit::Seconds, &[0.0, 60.0, 120.0, 180.0, 240.0]),
            (8000.0, Unit::Seconds, &[0.0, 3600.0, 7200.0, 10800.0]),
        ];
        for (highest, unit, expected) in rows {
            assert_eq!(upward(highest, unit), expected, "{highest} {unit:?}");
        }
    }

    #[test]
    fn a_time_axis_counts_as_people_do() {
        #[rustfmt::skip]
        let rows: [(f64, &[f64]); 4] = [
            (4.0,         &[0.0, 1.0, 2.0, 3.0, 4.0]),
            (70.0,        &[0.0, 15.0, 30.0, 45.0, 60.0]),
            (7200.0,      &[0.0, 1800.0, 3600.0, 5400.0, 7200.0]),
            (12_900_000.0, &[0.0, 4_320_000.0, 8_640_000.0]),
        ];
        for (end, expected) in rows {
            assert_eq!(along(end), expected, "{end}");
        }
    }
}
