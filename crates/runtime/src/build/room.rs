//! The directory of one build. It is reference-counted: the build's processes may end a moment
//! after the caller has dropped the build.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::machine::Machine;
use crate::removal::remove_folder;

/// Writable by the build.
const WORK: &str = "work";
const SOURCE: &str = "src";
const RESULT: &str = "deploy";
const HOME: &str = "home";
const TEMPORARY: &str = "tmp";
const CACHE: &str = "cache";
const NPM_CACHE: &str = "npm_config_cache";
/// Visible to the build, read-only.
const TOOLS: &str = "tools";
/// For the server, hidden from the build.
const ASIDE: &str = "aside";

/// The directory of one build. Dropping it removes the directory.
pub struct BuildRoom(Arc<Folder>);

pub(super) struct Folder {
    pub id: u64,
    path: PathBuf,
    machine: Arc<Machine>,
}

impl BuildRoom {
    pub(crate) fn make(machine: &Arc<Machine>) -> io::Result<Self> {
        let id = machine.next_id();
        let path = machine.run_folder().build(id);
        let folder = Folder { id, path, machine: machine.clone() };
        let make = |mode: u32, path: &Path| DirBuilder::new().mode(mode).create(path);
        make(0o700, &folder.path)?;
        for part in [TOOLS, WORK] {
            make(0o755, &folder.path.join(part))?;
        }
        for part in [SOURCE, HOME, TEMPORARY] {
            make(0o755, &folder.work().join(part))?;
        }
        make(0o700, &folder.path.join(ASIDE))?;
        Ok(Self(Arc::new(folder)))
    }

    /// An empty directory for the source files.
    pub fn source(&self) -> PathBuf {
        self.0.work().join(SOURCE)
    }

    /// The command's result: a directory or a file. It does not change after the build, but its
    /// content is untrusted and may include symlinks.
    pub fn result(&self) -> PathBuf {
        self.0.work().join(RESULT)
    }

    /// An empty directory that the build cannot see.
    pub fn aside(&self) -> PathBuf {
        self.0.path.join(ASIDE)
    }

    pub(super) fn folder(&self) -> Arc<Folder> {
        self.0.clone()
    }
}

impl Folder {
    pub fn work(&self) -> PathBuf {
        self.path.join(WORK)
    }

    pub fn tools(&self) -> PathBuf {
        self.path.join(TOOLS)
    }

    /// The package managers' earlier downloads. Exists only if the build was lent a cache.
    pub fn cache(&self) -> PathBuf {
        self.work().join(CACHE)
    }

    /// Environment variables that name the build's directories, as paths inside the sandbox. An npm
    /// cache that is set in `given`, the server's build environment, takes precedence.
    pub fn variables(&self, seen: &Path, given: &[(String, String)]) -> Vec<(String, String)> {
        // On disk rather than in the sandbox's tmpfs: package managers often keep large temporary
        // files.
        let mut folders = vec![("SRC_PKG", SOURCE), ("DEPLOY_PKG", RESULT), ("HOME", HOME), ("TMPDIR", TEMPORARY)];
        if self.cache().is_dir() {
            // pip and most others respect `XDG_CACHE_HOME`. npm has its own variable.
            folders.push(("XDG_CACHE_HOME", CACHE));
            if !given.iter().any(|(name, _)| name.eq_ignore_ascii_case(NPM_CACHE)) {
                folders.push((NPM_CACHE, "cache/npm"));
            }
        }
        let tell = |(name, part): (&str, &str)| (name.to_owned(), seen.join(part).to_string_lossy().into_owned());
        folders.into_iter().map(tell).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let path = std::mem::take(&mut self.path);
        let remove = move || {
            if let Err(error) = remove_folder(&path) {
                tracing::warn!(folder = %path.display(), %error, "the folder of a build could not be removed");
            }
        };
        match tokio::runtime::Handle::try_current() {
            Ok(_) => self.machine.spawn(async move {
                let _ = tokio::task::spawn_blocking(remove).await;
            }),
            Err(_) => remove(),
        }
    }
}
