//! Watches for saved files. It only has to be fast and to group events: the deploy finds out what
//! really changed.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

use milepost_declared::Declared;
use milepost_declared::files::LITTER;
use notify::event::{AccessKind, AccessMode};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc::{self, UnboundedReceiver};

use crate::failure::{Failure, Result};

/// Waits this long for further events: editors write a file in several steps, and save several
/// files at once.
const QUIET: Duration = Duration::from_millis(40);
/// Deploys after this time even if events keep coming.
const LONGEST: Duration = Duration::from_millis(400);

/// Folders of tools, never part of an app.
const NEVER: [&str; 2] = [".git", ".milepost"];

pub struct Watcher {
    watcher: RecommendedWatcher,
    events: UnboundedReceiver<PathBuf>,
    /// The watched paths, and whether each is watched recursively.
    watched: BTreeMap<PathBuf, bool>,
    rules: Rules,
    /// Saved files that were not returned yet.
    pending: Option<Pending>,
}

struct Pending {
    paths: Vec<PathBuf>,
    since: Instant,
    quiet_at: Instant,
}

/// The relevant paths, canonical, as in the system's events.
struct Rules {
    manifest: PathBuf,
    folder: PathBuf,
    sources: Vec<PathBuf>,
}

/// Files that were saved together.
pub struct Saved {
    /// Relative to the folder of the manifest.
    pub paths: Vec<PathBuf>,
    pub manifest: bool,
    /// Time of the first event.
    pub at: Instant,
}

impl Saved {
    /// `hello/hello.py`, or `hello/hello.py and 2 more`
    pub fn names(&self) -> String {
        let first = self.paths.first().map(|path| path.display().to_string()).unwrap_or_default();
        match self.paths.len() {
            0 | 1 => first,
            count => format!("{first} and {} more", count - 1),
        }
    }
}

impl Watcher {
    pub fn new(declared: &Declared) -> Result<Self> {
        let (sender, events) = mpsc::unbounded_channel();
        let tell = move |event: notify::Result<notify::Event>| {
            let Ok(event) = event else { return };
            if is_write(&event.kind) {
                for path in event.paths {
                    // The receiver is dropped only when the command ends.
                    let _ = sender.send(path);
                }
            }
        };
        let watcher = notify::recommended_watcher(tell).map_err(|error| cannot(&error))?;
        let rules = Rules::of(declared)?;
        let mut new = Self { watcher, events, watched: BTreeMap::new(), rules, pending: None };
        new.follow(declared)?;
        Ok(new)
    }

    /// Updates the watches to the files of the current manifest.
    pub fn follow(&mut self, declared: &Declared) -> Result<()> {
        self.rules = Rules::of(declared)?;
        let wanted = self.rules.wanted();
        for path in self.watched.keys().filter(|path| wanted.get(*path) != self.watched.get(*path)) {
            // The path and its watch may be gone already.
            let _ = self.watcher.unwatch(path);
        }
        for (path, below) in &wanted {
            if self.watched.get(path) != Some(below) {
                let mode = if *below { RecursiveMode::Recursive } else { RecursiveMode::NonRecursive };
                self.watcher.watch(path, mode).map_err(|error| cannot(&error))?;
            }
        }
        self.watched = wanted;
        Ok(())
    }

    /// Returns the next group of saved files. Cancel safe.
    pub async fn saved(&mut self) -> Saved {
        loop {
            let quiet_at = self.pending.as_ref().map(|pending| pending.quiet_at);
            let path = match quiet_at {
                None => self.events.recv().await,
                Some(quiet_at) => tokio::select! {
                    path = self.events.recv() => path,
                    () = tokio::time::sleep_until(quiet_at.into()) => {
                        if let Some(pending) = self.pending.take() {
                            return self.rules.saved(pending);
                        }
                        continue;
                    }
                },
            };
            match path {
                Some(path) if self.rules.is_relevant(&path) => self.note(path),
                Some(_) => {}
                // Unreachable: `self` owns the watcher, which owns the sender.
                None => std::future::pending().await,
            }
        }
    }

