//! Points in time, passed in by whoever has a clock.

use std::fmt;

use jiff::Timestamp as Civil;
use serde::Deserialize;
use serde::Deserializer;
use serde::Serialize;
use serde::Serializer;

/// A second, in milliseconds.
pub const SECOND: i64 = 1_000;
/// A minute, in milliseconds.
pub const MINUTE: i64 = 60 * SECOND;
/// A UTC day, in milliseconds.
pub const DAY: i64 = 24 * 60 * MINUTE;

/// Milliseconds since 1970-01-01T00:00:00Z; written as RFC 3339 in UTC with three decimals.
///
/// ```
/// use toolgate_core::time::Timestamp;
///
/// let at = Timestamp::from_millis(1_767_225_600_123);
/// assert_eq!(at.to_string(), "2026-01-01T00:00:00.123Z");
/// assert_eq!("2026-01-01T00:00:00.123Z".parse(), Ok(at));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The point that many milliseconds after the epoch, kept within the years 1 to 9999.
    #[must_use]
    pub fn from_millis(millis: i64) -> Self {
        Self(millis.clamp(-62_135_596_800_000, 253_402_300_799_999))
    }

    /// Milliseconds since the epoch.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// This point moved by that many milliseconds.
    #[must_use]
    pub fn plus(self, millis: i64) -> Self {
        Self::from_millis(self.0.saturating_add(millis))
    }

    /// Milliseconds from `earlier` to this point; negative if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Number of the UTC day, counted from the epoch.
    #[must_use]
    pub const fn day(self) -> i64 {
        self.0.div_euclid(DAY)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Civil::from_millisecond(self.0) {
            Ok(at) => write!(f, "{at:.3}"),
            Err(_) => f.write_str("0001-01-01T00:00:00.000Z"),
        }
    }
}

/// The text is not a point in time in RFC 3339.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimestampError;

impl fmt::Display for TimestampError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a point in time in RFC 3339")
    }
}

impl std::error::Error for TimestampError {}

impl std::str::FromStr for Timestamp {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Self, TimestampError> {
        text.parse::<Civil>()
            .map(|at| Self::from_millis(at.as_millisecond()))
            .map_err(|_| TimestampError)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
