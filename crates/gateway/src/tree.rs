//! The files of a static item by path, links followed. Shared by all releases that hold the same tree.

use crate::backend::FileRef;
use crate::files::kind::{self, Kind};
use crate::names::Names;

/// Paths are relative, with `/`, decoded. What is not in here cannot be served.
#[derive(Debug, Default)]
pub struct FileTree {
    files: Names<TreeFile>,
}

/// A file with what is said about it, found out once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TreeFile {
    pub(crate) at: FileRef,
    pub(crate) kind: &'static Kind,
}

impl FileTree {
    pub fn new(files: impl IntoIterator<Item = (Box<str>, FileRef)>) -> Self {
        let files = files.into_iter().map(|(path, at)| {
            let kind = kind::of(&path);
            (path, TreeFile { at, kind })
        });
        Self { files: files.collect() }
    }

    pub fn file(&self, path: &str) -> Option<&FileRef> {
        self.files.get(path).map(|file| &file.at)
    }

    pub(crate) fn find(&self, path: &str) -> Option<TreeFile> {
        self.files.get(path).copied()
    }

    pub fn is_folder(&self, path: &str) -> bool {
        path.is_empty() || self.files.has_below(path)
    }

    pub fn len(&self) -> usize {
        self.files.len()
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &FileRef)> {
        self.files.iter().map(|(path, file)| (path.as_str(), &file.at))
    }
}
