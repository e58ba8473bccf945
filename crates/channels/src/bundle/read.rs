//! Reads a bundle: its table once, then any of its files.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::{StreamExt as _, TryStreamExt as _};
use milepost_model::Digest;
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};
use tokio_util::io::ReaderStream;

use super::tar::{self, BLOCK};
use crate::error::{ArtifactStream, ChannelError};
use crate::files::{ALL, ARTIFACTS, LATEST};
use crate::source::FileAnswer;

/// Ten thousand artifacts and the index files.
const MAX_FILES: usize = 10_010;
const FILE_CHUNK: usize = 256 << 10;

/// A bundle whose table was read. Its files are verified when they are read, as in every other
/// source.
#[derive(Debug, Clone)]
pub struct Bundle {
    path: Arc<Path>,
    shown: String,
    /// Offset and size of each file.
    files: Arc<BTreeMap<String, (u64, u64)>>,
}

impl Bundle {
    pub fn open(path: &Path) -> Result<Self, ChannelError> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        let files = table(&mut file, length)?;
        Ok(Self { path: path.into(), shown: path.display().to_string(), files: Arc::new(files) })
    }

    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// The digests of the artifacts in the bundle.
    pub fn artifacts(&self) -> impl Iterator<Item = Digest> {
        let names = self.files.keys().filter_map(|name| name.strip_prefix(ARTIFACTS)?.strip_prefix('/'));
        names.filter_map(|hex| format!("sha256:{hex}").parse().ok())
    }

    pub(crate) async fn read(&self, file: &str, known: Option<&str>, limit: u64) -> Result<FileAnswer, ChannelError> {
        let Some((at, size)) = self.files.get(file).copied() else { return Ok(FileAnswer::Missing) };
        if size > limit {
            return Err(ChannelError::TooLarge { place: format!("{}/{file}", self.shown), limit });
        }
        let path: PathBuf = self.path.to_path_buf();
        let read = tokio::task::spawn_blocking(move || -> io::Result<Vec<u8>> {
            let mut file = File::open(path)?;
            file.seek(SeekFrom::Start(at))?;
            let mut bytes = vec![0; usize::try_from(size).map_err(io::Error::other)?];
            file.read_exact(&mut bytes)?;
            Ok(bytes)
        });
        let bytes = read.await.map_err(io::Error::other)??;
        let tag = Digest::of(&bytes).to_string();
        Ok(match known == Some(tag.as_str()) {
            true => FileAnswer::NotModified,
            false => FileAnswer::Found { bytes: bytes.into(), tag: Some(tag) },
        })
    }

    pub(crate) async fn stream(&self, file: &str) -> Result<Option<ArtifactStream>, ChannelError> {
        let Some((at, size)) = self.files.get(file).copied() else { return Ok(None) };
        let mut file = tokio::fs::File::open(&*self.path).await?;
        file.seek(SeekFrom::Start(at)).await?;
        let chunks = ReaderStream::with_capacity(file.take(size), FILE_CHUNK);
        Ok(Some(chunks.map_err(ChannelError::File).boxed()))
    }
}

fn table(file: &mut File, length: u64) -> Result<BTreeMap<String, (u64, u64)>, ChannelError> {
    let bad = |reason: &str| ChannelError::BadBundle(reason.to_owned());
    let cut = |error: io::Error| match error.kind() {
        io::ErrorKind::UnexpectedEof => bad("it ends in the middle"),
        _ => ChannelError::File(error),
    };
    let mut files = BTreeMap::new();
    let mut at = 0;
    loop {
        let mut block = [0; BLOCK as usize];
        file.read_exact(&mut block).map_err(cut)?;
        if block == [0; BLOCK as usize] {
            break;
        }
        let Some((name, size)) = tar::parse(&block) else {
            return Err(bad("it has a part that is no file of a bundle"));
        };
        if !belongs(&name) {
            return Err(bad(&format!("`{}` does not belong into one", name.escape_debug())));
        }
        let begin = at + BLOCK;
        at = begin + size.next_multiple_of(BLOCK);
        if at > length {
            return Err(bad("it ends in the middle"));
        }
        if files.insert(name, (begin, size)).is_some() || files.len() > MAX_FILES {
            return Err(bad("it has a file twice, or too many files"));
        }
        file.seek(SeekFrom::Start(at))?;
    }
    match files.contains_key(ALL) && files.contains_key(LATEST) {
        true => Ok(files),
        false => Err(bad("it has no index")),
    }
}

fn belongs(name: &str) -> bool {
    let index = [LATEST, ALL].iter().any(|file| name == *file || name.strip_suffix(".minisig") == Some(file));
    let artifact = name.strip_prefix(ARTIFACTS).and_then(|rest| rest.strip_prefix('/'));
    index || artifact.is_some_and(|hex| format!("sha256:{hex}").parse::<Digest>().is_ok())
}
