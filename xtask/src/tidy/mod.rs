//! `cargo xtask tidy`: project rules that the compiler does not check.
//!
//! One file per subject. A check gets the repository's files and returns problems as [`Finding`]s.
//! To add one, write the function and add it to [`run`].

mod commands;
mod edges;
mod manifest;
mod map;
mod markdown;
mod sizes;
mod sql;
mod text;
mod unused;

use std::fmt;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::shell;

/// A text file of the repository.
pub struct Source {
    /// Relative to the root, with `/`.
    pub path: String,
    pub text: String,
}

pub struct Finding {
    path: String,
    line: Option<usize>,
    message: String,
}

impl Finding {
    fn file(path: &str, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: None, message: message.into() }
    }

    fn line(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: Some(line), message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.message),
            None => write!(f, "{}: {}", self.path, self.message),
        }
    }
}

pub fn run() -> Result<()> {
    let sources = sources(shell::root())?;
    let long = sizes::notes(&sources);
    if !long.is_empty() {
        eprintln!("Note: over {} lines: {}", sizes::HABIT, long.join(", "));
    }
    let checks = [
        sizes::check,
        map::check,
        edges::check,
        sql::check,
        commands::check,
        unused::check,
        text::check,
        markdown::check,
    ];
    let findings: Vec<Finding> = checks.iter().flat_map(|check| check(&sources)).collect();
    for finding in &findings {
        eprintln!("{finding}");
    }
    if !findings.is_empty() {
        bail!("{} untidy {}", findings.len(), if findings.len() == 1 { "place" } else { "places" });
    }
    eprintln!("{} files are tidy", sources.len());
    Ok(())
}

/// The files that git tracks or would add, except those that are not UTF-8.
fn sources(root: &Path) -> Result<Vec<Source>> {
    let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let names = shell::read(&mut shell::command("git", &list))?;
    let mut sources = Vec::new();
    for name in names.split_terminator('\0') {
        let path = root.join(name);
        // Symlinks have no content of their own, and a removed file is listed until its removal is
        // staged.
        if !path.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
            continue;
        }
        let bytes = std::fs::read(&path).with_context(|| format!("could not read {name}"))?;
        if let Ok(text) = String::from_utf8(bytes) {
            sources.push(Source { path: name.to_owned(), text });
        }
    }
    Ok(sources)
}
