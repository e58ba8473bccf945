//! Named objects, which channels consist of: small ones with conditional replacement, and large
//! ones that are written once.
//!
//! A folder uses a lock file for this, S3 has conditional writes. Names come from the caller and
//! are validated, so that no object is outside of the opened place.

mod folder;
mod s3;

use std::path::Path as FilePath;
use std::sync::Arc;

use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _};
use milepost_model::Digest;
use milepost_model::digest::Hasher;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _};

use crate::backend;
use crate::error::BlobError;
use crate::read::BlobStream;
use crate::writer::PackWriter;
use folder::Folder;

/// A place for named objects. Clones share it.
#[derive(Debug, Clone)]
pub struct Named(Inner);

#[derive(Debug, Clone)]
enum Inner {
    Folder(Folder),
    S3(Arc<dyn ObjectStore>),
}

/// An object that was read whole, with a tag that identifies its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedObject {
    pub bytes: Bytes,
    pub tag: String,
}

/// The result of a read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamedRead {
    Missing,
    /// The caller already has it.
    NotModified,
    Found(NamedObject),
}

/// A large object, streamed.
pub struct NamedStream {
    pub size: u64,
    pub bytes: BlobStream,
}

/// The condition of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition<'a> {
    /// The object does not exist yet.
    Absent,
    /// The object still has this tag.
    Tag(&'a str),
}

/// The outcome of a conditional write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replaced {
    Written {
        tag: String,
    },
    /// The condition did not hold because of another write. Nothing was changed.
    Lost,
}

impl Named {
    /// Opens a folder (a path or `file://…`, created on the first write) or `s3://bucket/prefix`.
    /// Does not contact the store.
    pub fn open(url: &str, aws: &[(String, String)]) -> Result<Self, BlobError> {
        match url.split_once(':') {
            Some(("file", path)) => Self::folder(FilePath::new(path.strip_prefix("//").unwrap_or(path))),
            Some(("s3", _)) => Ok(Self(Inner::S3(backend::open(url, aws)?.0))),
            Some((scheme, rest)) if rest.starts_with("//") => Err(BlobError::Unusable {
                url: format!("{scheme}://…"),
                reason: "write a path, `file://…` or `s3://bucket/prefix`".to_owned(),
            }),
            _ => Self::folder(FilePath::new(url)),
        }
    }

    pub fn folder(path: &FilePath) -> Result<Self, BlobError> {
        if path.as_os_str().is_empty() {
            return Err(BlobError::Unusable { url: String::new(), reason: "the path is empty".to_owned() });
        }
        Ok(Self(Inner::Folder(Folder::new(path))))
    }

