//! Named objects in a folder that a web server may serve: world-readable, staged and renamed, with
//! one lock per directory.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _};
use milepost_model::Digest;
use tempfile::NamedTempFile;
use tokio::io::AsyncWriteExt as _;
use tokio_util::io::ReaderStream;

use super::{Condition, NamedObject, NamedRead, NamedStream, READING, Replaced, WRITING};
use crate::error::BlobError;

const STAGED: &str = ".staged-";
const LOCK: &str = ".lock";
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);
const FILE_CHUNK: usize = 256 << 10;

#[derive(Debug, Clone)]
pub(super) struct Folder {
    root: Arc<Path>,
}

impl Folder {
    pub(super) fn new(path: &Path) -> Self {
        Self { root: path.into() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(super) async fn read(&self, name: &str, known: Option<&str>, limit: u64) -> Result<NamedRead, BlobError> {
        let (path, known) = (self.path(name), known.map(str::to_owned));
        let read = blocking(READING, move || {
            let read = read_file(&path, limit.saturating_add(1))?;
            Ok(read.map(|bytes| NamedObject { tag: tag_of(&bytes), bytes: bytes.into() }))
        });
        match read.await? {
            None => Ok(NamedRead::Missing),
            Some(object) if object.bytes.len() as u64 > limit => {
                Err(BlobError::TooLarge { what: "the object", size: object.bytes.len() as u64, limit })
            }
            Some(object) if known.as_ref() == Some(&object.tag) => Ok(NamedRead::NotModified),
            Some(object) => Ok(NamedRead::Found(object)),
        }
    }

    pub(super) async fn stream(&self, name: &str) -> Result<Option<NamedStream>, BlobError> {
        let path = self.path(name);
        let opened = blocking(READING, move || {
            let Some(file) = open(&path)? else { return Ok(None) };
            let size = file.metadata()?.len();
            Ok(Some((file, size)))
        });
        let Some((file, size)) = opened.await? else { return Ok(None) };
        let chunks = ReaderStream::with_capacity(tokio::fs::File::from_std(file), FILE_CHUNK);
        let bytes = chunks.map_err(|error| BlobError::storage(READING, error)).boxed();
        Ok(Some(NamedStream { size, bytes }))
    }

    pub(super) async fn size(&self, name: &str) -> Result<Option<u64>, BlobError> {
        let path = self.path(name);
        blocking(READING, move || match fs::metadata(&path) {
            Ok(meta) => Ok(meta.is_file().then_some(meta.len())),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(error),
        })
        .await
    }

    pub(super) async fn replace(&self, name: &str, bytes: Bytes, when: Condition<'_>) -> Result<Replaced, BlobError> {
        let path = self.path(name);
        let wanted = match when {
            Condition::Absent => None,
            Condition::Tag(tag) => Some(tag.to_owned()),
        };
        blocking(WRITING, move || {
            let folder = parent(&path)?;
            make_folders(folder)?;
            let _lock = lock(folder)?;
            let found = read_file(&path, u64::MAX)?.map(|bytes| tag_of(&bytes));
            if found != wanted {
                return Ok(Replaced::Lost);
            }
            let mut staged = stage(folder)?;
            staged.write_all(&bytes)?;
            persist(staged, &path)?;
            Ok(Replaced::Written { tag: tag_of(&bytes) })
        })
        .await
    }

    pub(super) async fn begin(&self, name: &str) -> Result<Staged, BlobError> {
        let path = self.path(name);
        blocking(WRITING, move || {
            let folder = parent(&path)?;
            make_folders(folder)?;
            let (file, staged) = stage(folder)?.into_parts();
            Ok(Staged { file: tokio::fs::File::from_std(file), staged, path })
        })
        .await
    }

    pub(super) async fn delete(&self, name: &str) -> Result<(), BlobError> {
        let path = self.path(name);
        blocking("delete an object", move || {
            let folder = parent(&path)?;
            if !folder.is_dir() {
                return Ok(());
            }
            let _lock = lock(folder)?;
            match fs::remove_file(&path) {
                Ok(()) => File::open(folder)?.sync_all(),
                Err(error) if is_missing(&error) => Ok(()),
                Err(error) => Err(error),
            }
        })
        .await
    }

    pub(super) async fn list(&self, limit: usize) -> Result<Vec<String>, BlobError> {
        let root = Arc::clone(&self.root);
        blocking("list the objects", move || {
            let mut names = Vec::new();
            let mut folders = vec![root.to_path_buf()];
            while let Some(folder) = folders.pop() {
                let entries = match fs::read_dir(&folder) {
                    Err(error) if is_missing(&error) => continue,
                    entries => entries?,
                };
                for entry in entries {
                    let entry = entry?;
                    let kind = entry.file_type()?;
                    let hidden = entry.file_name().to_string_lossy().starts_with('.');
                    if kind.is_dir() && !hidden {
                        folders.push(entry.path());
                    } else if kind.is_file() && !hidden && names.len() < limit {
                        let name = entry.path().strip_prefix(&root).map(Path::to_path_buf).map_err(io::Error::other)?;
                        names.extend(name.to_str().map(str::to_owned));
                    }
                }
            }
            Ok(names)
        })
        .await
    }
}

/// A staged file. Dropping it before it is published removes it.
pub(super) struct Staged {
    file: tokio::fs::File,
    staged: tempfile::TempPath,
    path: PathBuf,
}

impl Staged {
    pub(super) async fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        self.file.write_all(bytes).await.map_err(|error| BlobError::storage(WRITING, error))
    }

    pub(super) async fn publish(mut self) -> Result<(), BlobError> {
        self.file.flush().await.map_err(|error| BlobError::storage(WRITING, error))?;
        let file = self.file.into_std().await;
        blocking(WRITING, move || persist(NamedTempFile::from_parts(file, self.staged), &self.path)).await
    }
}

/// A tag of the content: equal files have equal tags, whatever their modification times.
fn tag_of(bytes: &[u8]) -> String {
    format!("\"{}\"", Digest::of(bytes).hex())
}

fn stage(folder: &Path) -> io::Result<NamedTempFile> {
    let everybody_reads = fs::Permissions::from_mode(0o644);
    let staged = tempfile::Builder::new().prefix(STAGED).permissions(everybody_reads).tempfile_in(folder)?;
    // Leftovers that cannot be removed stay for the next writer.
    let _ = remove_abandoned(folder, &staged);
    Ok(staged)
}

/// Removes staged files of killed writers. Done by writers rather than on opening, so that reading
/// a channel changes nothing. The time of the newly staged file comes from the disk, which may be
/// another machine's.
fn remove_abandoned(folder: &Path, made_now: &NamedTempFile) -> io::Result<()> {
    let now = made_now.as_file().metadata()?.modified()?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with(STAGED) {
            continue;
        }
        // An active writer has modified its file since.
        let written = entry.metadata().and_then(|meta| meta.modified());
        if written.is_ok_and(|written| now.duration_since(written).is_ok_and(|age| age > ABANDONED)) {
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}

fn persist(staged: NamedTempFile, path: &Path) -> io::Result<()> {
    staged.as_file().sync_all()?;
    staged.persist(path).map_err(|error| error.error)?;
    File::open(parent(path)?)?.sync_all()
}

/// The lock is released with the file handle, so also when the process is killed.
fn lock(folder: &Path) -> io::Result<File> {
    let file = File::options().create(true).truncate(false).write(true).open(folder.join(LOCK))?;
    file.lock()?;
    Ok(file)
}

fn make_folders(folder: &Path) -> io::Result<()> {
    let missing: Vec<&Path> =
        folder.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists()).collect();
    fs::create_dir_all(folder)?;
    for made in missing {
        if let Some(parent) = made.parent() {
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            File::open(parent)?.sync_all()?;
        }
    }
    Ok(())
}

/// Reads the first `most` bytes.
fn read_file(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    let Some(file) = open(path)? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

fn open(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) if file.metadata()?.is_file() => Ok(Some(file)),
        Ok(_) => Ok(None),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn parent(path: &Path) -> io::Result<&Path> {
    path.parent().ok_or_else(|| io::Error::other("the path has no folder"))
}

async fn blocking<T: Send + 'static>(
    doing: &'static str,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, BlobError> {
    let done = tokio::task::spawn_blocking(work).await.map_err(|error| BlobError::storage(doing, error))?;
    done.map_err(|error| BlobError::storage(doing, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_removes_staged_files_of_killed_writers_after_a_day() {
        let home = tempfile::tempdir().expect("a folder");
        let [old, fresh, other] = [".staged-old", ".staged-fresh", "old"].map(|name| home.path().join(name));
        for path in [&old, &fresh, &other] {
            File::create(path).expect("a file");
        }
        let now = fs::metadata(&fresh).and_then(|meta| meta.modified()).expect("a time");
        for path in [&old, &other] {
            let file = File::options().write(true).open(path).expect("a file");
            file.set_modified(now - ABANDONED - Duration::from_secs(60)).expect("another time");
        }
        let staged = stage(home.path()).expect("staged");
        assert!(!old.exists() && fresh.exists() && other.exists() && staged.path().exists());
    }
}
