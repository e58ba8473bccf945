use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::clock::{Timestamp, from_millis};

const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];
/// A year. Longer spans are mistakes, and sums of any of them fit.
const LONGEST: u64 = 366 * 86_400_000;

/// A length of time, written `5m`, `1h30m` or `20ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(try_from = "String", into = "String")]
#[schema(value_type = String)]
pub struct Span(u64);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a length of time: write it like `5m`, `1h30m` or `20ms`")]
pub struct SpanError(String);

impl Span {
    pub const fn from_millis(millis: u64) -> Self {
        Self(if millis > LONGEST { LONGEST } else { millis })
    }

    pub fn as_millis(self) -> u64 {
        self.0
    }

    pub fn as_micros(self) -> f64 {
        self.0 as f64 * 1000.0
    }

    /// The time when it is over.
    pub fn after(self, start: Timestamp) -> Timestamp {
        from_millis(start.as_millisecond().saturating_add(self.0 as i64))
    }
}

impl FromStr for Span {
    type Err = SpanError;

    fn from_str(text: &str) -> Result<Self, SpanError> {
        let wrong = || SpanError(text.chars().take(40).collect());
        let mut rest = text.trim();
        let (mut sum, mut longest) = (0_u64, u64::MAX);
        while !rest.is_empty() {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let letters = rest[digits..].bytes().take_while(u8::is_ascii_lowercase).count();
            let count: u64 = rest[..digits].parse().map_err(|_| wrong())?;
            let (_, unit) =
                UNITS.into_iter().find(|(name, _)| *name == &rest[digits..digits + letters]).ok_or_else(wrong)?;
            // `5m1h` and `5m5m` are typing errors.
            if unit >= longest {
                return Err(wrong());
            }
            longest = unit;
            sum = count.checked_mul(unit).and_then(|span| sum.checked_add(span)).ok_or_else(wrong)?;
            rest = &rest[digits + letters..];
        }
        if longest == u64::MAX || sum > LONGEST { Err(wrong()) } else { Ok(Self(sum)) }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0s");
        }
        let mut rest = self.0;
        for (name, unit) in UNITS {
            if rest >= unit {
                write!(f, "{}{name}", rest / unit)?;
                rest %= unit;
            }
        }
        Ok(())
    }
}

impl TryFrom<String> for Span {
    type Error = SpanError;

    fn try_from(text: String) -> Result<Self, SpanError> {
        text.parse()
    }
}

impl From<Span> for String {
    fn from(span: Span) -> Self {
        span.to_string()
    }
}
