//! Keeps the PostgreSQL that the tests share running for a whole run.

use std::fs::{self, File};

use anyhow::{Context, Result};

use crate::shell;

/// The first test that needs the server starts it, and it is stopped some seconds after this lease
/// is released (see `crates/testkit/src/postgres/shared.rs`). The lease ends with this process,
/// however that ends.
pub fn hold() -> Result<File> {
    let folder = shell::target_dir()?.join("testkit/postgres");
    fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    let path = folder.join("lease");
    let lease = File::options().create(true).append(true).open(&path);
    let lease = lease.with_context(|| format!("could not open {}", path.display()))?;
    lease.lock_shared().with_context(|| format!("could not lock {}", path.display()))?;
    Ok(lease)
}