    fn note(&mut self, path: PathBuf) {
        let now = Instant::now();
        let pending =
            self.pending.get_or_insert_with(|| Pending { paths: Vec::new(), since: now, quiet_at: now + QUIET });
        pending.quiet_at = (now + QUIET).min(pending.since + LONGEST);
        if !pending.paths.contains(&path) {
            pending.paths.push(path);
        }
    }
}

impl Rules {
    fn of(declared: &Declared) -> Result<Self> {
        let real = |path: &Path| {
            let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
            path.canonicalize()
                .map_err(|error| Failure::new(format!("could not watch `{}`", path.display())).caused_by(&error))
        };
        let sources = declared.sources().into_iter().map(real).collect::<Result<_>>()?;
        Ok(Self { manifest: real(&declared.origin)?, folder: real(&declared.folder)?, sources })
    }

    /// A file is watched via its folder, because editors replace the file.
    fn wanted(&self) -> BTreeMap<PathBuf, bool> {
        let mut wanted = BTreeMap::new();
        for source in &self.sources {
            if source.is_dir() {
                wanted.insert(source.clone(), true);
            }
        }
        let files = self.sources.iter().filter(|source| !source.is_dir()).chain([&self.manifest]);
        for folder in files.filter_map(|file| file.parent()) {
            wanted.entry(folder.to_owned()).or_insert(false);
        }
        wanted
    }

    fn is_relevant(&self, path: &Path) -> bool {
        if path == self.manifest {
            return true;
        }
        let Some(below) = self.sources.iter().find_map(|source| path.strip_prefix(source).ok()) else { return false };
        !below.components().any(|part| matches!(part, Component::Normal(name) if is_litter(&name.to_string_lossy())))
    }

    fn saved(&self, pending: Pending) -> Saved {
        let manifest = pending.paths.contains(&self.manifest);
        let shorten = |path: PathBuf| path.strip_prefix(&self.folder).map(Path::to_owned).unwrap_or(path);
        Saved { paths: pending.paths.into_iter().map(shorten).collect(), manifest, at: pending.since }
    }
}

/// Whether a file name matches the patterns of files that are never sent.
fn is_litter(name: &str) -> bool {
    NEVER.contains(&name)
        || LITTER.iter().any(|pattern| match pattern.strip_prefix('*') {
            Some(end) => name.ends_with(end),
            None => match pattern.strip_suffix('*') {
                Some(beginning) => name.starts_with(beginning),
                None => name == pattern.trim_end_matches('/'),
            },
        })
}

/// Ignores reads: the scan of a deploy reads every file.
fn is_write(kind: &EventKind) -> bool {
    match kind {
        EventKind::Access(access) => *access == AccessKind::Close(AccessMode::Write),
        _ => true,
    }
}

fn cannot(error: &notify::Error) -> Failure {
    let failure = Failure::new("could not watch for saved files").caused_by(error);
    if matches!(error.kind, notify::ErrorKind::MaxFilesWatch) {
        return failure.hint("raise fs.inotify.max_user_watches, or leave large folders out of `src`");
    }
    failure
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(folder: &Path) -> Rules {
        Rules {
            manifest: folder.join("milepost.yaml"),
            folder: folder.to_owned(),
            sources: vec![folder.join("hello"), folder.join("index.html")],
        }
    }

    #[test]
    fn only_files_of_the_app_are_relevant() {
        let folder = Path::new("/app");
        let rules = rules(folder);
        for mine in ["milepost.yaml", "hello/a.py", "hello/deep/b.py", "index.html", "hello/.env"] {
            assert!(rules.is_relevant(&folder.join(mine)), "{mine}");
        }
        let others = [
            "README.md",
            "hello/.git/index",
            "hello/.a.py.swp",
            "hello/a.py~",
            "hello/__pycache__/a.pyc",
            "hello/4913",
        ];
        for other in others {
            assert!(!rules.is_relevant(&folder.join(other)), "{other}");
        }
    }

    #[test]
    fn files_saved_together_form_one_group() {
        let folder = Path::new("/app");
        let now = Instant::now();
        let paths = vec![folder.join("hello/a.py"), folder.join("milepost.yaml")];
        let saved = rules(folder).saved(Pending { paths, since: now, quiet_at: now });
        assert!(saved.manifest);
        assert_eq!(saved.names(), "hello/a.py and 1 more");
    }
}
