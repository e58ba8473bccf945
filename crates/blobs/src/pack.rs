//! Names of packs and locations in them.

use std::fmt;
use std::str::FromStr;

use data_encoding::HEXLOWER;
use milepost_model::{IdSource as _, OsIds, Timestamp};
use object_store::path::Path;

/// The directory of packs, below the root of the store.
pub(crate) const PACKS: &str = "packs";

/// A pack's name: 32 random hexadecimal digits, so that no two packs of any node share one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackName([u8; 16]);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the name of a pack")]
pub struct PackNameError(String);

impl PackName {
    /// Always from the operating system, never from an injected source: a deterministic source, as
    /// in tests, would overwrite the packs of an earlier run.
    pub(crate) fn random() -> Self {
        let mut bytes = [0; 16];
        OsIds.fill(&mut bytes);
        Self(bytes)
    }

    /// The compact form of the name, for [`PackName::from_bytes`].
    pub fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Spread over 256 directories, which `folder.rs` creates beforehand.
    pub(crate) fn path(&self) -> Path {
        let name = self.to_string();
        Path::from_iter([PACKS, &name[..2], &name])
    }

    /// Returns `None` for anything that this crate did not write.
    pub(crate) fn from_path(path: &Path) -> Option<Self> {
        let name: Self = path.filename()?.parse().ok()?;
        (name.path() == *path).then_some(name)
    }
}

impl fmt::Display for PackName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXLOWER.encode(&self.0))
    }
}

impl fmt::Debug for PackName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for PackName {
    type Err = PackNameError;

    fn from_str(text: &str) -> Result<Self, PackNameError> {
        let wrong = || PackNameError(text.to_owned());
        let bytes = HEXLOWER.decode(text.as_bytes()).map_err(|_| wrong())?;
        Ok(Self(bytes.try_into().map_err(|_| wrong())?))
    }
}

/// Where the bytes of one blob are. The catalog has one for each digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Location {
    pub pack: PackName,
    /// From the start of the pack to the first byte of the blob, after its header.
    pub offset: u64,
    pub size: u64,
}

/// One pack as listed by the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackInfo {
    pub name: PackName,
    pub size: u64,
    /// By the store's own clock. S3 reports the time at which a large upload *began*, so a pack may
    /// be as old as its upload took before any row can refer to it.
    pub modified: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_only_its_own_paths_as_packs() {
        let name = PackName::random();
        assert_eq!(PackName::from_path(&name.path()), Some(name));
        let text = name.to_string();
        for other in [format!("packs/{text}"), format!("packs/zz/{text}"), "packs/ab/readme.txt".to_owned()] {
            assert_eq!(PackName::from_path(&Path::from(other.as_str())), None, "{other}");
        }
    }

    #[test]
    fn parses_only_valid_names() {
        let name = PackName::random();
        assert_eq!(name.to_string().parse(), Ok(name));
        for bad in ["", "ab", &"A".repeat(32), &"a".repeat(34), "../../../../../../../etc/passwd"] {
            assert!(bad.parse::<PackName>().is_err(), "{bad}");
        }
    }
}
