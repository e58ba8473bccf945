//! Selectors: how users name a version.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::name::AliasName;

/// The shortest accepted digest prefix. Tables show a longer one.
const MIN_DIGEST_HEX: usize = 8;

/// `latest`, a number, a uid or label, `@alias`, or `sha256:…`.
///
/// Only the catalog can decide whether a word is a uid or a label. A label is never equal to a uid,
/// so neither has precedence. A word that matches no label is tried with and without a leading `v`,
/// since seed 002 itself creates `v1.0.2` and then asks for `1.0.2`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Selector {
    #[default]
    Latest,
    Number(i64),
    Word(String),
    Alias(AliasName),
    /// The hexadecimal digits after `sha256:`, at least eight.
    Digest(String),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {SELECTOR_HINT}", self.sentence())]
pub struct SelectorError {
    text: String,
}

/// The accepted forms.
pub const SELECTOR_HINT: &str = "use `latest`, a number, a uid, a label, `@alias` or `sha256:…` with at least 8 digits";

impl SelectorError {
    /// What is wrong, without the hint.
    pub fn sentence(&self) -> String {
        format!("`{}` does not name a version", self.text)
    }
}

impl Selector {
    /// The alternative spelling of a word that looks like a version: `1.0.2` for `v1.0.2` and vice
    /// versa.
    pub fn respelled(word: &str) -> Option<String> {
        if let Some(rest) = word.strip_prefix(['v', 'V']) {
            return rest.starts_with(|first: char| first.is_ascii_digit()).then(|| rest.to_owned());
        }
        word.starts_with(|first: char| first.is_ascii_digit()).then(|| format!("v{word}"))
    }
}

impl FromStr for Selector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        let wrong = || SelectorError { text: text.chars().take(80).collect() };
        if text.is_empty() || text == "latest" {
            return if text.is_empty() { Err(wrong()) } else { Ok(Self::Latest) };
        }
        if let Some(alias) = text.strip_prefix('@') {
            if alias == "latest" {
                return Ok(Self::Latest);
            }
            return alias.parse().map(Self::Alias).map_err(|_| wrong());
        }
        if let Some(hex) = text.strip_prefix("sha256:") {
            let fits = (MIN_DIGEST_HEX..=64).contains(&hex.len())
                && hex.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
            return if fits { Ok(Self::Digest(hex.to_owned())) } else { Err(wrong()) };
        }
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            return text.parse().map(Self::Number).map_err(|_| wrong());
        }
        text.parse::<crate::name::Label>().map(|label| Self::Word(label.to_string())).map_err(|_| wrong())
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latest => f.write_str("latest"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Word(word) => f.write_str(word),
            Self::Alias(alias) => write!(f, "@{alias}"),
            Self::Digest(hex) => write!(f, "sha256:{hex}"),
        }
    }
}

impl Serialize for Selector {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Selector {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

impl utoipa::PartialSchema for Selector {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .description(Some("`latest`, a number, a uid, a label, `@alias` or `sha256:…`"))
            .into()
    }
}

impl utoipa::ToSchema for Selector {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_round_trips() {
        for text in ["latest", "12", "owfkrt", "v1.0.1", "@prod", "sha256:00112233"] {
            assert_eq!(text.parse::<Selector>().expect(text).to_string(), text);
        }
        for bad in ["", "@", "sha256:0011", "sha256:zz112233", "a b", "99999999999999999999"] {
            assert!(bad.parse::<Selector>().is_err(), "{bad}");
        }
    }
}
