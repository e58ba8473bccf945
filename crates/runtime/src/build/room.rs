//! The folder of one build. It goes when the last who needs it has let go of it: the build's processes may end a moment
//! after whoever asked for the build has left.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::process::Launcher;
use crate::removal::remove_folder;

/// What the build may write to.
const WORK: &str = "work";
const SOURCE: &str = "src";
const RESULT: &str = "deploy";
const HOME: &str = "home";
const TEMPORARY: &str = "tmp";
const CACHE: &str = "cache";
const NPM_CACHE: &str = "npm_config_cache";
/// What it finds and may not write to.
const TOOLS: &str = "tools";
/// What the server keeps beside it.
const ASIDE: &str = "aside";

/// The folder of one build. Dropping it removes it.
pub struct BuildRoom(Arc<Folder>);

pub(super) struct Folder {
    pub id: u64,
    path: PathBuf,
    launcher: Arc<Launcher>,
}

impl BuildRoom {
    pub(crate) fn make(launcher: &Arc<Launcher>) -> io::Result<Self> {
        let id = launcher.next_id();
        let path = launcher.run_folder().build(id);
        let folder = Folder { id, path, launcher: launcher.clone() };
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

    /// An empty folder for the files of the source.
    pub fn source(&self) -> PathBuf {
        self.0.work().join(SOURCE)
    }

    /// What the command made: a folder or a file. Nobody writes to it after the build, but what is in it was chosen by
    /// the command, links too.
    pub fn result(&self) -> PathBuf {
        self.0.work().join(RESULT)
    }

    /// An empty folder that the build does not see.
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

    /// What package managers downloaded before; there only if the build has been lent one.
    pub fn cache(&self) -> PathBuf {
        self.work().join(CACHE)
    }

    /// What the build is told about its folders, where it sees them. What the server was started with comes first.
    pub fn variables(&self, seen: &Path, given: &[(String, String)]) -> Vec<(String, String)> {
        // On the disk, not in the sandbox's memory: what package managers keep while they work is often large.
        let mut folders = vec![("SRC_PKG", SOURCE), ("DEPLOY_PKG", RESULT), ("HOME", HOME), ("TMPDIR", TEMPORARY)];
        if self.cache().is_dir() {
            // pip and most others keep to the first; npm has a name of its own.
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
            Ok(_) => self.launcher.spawn(async move {
                let _ = tokio::task::spawn_blocking(remove).await;
            }),
            Err(_) => remove(),
        }
    }
}
