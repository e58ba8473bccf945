//! Names of packs and places in them.

use std::fmt;
use std::str::FromStr;

use data_encoding::HEXLOWER;
use milepost_model::{IdSource as _, OsIds, Timestamp};
use object_store::path::Path;

/// Where packs lie, under the root of the store.
pub(crate) const PACKS: &str = "packs";

/// A pack's name: 32 hexadecimal letters, random, so that no two packs of all nodes ever share one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackName([u8; 16]);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the name of a pack")]
pub struct PackNameError(String);

impl PackName {
    /// Always from the operating system, never from a passed source: a source that repeats, as tests have them, would
    /// overwrite the packs of the run before.
    pub(crate) fn random() -> Self {
        let mut bytes = [0; 16];
        OsIds.fill(&mut bytes);
        Self(bytes)
    }

    /// The name as it can be kept in little room; [`PackName::from_bytes`] reads it back.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Spread over 256 folders, which `folder.rs` makes beforehand.
    pub(crate) fn path(&self) -> Path {
        let name = self.to_string();
        Path::from_iter([PACKS, &name[..2], &name])
    }

    /// `None` for anything that this crate did not put there.
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

/// Where the bytes of one blob are: what the catalog keeps for each digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Location {
    pub pack: PackName,
    /// From the start of the pack to the first byte of the blob, behind its header.
    pub offset: u64,
    pub size: u64,
}

/// One pack as the store lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackInfo {
    pub name: PackName,
    pub size: u64,
    /// By the store's own clock. S3 gives the time at which a large upload *began*, so a pack can be as old as its
    /// upload took before any row can refer to it.
    pub modified: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_that_this_crate_makes_are_packs() {
        let name = PackName::random();
        assert_eq!(PackName::from_path(&name.path()), Some(name));
        let text = name.to_string();
        for other in [format!("packs/{text}"), format!("packs/zz/{text}"), "packs/ab/readme.txt".to_owned()] {
            assert_eq!(PackName::from_path(&Path::from(other.as_str())), None, "{other}");
        }
    }

    #[test]
    fn a_name_parses_only_as_it_is_written() {
        let name = PackName::random();
        assert_eq!(name.to_string().parse(), Ok(name));
        for bad in ["", "ab", &"A".repeat(32), &"a".repeat(34), "../../../../../../../etc/passwd"] {
            assert!(bad.parse::<PackName>().is_err(), "{bad}");
        }
    }
}
