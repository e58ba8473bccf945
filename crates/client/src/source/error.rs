//! Errors of sources. Each message names the file or entry and ends with the next step, because a
//! path or a zip entry is all that a user has to go on.

use std::io;
use std::path::Path;

use milepost_model::digest::Digest;
use milepost_model::tree::TreeError;

#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error("there is no file or folder `{0}`; check the path, it is read from the folder that the command runs in")]
    NotFound(String),
    #[error("cannot read `{path}`; check that it exists and that you may read it")]
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
    #[error("the {list} pattern `{pattern}` cannot be used: {reason}")]
    Pattern { list: &'static str, pattern: String, reason: String },
    #[error("nothing in `{path}` fits the pattern `{pattern}`{}", ignored_too(ignored.as_deref()))]
    NothingMatched { path: String, pattern: String, ignored: Option<String> },
    #[error("{path}:{line}: {reason}; lines are patterns as in a `.gitignore`")]
    IgnoreFile { path: String, line: usize, reason: String },
    #[error("`{0}` changed while it was being read; run the command again")]
    Changed(String),
    #[error("nothing in `{source_path}` has the digest {digest}; run the command again")]
    UnknownBlob { source_path: String, digest: Digest },
    #[error("cannot write temporary files; free some space, or set TMPDIR to a folder with more")]
    Scratch(#[source] io::Error),
    #[error("`{path}` has more than {limit} files, links and folders; leave out what is not needed to run")]
    TooManyFiles { path: String, limit: u64 },
    #[error("the files in `{path}` have more than {limit} bytes together; leave out what is not needed to run")]
    TooManyBytes { path: String, limit: u64 },
    #[error("the zip `{path}` is refused: {reason}")]
    Zip { path: String, reason: ZipRefusal },
}

/// Why a zip is rejected.
#[derive(Debug, thiserror::Error)]
pub enum ZipRefusal {
    #[error("it is not a zip, whatever its name says; make it again, or name the folder itself")]
    NotAZip,
    #[error("it is cut short or damaged ({0}); make or download it again")]
    Damaged(String),
    #[error("it has {count} entries and at most {limit} are taken; leave out what is not needed to run")]
    TooMany { count: usize, limit: usize },
    #[error("the entry `{0}` stands in it twice, or as a file and a folder; make it again into a new file")]
    Duplicate(String),
    #[error("the name of the entry `{0}` is not UTF-8; make it again with UTF-8 names")]
    NameNotUtf8(String),
    #[error("the entry `{0}` has `\\` in its name; make it again with a tool that writes `/` between folders")]
    Backslash(String),
    #[error(
        "the entry `{0}` is not a plain path below its root (absolute, a drive letter, `..`, or too long); make it again from inside the folder that you deploy"
    )]
    Escapes(String),
    #[error("a name in `{0}…` is longer than 255 bytes, which no disk takes; rename it and make the zip again")]
    NameTooLong(String),
    #[error("the link `{path}` points to `{target}`, outside of it; make it again with the file instead of the link")]
    LinkLeaves { path: String, target: String },
    #[error("the entry `{0}` is neither a file, a folder nor a link; make it again without it")]
    NotRegular(String),
    #[error("the entry `{0}` is encrypted; make it again without a password, and keep secrets with `secret set`")]
    Encrypted(String),
    #[error("the entry `{name}` is packed with the method {method}; make it again with deflate, the usual method")]
    Method { name: String, method: u16 },
    #[error("the entry `{name}` is damaged ({reason}); make or download it again")]
    DamagedEntry { name: String, reason: String },
    #[error("the entry `{name}` unpacks to more than {limit} bytes; leave it out, or deploy it as a static file")]
    FileTooLarge { name: String, limit: u64 },
    #[error(
        "it unpacks to more than {limit} bytes, reached at the entry `{name}`; leave out what is not needed to run"
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
