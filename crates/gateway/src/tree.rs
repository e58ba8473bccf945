//! The files of a static item by path, with links resolved. Shared by all releases with the same
//! tree.

use crate::backend::FileRef;
use crate::files::hashed;
use crate::files::kind::{self, Kind};
use crate::name_map::NameMap;

/// Paths are relative, decoded and separated by `/`. A file that is not listed here cannot be
/// served.
#[derive(Debug, Default)]
pub struct FileTree {
    files: NameMap<TreeFile>,
}

/// A file with its metadata, determined once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TreeFile {
    pub(crate) at: FileRef,
    pub(crate) kind: &'static Kind,
    /// The name contains a hash of the content.
    pub(crate) hashed: bool,
}

impl TreeFile {
    /// For a file served at a path that does not end in its name: a hash in the name says nothing
    /// about that path.
    pub(crate) fn under_another_name(self) -> Self {
        Self { hashed: false, ..self }
    }
}

impl FileTree {
    pub fn new(files: impl IntoIterator<Item = (Box<str>, FileRef)>) -> Self {
        let files: Vec<_> = files.into_iter().collect();
        let hashed = hashed::hashed(files.iter().map(|(path, _)| &**path));
        let files = files.into_iter().zip(hashed).map(|((path, at), hashed)| {
            let kind = kind::of(&path);
            (path, TreeFile { at, kind, hashed })
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
