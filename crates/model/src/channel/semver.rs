//! Semantic versions, exactly as defined by semver 2.0, with numbers of any length.
//!
//! The text is kept as written, so printing is exact and no number can overflow. Two versions are
//! equal if their texts are equal. There is more than one order ([`SemVer::cmp_precedence`],
//! [`super::cmp_channel`]), so `Ord` is not implemented: `<` would hide which one is used.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SemVer {
    text: Box<str>,
    /// The byte offsets of the minor and patch numbers, and of the ends of the core and the
    /// pre-release.
    minor: usize,
    patch: usize,
    core_end: usize,
    pre_end: usize,
}

/// Why a text is not a semantic version, with a suggestion.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a semantic version: {problem}; {}", self.hint())]
pub struct SemVerError {
    pub text: String,
    pub problem: Problem,
    /// The version that was probably meant. Always valid.
    pub meant: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("it is empty")]
    Empty,
    #[error("there is space around it")]
    Space,
    #[error("it begins with `{0}`, which is not a part of the version")]
    Prefix(char),
    #[error("it has {0} of the three numbers")]
    TooFew(usize),
    #[error("it has more than three numbers")]
    TooMany,
    #[error("a number is missing between the dots")]
    NumberMissing,
    #[error("`{0}` is not a number")]
    NotANumber(String),
    #[error("`{0}` has a zero in front")]
    LeadingZero(String),
    #[error("an identifier of the {0} is empty")]
    EmptyIdentifier(&'static str),
    #[error("`{letter}` is not allowed in the {part}, only letters, digits, `-` and `.`")]
    Letter { letter: char, part: &'static str },
}

impl SemVerError {
    /// The next step.
    pub fn hint(&self) -> String {
        match &self.meant {
            Some(meant) => format!("write `{meant}`"),
            None => "write three numbers, like `1.2.3`, `1.2.3-beta.1` or `1.2.3-beta+123`".to_owned(),
        }
    }
}

const PRE: &str = "pre-release";
const BUILD: &str = "build metadata";

impl SemVer {
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn major(&self) -> &str {
        &self.text[..self.minor - 1]
    }

    pub fn minor(&self) -> &str {
        &self.text[self.minor..self.patch - 1]
    }

    pub fn patch(&self) -> &str {
        &self.text[self.patch..self.core_end]
    }

    /// MAJOR.MINOR.PATCH.
    pub fn core(&self) -> &str {
        &self.text[..self.core_end]
    }

    /// The dot-separated identifiers after `-`; none without a pre-release.
    pub fn pre(&self) -> impl Iterator<Item = &str> + Clone {
        identifiers(&self.text[self.core_end..self.pre_end])
    }

    /// The dot-separated identifiers after `+`.
    pub fn build(&self) -> impl Iterator<Item = &str> + Clone {
        identifiers(&self.text[self.pre_end..])
    }

    pub fn is_prerelease(&self) -> bool {
        self.pre_end > self.core_end
    }

    pub fn has_build(&self) -> bool {
        self.text.len() > self.pre_end
    }

    fn parse(text: &str) -> Result<Self, Problem> {
        if text.is_empty() {
            return Err(Problem::Empty);
        }
        if text.trim().len() != text.len() {
            return Err(Problem::Space);
        }
        if let Some(prefix) = prefix(text) {
            return Err(Problem::Prefix(prefix));
        }
        let (core, pre, build) = split(text);
        check_core(core)?;
        check_identifiers(pre, PRE)?;
        check_identifiers(build, BUILD)?;
        // The core has three numbers, so exactly two dots.
        let minor = core.find('.').map_or(0, |dot| dot + 1);
        let patch = core.rfind('.').map_or(0, |dot| dot + 1);
        let pre_end = core.len() + pre.map_or(0, |pre| pre.len() + 1);
        Ok(Self { text: text.into(), minor, patch, core_end: core.len(), pre_end })
    }
}

fn identifiers(part: &str) -> impl Iterator<Item = &str> + Clone {
    part.get(1..).into_iter().flat_map(|rest| rest.split('.'))
}

/// A character that people put before a version: `v1.2.3`, `=1.2.3`.
fn prefix(text: &str) -> Option<char> {
    let first = text.chars().next()?;
    let number_follows = text[first.len_utf8()..].bytes().next().is_some_and(|next| next.is_ascii_digit());
    (matches!(first, 'v' | 'V' | '=') && number_follows).then_some(first)
}

/// Splits into the three numbers, the part after the first `-` before any `+`, and the part after
/// the first `+`.
fn split(text: &str) -> (&str, Option<&str>, Option<&str>) {
    let (rest, build) = match text.split_once('+') {
        Some((rest, build)) => (rest, Some(build)),
        None => (text, None),
    };
    match rest.split_once('-') {
        Some((core, pre)) => (core, Some(pre), build),
        None => (rest, None, build),
    }
}

fn check_core(core: &str) -> Result<(), Problem> {
    let mut count = 0;
    for number in core.split('.') {
        if number.is_empty() {
            return Err(if core.is_empty() { Problem::TooFew(0) } else { Problem::NumberMissing });
        }
        if !is_number(number) {
            return Err(Problem::NotANumber(shorten(number)));
        }
        if number.len() > 1 && number.starts_with('0') {
            return Err(Problem::LeadingZero(shorten(number)));
        }
        count += 1;
    }
    match count {
        3 => Ok(()),
        0..3 => Err(Problem::TooFew(count)),
        _ => Err(Problem::TooMany),
    }
}

fn check_identifiers(part: Option<&str>, name: &'static str) -> Result<(), Problem> {
    let Some(part) = part else { return Ok(()) };
    for identifier in part.split('.') {
        if identifier.is_empty() {
            return Err(Problem::EmptyIdentifier(name));
        }
        if let Some(letter) = identifier.chars().find(|letter| !letter.is_ascii_alphanumeric() && *letter != '-') {
            return Err(Problem::Letter { letter, part: name });
        }
        // Semver does not treat build identifiers as numbers, so `+001` is legal.
        if name == PRE && identifier.len() > 1 && identifier.starts_with('0') && is_number(identifier) {
            return Err(Problem::LeadingZero(shorten(identifier)));
        }
    }
    Ok(())
}

pub(super) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The version that was probably meant, or `None` rather than a guess that changes the meaning.
fn repair(text: &str) -> Option<String> {
    let text = text.trim();
    let text = if prefix(text).is_some() { &text[1..] } else { text };
    let (core, pre, build) = split(text);
    let mut numbers: Vec<&str> = core.split('.').map(without_zeros).collect();
    if numbers.len() > 3 {
        return None;
    }
    numbers.resize(3, "0");
    let mut repaired = numbers.join(".");
    for (sign, part) in [('-', pre), ('+', build)] {
        let kept: Vec<&str> = part.unwrap_or("").split('.').filter(|identifier| !identifier.is_empty()).collect();
        if !kept.is_empty() {
            repaired.push(sign);
            let tidy = |identifier: &&'_ str| {
                if sign == '-' { without_zeros(identifier).to_owned() } else { (*identifier).to_owned() }
            };
            repaired.push_str(&kept.iter().map(tidy).collect::<Vec<_>>().join("."));
        }
    }
    SemVer::parse(&repaired).is_ok().then_some(repaired)
}

fn without_zeros(number: &str) -> &str {
    match number.trim_start_matches('0') {
        _ if !is_number(number) => number,
        "" => "0",
        trimmed => trimmed,
    }
}

pub(super) fn shorten(text: &str) -> String {
    if text.chars().count() <= 80 { text.to_owned() } else { text.chars().take(77).chain("...".chars()).collect() }
}

impl FromStr for SemVer {
    type Err = SemVerError;

    fn from_str(text: &str) -> Result<Self, SemVerError> {
        Self::parse(text).map_err(|problem| {
            let meant = repair(text).filter(|meant| meant.len() <= 200);
            SemVerError { text: shorten(text), problem, meant }
        })
    }
}

impl fmt::Display for SemVer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl fmt::Debug for SemVer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for SemVer {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for SemVer {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

impl utoipa::PartialSchema for SemVer {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        String::schema()
    }
}

impl utoipa::ToSchema for SemVer {}
