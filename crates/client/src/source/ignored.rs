//! `.gitignore` and `.milepostignore`, both with git's syntax. If both match a path,
//! `.milepostignore` takes precedence, because it was written for this purpose.
//!
//! Only files inside the repository count. A user's global ignore file and `.git/info/exclude` do
//! not: two users who deploy the same commit must get the same tree.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::error::SourceError;

pub(super) const OWN_FILE: &str = ".milepostignore";
const GIT_FILE: &str = ".gitignore";

/// The ignore files of one directory and its parents.
pub(super) struct Level {
    above: Option<Arc<Level>>,
    place: Where,
    git: Gitignore,
    own: Gitignore,
}

/// The location of a directory relative to the root of the source.
enum Where {
    /// The root or a directory below it: how many leading bytes of a path the patterns must not
    /// see.
    Below(usize),
    /// Above the root: the prefix to add to a path.
    Above(String),
}

pub(super) type Levels = Option<Arc<Level>>;

/// The ignore files between the root of the repository and the source. None of them count if they
/// ignore the source itself: a source that the user names is wanted, and often is build output.
pub(super) fn above(root: &Path, gitignore: bool) -> Result<Levels, SourceError> {
    let is_repository = |folder: &&Path| folder.join(".git").exists();
    let Some(repository) = root.ancestors().find(is_repository) else { return Ok(None) };
    let mut levels: Levels = None;
    let inner: Vec<&Path> = root.ancestors().take_while(|folder| *folder != repository).collect();
    let mut folder = repository;
    for next in inner.into_iter().rev() {
        let (Ok(to_root), Ok(to_next)) = (root.strip_prefix(folder), next.strip_prefix(folder)) else {
            return Ok(None);
        };
        let (Some(to_root), Some(to_next)) = (to_root.to_str(), to_next.to_str()) else { return Ok(None) };
        levels = level(folder, Where::Above(to_root.to_owned()), levels, gitignore)?;
        // The path of the next directory, as seen from each level, is a prefix of the path to the
        // root.
        let rest = to_root.len() - to_next.len();
        if decide(&levels, |level| Cow::Borrowed(level.way_to_root(rest)), true) {
            return Ok(None);
        }
        folder = next;
    }
    Ok(levels)
}

/// Adds the ignore files of one more directory, if it has any.
pub(super) fn entered(here: &Path, folder: &str, above: &Levels, gitignore: bool) -> Result<Levels, SourceError> {
    let strip = if folder.is_empty() { 0 } else { folder.len() + 1 };
    level(here, Where::Below(strip), above.clone(), gitignore)
}

/// Whether a path of the source is ignored, provided that its parent directories are not.
pub(super) fn leaves_out(levels: &Levels, path: &str, is_folder: bool) -> bool {
    decide(levels, |level| level.relative(path), is_folder)
}

fn decide<'a>(levels: &'a Levels, path: impl Fn(&'a Level) -> Cow<'a, str>, is_folder: bool) -> bool {
    let mut git = None;
    let mut next = levels.as_ref();
    while let Some(level) = next {
        let path = path(level);
        match level.own.matched(path.as_ref(), is_folder) {
            Match::Ignore(_) => return true,
            Match::Whitelist(_) => return false,
            Match::None => {}
        }
        if git.is_none() {
            git = match level.git.matched(path.as_ref(), is_folder) {
                Match::Ignore(_) => Some(true),
                Match::Whitelist(_) => Some(false),
                Match::None => None,
            };
        }
        next = level.above.as_ref();
    }
    git.unwrap_or(false)
}

impl Level {
    fn relative<'a>(&self, path: &'a str) -> Cow<'a, str> {
        match &self.place {
            Where::Below(strip) => Cow::Borrowed(path.get(*strip..).unwrap_or_default()),
            Where::Above(way) => Cow::Owned([way, "/", path].concat()),
        }
    }

    /// The path from here to the root, without its last `rest` bytes.
    fn way_to_root(&self, rest: usize) -> &str {
        match &self.place {
            Where::Above(way) => way.get(..way.len() - rest).unwrap_or_default().trim_end_matches('/'),
            Where::Below(_) => "",
        }
    }
}

fn level(folder: &Path, place: Where, above: Levels, gitignore: bool) -> Result<Levels, SourceError> {
    let git = if gitignore { read(&folder.join(GIT_FILE), false)? } else { None };
    let own = read(&folder.join(OWN_FILE), true)?;
    if git.is_none() && own.is_none() {
        return Ok(above);
    }
    let (git, own) = (git.unwrap_or_else(Gitignore::empty), own.unwrap_or_else(Gitignore::empty));
    Ok(Some(Arc::new(Level { above, place, git, own })))
}

/// Git skips lines that it cannot parse; in our own file they are errors (`strict`).
fn read(file: &Path, strict: bool) -> Result<Option<Gitignore>, SourceError> {
    let bytes = match fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::IsADirectory) => return Ok(None),
        Err(error) => return Err(SourceError::unreadable(file, error)),
    };
    let wrong = |line: usize, reason: String| SourceError::IgnoreFile {
        path: file.display().to_string(),
        line: line + 1,
        reason,
    };
    // Paths are already relative to this directory, so the builder must not strip a prefix.
    let mut builder = GitignoreBuilder::new(".");
    for (number, line) in String::from_utf8_lossy(&bytes).lines().enumerate() {
        let added = builder.add_line(None, line);
        if let Err(error) = added
            && strict
        {
            return Err(wrong(number, error.to_string()));
        }
    }
    builder.build().map(Some).map_err(|error| wrong(0, error.to_string()))
}
