//! A version as the tag of an OCI registry, and back. `+` is no letter of a tag, and `_` none of a version.

use super::semver::{SemVer, SemVerError, shorten};

/// What the distribution specification allows a tag.
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
    /// `1.2.3-beta+123` is `1.2.3-beta_123`, as Helm has it. A version begins with a digit and has no other letters
    /// than a tag may have, so only the length can be wrong.
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
