use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A share of the callers, in hundredths of a percent: the number of its buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Weight(u16);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a weight: write a percentage from 0 to 100 with at most two decimals")]
pub struct WeightError(String);

impl Weight {
    pub const NONE: Self = Self(0);
    pub const ALL: Self = Self(10_000);

    /// None above 100 %.
    pub fn from_hundredths(hundredths: u16) -> Option<Self> {
        (hundredths <= Self::ALL.0).then_some(Self(hundredths))
    }

    pub fn hundredths(self) -> u16 {
        self.0
    }

    /// From 0 to 1.
    pub fn share(self) -> f64 {
        f64::from(self.0) / f64::from(Self::ALL.0)
    }

    /// What the other arm of two has.
    #[must_use]
    pub fn rest(self) -> Self {
        Self(Self::ALL.0 - self.0)
    }
}

/// `5`, `12.5`, `0.01`: as it is written in a manifest, without the sign.
impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, cents) = (self.0 / 100, self.0 % 100);
        match cents {
            0 => write!(f, "{whole}"),
            cents if cents % 10 == 0 => write!(f, "{whole}.{}", cents / 10),
            cents => write!(f, "{whole}.{cents:02}"),
        }
    }
}

impl FromStr for Weight {
    type Err = WeightError;

    fn from_str(text: &str) -> Result<Self, WeightError> {
        let wrong = || WeightError(text.to_owned());
        let number = text.strip_suffix('%').unwrap_or(text).trim_end();
        let (whole, cents) = number.split_once('.').unwrap_or((number, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(cents) || whole.len() > 3 || cents.len() > 2 {
            return Err(wrong());
        }
        let scale = if cents.len() == 1 { 10 } else { 1 };
        let whole: u16 = whole.parse().map_err(|_| wrong())?;
        let cents: u16 = cents.parse().map_err(|_| wrong())?;
        Self::from_hundredths(whole * 100 + cents * scale).ok_or_else(wrong)
    }
}

/// In JSON and YAML a number of percent, or a text with one.
impl Serialize for Weight {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if self.0.is_multiple_of(100) {
            to.serialize_u16(self.0 / 100)
        } else {
            to.serialize_f64(f64::from(self.0) / 100.0)
        }
    }
}

impl<'de> Deserialize<'de> for Weight {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(f64),
            Text(String),
        }
        // A float is printed in its shortest form, so 0.07 is read as the two decimals it was.
        let text = match Written::deserialize(from)? {
            Written::Number(number) => number.to_string(),
            Written::Text(text) => text,
        };
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl utoipa::PartialSchema for Weight {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::Number)
            .description(Some("percent, with at most two decimals"))
            .minimum(Some(0.0))
            .maximum(Some(100.0))
            .into()
    }
}

impl utoipa::ToSchema for Weight {}
