use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Longest name of a cookie or header.
const MAX_NAME: usize = 200;

/// What keeps a caller on its arm.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Sticky {
    /// The gateway's own cookie, and before it the address and the user agent.
    #[default]
    Visitor,
    Cookie(String),
    /// Its name is in lower case.
    Header(String),
    /// Each request is dealt at random.
    None,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` does not name a key of callers: write `visitor`, `cookie:NAME`, `header:NAME` or `none`")]
pub struct StickyError(String);

impl FromStr for Sticky {
    type Err = StickyError;

    fn from_str(text: &str) -> Result<Self, StickyError> {
        // The letters of an HTTP token.
        let token = |name: &str| {
            let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
            !name.is_empty() && name.len() <= MAX_NAME && name.bytes().all(letter)
        };
        match text.split_once(':') {
            Option::None if text == "visitor" => Ok(Self::Visitor),
            Option::None if text == "none" => Ok(Self::None),
            Some(("cookie", name)) if token(name) => Ok(Self::Cookie(name.to_owned())),
            Some(("header", name)) if token(name) => Ok(Self::Header(name.to_ascii_lowercase())),
            _ => Err(StickyError(text.chars().take(80).collect())),
        }
    }
}

impl fmt::Display for Sticky {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Visitor => f.write_str("visitor"),
            Self::Cookie(name) => write!(f, "cookie:{name}"),
            Self::Header(name) => write!(f, "header:{name}"),
            Self::None => f.write_str("none"),
        }
    }
}

impl TryFrom<String> for Sticky {
    type Error = StickyError;

    fn try_from(text: String) -> Result<Self, StickyError> {
        text.parse()
    }
}

impl From<Sticky> for String {
    fn from(sticky: Sticky) -> Self {
        sticky.to_string()
    }
}

impl utoipa::PartialSchema for Sticky {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .pattern(Some("^(visitor|none|cookie:.+|header:.+)$"))
            .into()
    }
}

impl utoipa::ToSchema for Sticky {}
