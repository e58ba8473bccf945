//! Sources from bytes inside a document instead of a file on disk: a zip, or one file.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use super::{Source, SourceError, SourceOptions};

impl Source {
    /// Reads bytes as if they were a file of this name: a zip is unpacked, anything else is a tree
    /// of one. Scripts and ELF programs become executable, since bytes in a document have no mode.
    pub fn from_bytes(name: &str, bytes: &[u8], options: &SourceOptions) -> Result<Self, SourceError> {
        let scratch = tempfile::tempdir().map_err(SourceError::Scratch)?;
        let place = scratch.path().join(name);
        fs::write(&place, bytes).map_err(SourceError::Scratch)?;
        if bytes.starts_with(b"#!") || bytes.starts_with(b"\x7fELF") {
            fs::set_permissions(&place, Permissions::from_mode(0o755)).map_err(SourceError::Scratch)?;
        }
        Ok(Self { _scratch: Some(scratch), ..Self::open(&place, options, None)? })
    }
}
