//! Decides whether a path in a folder is taken. Excluded paths never are. Then `include` decides,
//! then the ignore files, but a path that `include` names without wildcards is taken even if it is
//! ignored.

use std::path::Path;

use super::error::SourceError;
use super::exclude::Exclude;
use super::ignored::{self, Levels};
use super::include::{Fit, Include};
use super::options::SourceOptions;

pub(super) struct Rules {
    pub(super) exclude: Exclude,
    pub(super) include: Include,
    gitignore: bool,
    ignore_files: bool,
    /// The ignore files of the parent directories.
    above: Levels,
}

/// A directory that is being listed.
#[derive(Clone)]
pub(super) struct Folder {
    /// Relative to the root, which is the empty path.
    pub(super) path: String,
    mode: Mode,
    levels: Levels,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// A pattern matched the directory: everything in it is taken.
    Whole,
    Matching,
    /// An ignore file left it out, except for what `include` names without wildcards.
    Named,
}

pub(super) enum Verdict {
    No,
    /// An ignore file left it out.
    Ignored,
    Take,
    /// A directory to list. If `ignored`, only the paths below it that `include` names are taken.
    Enter {
        folder: Folder,
        ignored: bool,
    },
}

impl Rules {
    pub(super) fn of_folder(path: &Path, options: &SourceOptions) -> Result<Self, SourceError> {
        // Patterns may contain the folder's own name, which `.` and `..` do not show.
        let full = path.canonicalize().map_err(|error| SourceError::unreadable(path, error))?;
        let own_name = full.file_name().and_then(|name| name.to_str());
        let above = if options.ignore_files { ignored::above(&full, options.gitignore)? } else { None };
        Ok(Self { above, ..Self::new(options, own_name)? })
    }

    /// For a file or a zip: ignore files do not apply to a path that the user names.
    pub(super) fn of_file(options: &SourceOptions) -> Result<Self, SourceError> {
        Self::new(options, None)
    }

    fn new(options: &SourceOptions, own_name: Option<&str>) -> Result<Self, SourceError> {
        let exclude = Exclude::new(&options.exclude, own_name, options.keep_hidden)?;
        let include = Include::new(&options.include)?;
        Ok(Self { exclude, include, gitignore: options.gitignore, ignore_files: options.ignore_files, above: None })
    }

    pub(super) fn root(&self) -> Folder {
        let mode = if self.include.takes_everything() { Mode::Whole } else { Mode::Matching };
        Folder { path: String::new(), mode, levels: self.above.clone() }
    }

    /// Adds the ignore files of the directory itself. Called once, before `verdict` for its
    /// entries.
    pub(super) fn enter(&self, base: &Path, mut folder: Folder) -> Result<Folder, SourceError> {
        if self.ignore_files && folder.mode != Mode::Named {
            let here = base.join(&folder.path);
            folder.levels = ignored::entered(&here, &folder.path, &folder.levels, self.gitignore)?;
        }
        Ok(folder)
    }

    pub(super) fn verdict(&self, folder: &Folder, path: &str, is_folder: bool) -> Verdict {
        if !self.exclude.takes(path, is_folder) {
            return Verdict::No;
        }
        let enter = |mode, ignored| {
            let folder = Folder { path: path.to_owned(), mode, levels: folder.levels.clone() };
            Verdict::Enter { folder, ignored }
        };
        if folder.mode == Mode::Named {
            return match is_folder {
                true if self.include.names_below(path) => enter(Mode::Named, false),
                false if self.include.names(path) => self.take(path),
                _ => Verdict::No,
            };
        }
        let fit = if folder.mode == Mode::Whole { Fit::Whole } else { self.include.fit(path, is_folder) };
        if fit == Fit::No {
            return Verdict::No;
        }
        if ignored::leaves_out(&folder.levels, path, is_folder) {
            if is_folder && self.include.names_below(path) {
                self.include.ignored(path, is_folder);
                return enter(Mode::Named, true);
            }
            if !is_folder && self.include.names(path) {
                return self.take(path);
            }
            self.include.ignored(path, is_folder);
            return Verdict::Ignored;
        }
        match (is_folder, fit) {
            (false, _) => self.take(path),
            (true, Fit::Whole) => {
                self.include.took(path, true);
                enter(Mode::Whole, false)
            }
            (true, _) => enter(Mode::Matching, false),
        }
    }

    /// Whether a path and all its parents are taken, for archives, which are not walked directory
    /// by directory.
    pub(super) fn takes_below(&self, path: &str) -> bool {
        let takes = self.exclude.takes_below(path) && self.include.fit(path, false) == Fit::Whole;
        if takes {
            self.include.took(path, false);
        }
        takes
    }

    fn take(&self, path: &str) -> Verdict {
        self.include.took(path, false);
        Verdict::Take
    }
}
