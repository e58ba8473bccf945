//! Converts versions to tags of an OCI registry and back. A tag cannot contain `+`, and a version
//! cannot contain `_`.

use super::semver::{SemVer, SemVerError, shorten};

/// The longest tag allowed by the OCI distribution specification.
pub const MAX_TAG: usize = 128;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TagError {
    #[error(
        "`{version}` cannot be a tag: it has {length} letters, and a tag has at most {MAX_TAG}; shorten the \
        build metadata"
    )]
    TooLong { version: String, length: usize },
    #[error("`{tag}` is not the tag of a version: a tag has `_` in place of `+`")]
    Plus { tag: String },
    #[error("`{tag}` is not the tag of a version: {error}")]
    NotAVersion { tag: String, error: SemVerError },
}

impl SemVer {
    /// Converts `1.2.3-beta+123` to `1.2.3-beta_123`, as Helm does. A version starts with a digit
    /// and otherwise only has characters that are valid in a tag, so only the length can be
    /// invalid.
    pub fn to_tag(&self) -> Result<String, TagError> {
        let length = self.as_str().len();
        if length > MAX_TAG {
            return Err(TagError::TooLong { version: shorten(self.as_str()), length });
        }
        Ok(self.as_str().replace('+', "_"))
    }

    pub fn from_tag(tag: &str) -> Result<Self, TagError> {
        if tag.contains('+') {
            return Err(TagError::Plus { tag: shorten(tag) });
        }
        let version = tag.replacen('_', "+", 1);
        version.parse().map_err(|error| TagError::NotAVersion { tag: shorten(tag), error })
    }
}
