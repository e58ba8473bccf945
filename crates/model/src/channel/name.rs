//! Names of channels and packages, and the id of an artifact.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Digest, NameError};

use super::semver::{SemVer, shorten};

macro_rules! text_type {
    ($(#[$doc:meta])* $type:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, utoipa::ToSchema)]
        #[serde(transparent)]
        #[schema(value_type = String)]
        pub struct $type(String);

        impl $type {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

text_type!(
    /// `stable`, or any other lowercase word, which is the first pre-release identifier of the
    /// channel's versions.
    ChannelName
);
text_type!(
    /// The name of a published package: `shop` or `crossplane/aws-stack`. The grammar of OCI
    /// repositories, which is also safe in URLs and file paths: no part is empty, `.` or `..`.
    PackageName
);

const CHANNEL_RULE: &str = "use 1 to 40 lowercase letters, digits and single hyphens, starting with a letter, \
    and not `latest`, `all` or `live`";
const PACKAGE_RULE: &str = "use parts of lowercase letters and digits, inside of them also single `.`, `-` and `_`, \
    joined by `/`, like `crossplane/aws-stack`, 255 letters at most";

impl ChannelName {
    pub const STABLE: &str = "stable";

    pub fn stable() -> Self {
        Self(Self::STABLE.to_owned())
    }

    pub fn is_stable(&self) -> bool {
        self.0 == Self::STABLE
    }

    /// Whether a version is allowed in this channel: in `stable`, only versions without a
    /// pre-release; in other channels, only those whose first pre-release identifier is the
    /// channel's name.
    pub fn admits(&self, version: &SemVer) -> bool {
        if self.is_stable() { !version.is_prerelease() } else { version.pre().next() == Some(self.as_str()) }
    }
}

impl FromStr for ChannelName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let fits = text.len() <= 40
            && text.starts_with(|first: char| first.is_ascii_lowercase())
            && text.split('-').all(|word| !word.is_empty() && word.bytes().all(is_lower_or_digit))
            && !crate::name::RESERVED.contains(&text);
        if fits {
            Ok(Self(text.to_owned()))
        } else {
            Err(NameError { what: "channel", name: shorten(text), rule: CHANNEL_RULE })
        }
    }
}

impl FromStr for PackageName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let part_fits = |part: &str| {
            part.split(['.', '-', '_']).all(|word| !word.is_empty() && word.bytes().all(is_lower_or_digit))
        };
        if text.len() <= 255 && text.split('/').all(part_fits) {
            Ok(Self(text.to_owned()))
        } else {
            Err(NameError { what: "package", name: shorten(text), rule: PACKAGE_RULE })
        }
    }
}

fn is_lower_or_digit(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// The id of an artifact in an entry of a channel. Only a full digest can be fetched: for a short
/// one, anyone could make another artifact with the same first digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ArtifactId {
    Digest(Digest),
    /// The seed's form, 7 to 64 hexadecimal digits. It is read and shown, but never fetched.
    Short(String),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the id of an artifact: write `sha256:` and 64 hexadecimal digits")]
pub struct ArtifactIdError(String);

impl ArtifactId {
    /// The digest to fetch the artifact by.
    pub fn digest(&self) -> Option<Digest> {
        match self {
            Self::Digest(digest) => Some(*digest),
            Self::Short(_) => None,
        }
    }

    /// Whether both are full digests and differ. A short id never contradicts another id.
    pub fn contradicts(&self, other: &Self) -> bool {
        matches!((self, other), (Self::Digest(ours), Self::Digest(theirs)) if ours != theirs)
    }
}

impl FromStr for ArtifactId {
    type Err = ArtifactIdError;

    fn from_str(text: &str) -> Result<Self, ArtifactIdError> {
        if let Ok(digest) = text.parse() {
            return Ok(Self::Digest(digest));
        }
        let hex = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if hex && (7..=64).contains(&text.len()) {
            Ok(Self::Short(text.to_owned()))
        } else {
            Err(ArtifactIdError(shorten(text)))
        }
    }
}

impl fmt::Display for ArtifactId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Digest(digest) => digest.fmt(f),
            Self::Short(text) => f.write_str(text),
        }
    }
}

impl From<Digest> for ArtifactId {
    fn from(digest: Digest) -> Self {
        Self::Digest(digest)
    }
}

impl Serialize for ArtifactId {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ArtifactId {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

impl utoipa::PartialSchema for ArtifactId {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        String::schema()
    }
}

impl utoipa::ToSchema for ArtifactId {}
