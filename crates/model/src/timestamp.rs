//! Points in time that objects carry.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// A point in time, in microseconds since the start of 1970 (UTC).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The time that many microseconds after the start of 1970.
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since the start of 1970.
    #[must_use]
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    pub(crate) fn from_api(time: &Time) -> Self {
        Self(time.0.as_microsecond())
    }
}
