//! Errors of sources. Each message names the file or entry and ends with the next step, because a
//! path or a zip entry is all that a user has to go on.

use std::io;
use std::path::Path;

use milepost_model::digest::Digest;
use milepost_model::tree::TreeError;

#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error("file or folder `{0}` does not exist; check the path, which is relative to the working directory")]
    NotFound(String),
    #[error("could not read `{path}`; check that it exists and is readable")]
    Unreadable {
        path: String,
        #[source]
        source: io::Error,
    },
    #[error("`{path}` is {kind}, not a file or a folder; remove it or exclude it")]
    NotRegular { path: String, kind: &'static str },
    #[error("the name of `{0}` is not UTF-8; rename it or exclude it")]
    NameNotUtf8(String),
    #[error(
        "the link `{path}` points to `{target}`, outside of what is deployed; copy the target inside, make the link relative, or exclude it"
    )]
    LinkLeaves { path: String, target: String },
    #[error("`{path}` cannot be deployed: {reason}; rename it or exclude it")]
    BadPath { path: String, reason: TreeError },
    /// `list` is `include` or `exclude`.
    #[error("invalid {list} pattern `{pattern}`: {reason}")]
    Pattern { list: &'static str, pattern: String, reason: String },
    #[error("no file in `{path}` matches the pattern `{pattern}`{}", ignored_too(ignored.as_deref()))]
    NothingMatched { path: String, pattern: String, ignored: Option<String> },
    #[error("{path}:{line}: {reason}; lines are patterns as in a `.gitignore`")]
    IgnoreFile { path: String, line: usize, reason: String },
    #[error("`{0}` changed while it was being read; run the command again")]
    Changed(String),
    #[error("nothing in `{source_path}` has the digest {digest}; run the command again")]
    UnknownBlob { source_path: String, digest: Digest },
    #[error("could not write temporary files; free some space, or set TMPDIR to a folder with more")]
    Scratch(#[source] io::Error),
    #[error("`{path}` has more than {limit} files, links and folders; exclude those that are not needed to run")]
    TooManyFiles { path: String, limit: u64 },
    #[error("the files in `{path}` have more than {limit} bytes in total; exclude those that are not needed to run")]
    TooManyBytes { path: String, limit: u64 },
    #[error("invalid zip `{path}`: {reason}")]
    Zip { path: String, reason: ZipRefusal },
}

/// Why a zip is rejected.
#[derive(Debug, thiserror::Error)]
pub enum ZipRefusal {
    #[error("it is not a zip file; create it again, or use the folder itself")]
    NotAZip,
    #[error("it is truncated or damaged ({0}); create or download it again")]
    Damaged(String),
    #[error("it has {count} entries, more than the limit of {limit}; exclude files that are not needed to run")]
    TooMany { count: usize, limit: usize },
    #[error("the entry `{0}` occurs twice, or as a file and a folder; create the zip again as a new file")]
    Duplicate(String),
    #[error("the name of the entry `{0}` is not UTF-8; create the zip again with UTF-8 names")]
    NameNotUtf8(String),
    #[error("the name of the entry `{0}` contains `\\`; create the zip with a tool that separates folders with `/`")]
    Backslash(String),
    #[error(
        "the entry `{0}` is not a relative path inside the zip (absolute, a drive letter, `..`, or too long); create the zip again from inside the folder"
    )]
    Escapes(String),
    #[error("a name in `{0}…` is longer than 255 bytes, the limit of file systems; rename it and create the zip again")]
    NameTooLong(String),
    #[error("the link `{path}` points to `{target}`, outside of the zip; create the zip again with the file instead")]
    LinkLeaves { path: String, target: String },
    #[error("the entry `{0}` is neither a file, a folder nor a link; create the zip again without it")]
    NotRegular(String),
    #[error("the entry `{0}` is encrypted; create the zip without a password, and store secrets with `secret set`")]
    Encrypted(String),
    #[error("the entry `{name}` has the unsupported compression method {method}; create the zip again with deflate")]
    Method { name: String, method: u16 },
    #[error("the entry `{name}` is damaged ({reason}); create or download the zip again")]
    DamagedEntry { name: String, reason: String },
    #[error("the entry `{name}` unpacks to more than {limit} bytes; exclude it, or deploy it as a static file")]
    FileTooLarge { name: String, limit: u64 },
    #[error(
        "it unpacks to more than {limit} bytes, reached at the entry `{name}`; exclude files that are not needed to run"
    )]
    TooLarge { name: String, limit: u64 },
    #[error(
        "the entry `{name}` unpacks to more than {limit} times its packed size, as zip bombs do; deploy the unpacked folder instead"
    )]
    Bomb { name: String, limit: u64 },
}

fn ignored_too(ignored: Option<&str>) -> String {
    let hint =
        |path| format!(": an ignore file leaves out `{path}`; write `!{path}` in a `.milepostignore` to have it");
    ignored.map(hint).unwrap_or_default()
}

impl SourceError {
    /// For a failed read: a missing path gets its own message.
    pub(super) fn unreadable(path: &Path, source: io::Error) -> Self {
        let path = path.display().to_string();
        if source.kind() == io::ErrorKind::NotFound { Self::NotFound(path) } else { Self::Unreadable { path, source } }
    }

    /// Like `unreadable`, for a path that existed a moment ago.
    pub(super) fn vanished(path: &Path, source: io::Error) -> Self {
        match Self::unreadable(path, source) {
            Self::NotFound(path) => Self::Changed(path),
            other => other,
        }
    }

    pub(super) fn refused(path: &str, error: TreeError) -> Self {
        match error {
            TreeError::LinkEscapes { path, target } => Self::LinkLeaves { path, target },
            reason => Self::BadPath { path: path.to_owned(), reason },
        }
    }
}