    /// The `AWS_…` variables of this process, for [`Named::open`].
    pub fn aws_variables() -> Vec<(String, String)> {
        let variables = std::env::vars_os().filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value)));
        let aws = variables.filter(|(name, _)| name.starts_with("AWS_"));
        aws.filter_map(|(name, value)| Some((name, value.to_str()?.to_owned()))).collect()
    }

    /// Reads a whole object, unless its tag is `known`. Fails if it is larger than `limit`.
    pub async fn read(&self, name: &str, known: Option<&str>, limit: u64) -> Result<NamedRead, BlobError> {
        check(name)?;
        match &self.0 {
            Inner::Folder(folder) => folder.read(name, known, limit).await,
            Inner::S3(store) => s3::read(store, name, known, limit).await,
        }
    }

    /// Streams a large object, or returns `None` if it does not exist.
    pub async fn stream(&self, name: &str) -> Result<Option<NamedStream>, BlobError> {
        check(name)?;
        match &self.0 {
            Inner::Folder(folder) => folder.stream(name).await,
            Inner::S3(store) => match store.get(&Path::from(name)).await {
                Ok(got) => {
                    let size = got.meta.size;
                    let bytes = got.into_stream().map_err(|error| BlobError::storage(READING, error)).boxed();
                    Ok(Some(NamedStream { size, bytes }))
                }
                Err(object_store::Error::NotFound { .. }) => Ok(None),
                Err(error) => Err(BlobError::storage(READING, error)),
            },
        }
    }

    /// Returns the size of an object, or `None` if it does not exist.
    pub async fn size(&self, name: &str) -> Result<Option<u64>, BlobError> {
        check(name)?;
        match &self.0 {
            Inner::Folder(folder) => folder.size(name).await,
            Inner::S3(store) => match store.head(&Path::from(name)).await {
                Ok(meta) => Ok(Some(meta.size)),
                Err(object_store::Error::NotFound { .. }) => Ok(None),
                Err(error) => Err(BlobError::storage(READING, error)),
            },
        }
    }

    /// Writes a small object atomically if the condition holds.
    pub async fn replace(&self, name: &str, bytes: Bytes, when: Condition<'_>) -> Result<Replaced, BlobError> {
        check(name)?;
        match &self.0 {
            Inner::Folder(folder) => folder.replace(name, bytes, when).await,
            Inner::S3(store) => s3::replace(store, name, bytes, when).await,
        }
    }

    /// Writes an object that is named by its content and returns its size. The object appears only
    /// if all bytes were received, match the digest and do not exceed `limit`.
    pub async fn store(
        &self,
        name: &str,
        mut bytes: BlobStream,
        expected: Digest,
        limit: u64,
    ) -> Result<u64, BlobError> {
        check(name)?;
        let mut writer = match &self.0 {
            Inner::Folder(folder) => Writer::File(folder.begin(name).await?),
            Inner::S3(store) => Writer::S3(PackWriter::new(Arc::clone(store), Path::from(name))),
        };
        match checked_copy(&mut bytes, &mut writer, expected, limit).await {
            Ok(size) => {
                match writer {
                    Writer::File(staged) => staged.publish().await?,
                    Writer::S3(writer) => writer.publish().await?,
                }
                Ok(size)
            }
            Err(error) => {
                if let Writer::S3(writer) = writer {
                    writer.abort().await;
                }
                Err(error)
            }
        }
    }

    /// Deletes an object. Succeeds if it does not exist.
    pub async fn delete(&self, name: &str) -> Result<(), BlobError> {
        check(name)?;
        match &self.0 {
            Inner::Folder(folder) => folder.delete(name).await,
            Inner::S3(store) => match store.delete(&Path::from(name)).await {
                Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
                Err(error) => Err(BlobError::storage("delete an object", error)),
            },
        }
    }

    /// Lists the names of at most `limit` objects, sorted.
    pub async fn list(&self, limit: usize) -> Result<Vec<String>, BlobError> {
        let mut names = match &self.0 {
            Inner::Folder(folder) => folder.list(limit).await?,
            Inner::S3(store) => {
                let objects = store.list(None).take(limit);
                let names = objects.map_ok(|object| object.location.to_string());
                names.try_collect().await.map_err(|error| BlobError::storage("list the objects", error))?
            }
        };
        names.sort();
        Ok(names)
    }
}

const READING: &str = "read an object";
const WRITING: &str = "write an object";

enum Writer {
    File(folder::Staged),
    S3(PackWriter),
}

async fn checked_copy(
    bytes: &mut BlobStream,
    writer: &mut Writer,
    expected: Digest,
    limit: u64,
) -> Result<u64, BlobError> {
    let (mut hasher, mut size) = (Hasher::default(), 0);
    while let Some(chunk) = bytes.next().await {
        let chunk = chunk?;
        size += chunk.len() as u64;
        if size > limit {
            return Err(BlobError::TooLarge { what: "the object", size, limit });
        }
        hasher.update(&chunk);
        match writer {
            Writer::File(staged) => staged.write(&chunk).await?,
            Writer::S3(writer) => writer.put(chunk).await?,
        }
    }
    let found = hasher.finish();
    if found == expected { Ok(size) } else { Err(BlobError::DigestMismatch { stated: expected, found }) }
}

/// The content type with which a web server should serve an object of this name.
pub fn content_type(name: &str) -> &'static str {
    match name.rsplit('/').next().unwrap_or(name) {
        "latest" | "all" => "application/json",
        name if name.ends_with(".minisig") || name.ends_with(".next") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

/// Accepts parts of lower-case letters, digits, `.`, `-` and `_` that do not begin with `.`. So
/// names stay inside, are never hidden, and are the same on disk, in S3 and in a URL.
fn check(name: &str) -> Result<(), BlobError> {
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'_');
    let part_fits = |part: &str| !part.is_empty() && !part.starts_with('.') && part.bytes().all(letter);
    if name.len() <= 600 && name.split('/').all(part_fits) {
        return Ok(());
    }
    Err(BlobError::Unusable {
        url: name.chars().filter(|letter| !letter.is_control()).take(60).collect(),
        reason: "an object's name has only lowercase letters, digits, `.`, `-` and `_`".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_names_outside_of_the_place() {
        for good in ["shop/stable/latest", "a/b.c/all.minisig", "shop/stable/artifacts/ab12"] {
            check(good).expect(good);
        }
        for bad in ["", "/", "/etc/passwd", "a//b", "../a", "a/../b", "a/.lock", "a/b\0", "A/b", "a\\b", "a/b/"] {
            assert!(check(bad).is_err(), "{bad:?} was accepted");
        }
    }
}
