//! Reads the channel of another author.

mod both;
mod place;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use milepost_model::channel::index::{MAX_ALL_BYTES, MAX_LATEST_BYTES};
use milepost_model::channel::{All, ChannelName, Entry, IndexError, Latest, PackageName};
use milepost_model::{Clock, SystemClock};

use crate::error::{ArtifactStream, ChannelError};
use crate::files::{self, ALL, LATEST, MAX_SIGNATURE_BYTES};
use crate::http::{self, Http};
use crate::registry::{self, Registry, RegistryError};
use crate::signature::{PublicKey, SignatureError};
pub use both::ReadChannel;
pub(crate) use place::FileAnswer;
use place::Place;

/// Index files are small: a server that takes longer counts as unreachable.
const INDEX_DEADLINE: Duration = Duration::from_secs(60);
const SIGNATURE_TRIES: usize = 3;

/// A channel to read. Opening it makes no requests (the table of a bundle is read).
#[derive(Debug, Clone)]
pub struct Source {
    place: Place,
    options: Arc<SourceOptions>,
}

/// What the reader knows and requires.
#[derive(Clone)]
pub struct SourceOptions {
    /// If set, channels of other packages are rejected.
    pub package: Option<PackageName>,
    /// If set, other channels are rejected.
    pub channel: Option<ChannelName>,
    /// If set, files without a valid signature of this key are rejected.
    pub key: Option<PublicKey>,
    /// The highest serial of a `latest` accepted so far, from [`ReadLatest::serial`]. Files with a
    /// lower one are rejected. Zero initially.
    pub minimum_serial: u64,
    pub max_artifact_bytes: u64,
    /// Delay before a file whose signature does not match is read again, up to twice. A file and
    /// its signature do not match while an author is writing one after the other.
    pub signature_pause: Duration,
    pub clock: Arc<dyn Clock>,
    /// The `AWS_…` variables for `s3://`. Defaults to those of the process.
    pub aws: Option<Vec<(String, String)>>,
    /// Credentials for registries.
    pub registries: Vec<registry::Credentials>,
    /// Connections to share between sources. Defaults to new ones.
    pub http: Option<Http>,
}

/// The result of reading `latest`.
#[derive(Debug, Clone)]
pub enum LatestAnswer {
    /// Unchanged since the tag that the caller has. Its signature was verified when it was read.
    NotModified,
    Read(Box<ReadLatest>),
}

#[derive(Debug, Clone)]
pub struct ReadLatest {
    pub latest: Latest,
    /// Pass this next time, once this document was used. `None` if the server sends none.
    pub tag: Option<String>,
    /// Known if the channel is signed and a key was given. Keep it as the next `minimum_serial`.
    pub serial: Option<u64>,
}

#[derive(Debug, Clone)]
pub struct ReadAll {
    pub all: All,
    pub serial: Option<u64>,
    /// Pass this next time. `None` if the server sends none.
    pub tag: Option<String>,
    /// The size of the document in bytes.
    pub size: usize,
}

impl Default for SourceOptions {
    fn default() -> Self {
        Self {
            package: None,
            channel: None,
            key: None,
            minimum_serial: 0,
            max_artifact_bytes: 8 << 30,
            signature_pause: Duration::from_millis(300),
            clock: Arc::new(SystemClock),
            aws: None,
            registries: Vec::new(),
            http: None,
        }
    }
}

impl std::fmt::Debug for SourceOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SourceOptions")
            .field("package", &self.package)
            .field("channel", &self.channel)
            .field("key", &self.key)
            .field("minimum_serial", &self.minimum_serial)
            .finish_non_exhaustive()
    }
}

impl Source {
    /// Opens `https://…/{package}/{channel}`, a directory (a path or `file://…`),
    /// `s3://bucket/…/{package}/{channel}`, or a bundle file.
    pub fn open(url: &str, options: SourceOptions) -> Result<Self, ChannelError> {
        let place = Place::open(url, &options)?;
        Ok(Self { place, options: Arc::new(options) })
    }

    /// The address of the channel, without secrets.
    pub fn place(&self) -> &str {
        self.place.shown()
    }

    /// Reads the document `latest`, unless it still has the known tag.
    pub async fn latest(&self, known_tag: Option<&str>) -> Result<LatestAnswer, ChannelError> {
        let Some(read) = self.checked(LATEST, MAX_LATEST_BYTES as u64, known_tag).await? else {
            return Ok(LatestAnswer::NotModified);
        };
        let latest = Latest::read(&read.bytes).map_err(ChannelError::Damaged)?;
        self.check_names(|package, channel| latest.expect(package, channel), &latest.package, &latest.name)?;
        self.check_statement(LATEST, &read, &latest.package, &latest.name)?;
        latest.check_clock(self.options.clock.now()).map_err(ChannelError::ClockSkew)?;
        let serial = read.statement.map(|statement| statement.serial);
        Ok(LatestAnswer::Read(Box::new(ReadLatest { latest, tag: read.tag, serial })))
    }

    /// Reads the document `all`.
    pub async fn all(&self) -> Result<ReadAll, ChannelError> {
        self.all_unless(None).await?.ok_or_else(|| ChannelError::Gone { place: self.place.file(ALL) })
    }

    /// Like [`Self::all`], unless it still has the known tag.
    async fn all_unless(&self, known_tag: Option<&str>) -> Result<Option<ReadAll>, ChannelError> {
        let Some(read) = self.checked(ALL, MAX_ALL_BYTES as u64, known_tag).await? else { return Ok(None) };
        let all = All::read(&read.bytes).map_err(ChannelError::Damaged)?;
        self.check_names(|package, channel| all.expect(package, channel), all.package(), all.name())?;
        self.check_statement(ALL, &read, all.package(), all.name())?;
        all.check_clock(self.options.clock.now()).map_err(ChannelError::ClockSkew)?;
        let (serial, size) = (read.statement.map(|statement| statement.serial), read.bytes.len());
        Ok(Some(ReadAll { serial, all, tag: read.tag, size }))
    }

    /// Reads the `all` that matches a `latest` which was read before.
    pub async fn all_for(&self, latest: &ReadLatest) -> Result<ReadAll, ChannelError> {
        let read = self.all().await?;
        read.check_not_behind(latest)?;
        Ok(read)
    }

    /// Fetches the artifact of a published version, from the channel's directory or the entry's
    /// registry.
    pub async fn artifact(&self, entry: &Entry) -> Result<ArtifactStream, ChannelError> {
        let digest = entry.id.digest().ok_or_else(|| ChannelError::NoDigest(entry.version.clone()))?;
        let limit = self.options.max_artifact_bytes;
        let in_bundle = matches!(self.place, Place::Bundle(_));
        if let Some(repository) = entry.registry.as_deref().filter(|_| !in_bundle) {
            let registry = Registry::open(repository, &self.options.registries, self.options.http.clone())?;
            // The author of an index must not make this machine send requests to itself.
            if registry.is_local() && !self.place.is_local() {
                return Err(RegistryError::Local(registry.shown()).into());
            }
            let bytes = Box::pin(registry.blob(digest)).await?;
            return Ok(http::verified(bytes, registry.shown(), digest, limit));
        }
        let file = files::artifact(digest);
        let place = self.place.file(&file);
        let bytes = match Box::pin(self.place.stream(&file)).await? {
            Some(bytes) => bytes,
            None if in_bundle => return Err(ChannelError::NotInBundle(entry.version.clone())),
            None => return Err(ChannelError::Gone { place }),
        };
        Ok(http::verified(bytes, place, digest, limit))
    }

    /// Reads an index file verbatim, verified, with its signature if it has one. For copies of the
    /// channel.
    pub(crate) async fn index_file(&self, file: &'static str) -> Result<IndexFile, ChannelError> {
        let limit = if file == ALL { MAX_ALL_BYTES } else { MAX_LATEST_BYTES };
        let gone = || ChannelError::Gone { place: self.place.file(file) };
        let mut tries = 1;
        loop {
            let read = self.checked(file, limit as u64, None).await?.ok_or_else(gone)?;
            let signature = match self.read(&files::signature(file), None, MAX_SIGNATURE_BYTES).await? {
                FileAnswer::Found { bytes, .. } => Some(bytes),
                FileAnswer::Missing | FileAnswer::NotModified => None,
            };
            // The author may have written between the two reads.
            let fits = match (&self.options.key, &signature) {
                (Some(key), Some(signature)) => key.verify(&read.bytes, signature).is_ok(),
                _ => true,
            };
            match fits || tries == SIGNATURE_TRIES {
                true if !fits => return Err(ChannelError::BadSignature { file: file.to_owned() }),
                true => return Ok(IndexFile { bytes: read.bytes, signature }),
                false => tries += 1,
            }
        }
    }

    /// Reads a file, and verifies its statement if a key is set. `None` if it still has the known
    /// tag.
    async fn checked(&self, file: &str, limit: u64, known: Option<&str>) -> Result<Option<CheckedFile>, ChannelError> {
        let mut tries = 1;
        loop {
            let (bytes, tag) = match self.read(file, known, limit).await? {
                FileAnswer::Missing => return Err(ChannelError::Gone { place: self.place.file(file) }),
                FileAnswer::NotModified => return Ok(None),
                FileAnswer::Found { bytes, tag } => (bytes, tag),
            };
            let Some(key) = &self.options.key else { return Ok(Some(CheckedFile { bytes, tag, statement: None })) };
            match self.statement(file, &bytes, key).await {
                Ok(statement) => return Ok(Some(CheckedFile { bytes, tag, statement: Some(statement) })),
                Err(ChannelError::BadSignature { .. } | ChannelError::MissingSignature { .. })
                    if tries < SIGNATURE_TRIES && !matches!(self.place, Place::Bundle(_)) =>
                {
                    tries += 1;
                    tokio::time::sleep(self.options.signature_pause).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn statement(
        &self,
        file: &str,
        bytes: &[u8],
        key: &PublicKey,
    ) -> Result<crate::signature::Statement, ChannelError> {
        let name = || file.to_owned();
        let FileAnswer::Found { bytes: signature, .. } =
            self.read(&files::signature(file), None, MAX_SIGNATURE_BYTES).await?
        else {
            return Err(ChannelError::MissingSignature { file: name() });
        };
        let statement = key.verify(bytes, &signature).map_err(|error| match error {
            SignatureError::OtherKey(found) => ChannelError::OtherKey { file: name(), found, known: key.id() },
            SignatureError::Wrong | SignatureError::Unreadable => ChannelError::BadSignature { file: name() },
        })?;
        let (serial, minimum) = (statement.serial, self.options.minimum_serial);
        if serial < minimum {
            return Err(ChannelError::Replay { file: name(), serial, minimum });
        }
        Ok(statement)
    }

    async fn read(&self, file: &str, known: Option<&str>, limit: u64) -> Result<FileAnswer, ChannelError> {
        // Boxed, here and below, to keep the caller's future small.
        let reading = Box::pin(self.place.read(file, known, limit));
        match tokio::time::timeout(INDEX_DEADLINE, reading).await {
            Ok(answer) => answer,
            Err(_) => Err(ChannelError::Unreachable {
                place: self.place.file(file),
                reason: format!("no answer within {} s", INDEX_DEADLINE.as_secs()),
            }),
        }
    }

    fn check_names(
        &self,
        expect: impl Fn(&PackageName, &ChannelName) -> Result<(), IndexError>,
        package: &PackageName,
        channel: &ChannelName,
    ) -> Result<(), ChannelError> {
        let package = self.options.package.as_ref().unwrap_or(package);
        let channel = self.options.channel.as_ref().unwrap_or(channel);
        expect(package, channel).map_err(ChannelError::WrongChannel)
    }

    /// A signature of the same key for another file, channel or package proves nothing about this
    /// one.
    fn check_statement(
        &self,
        file: &str,
        read: &CheckedFile,
        package: &PackageName,
        channel: &ChannelName,
    ) -> Result<(), ChannelError> {
        match &read.statement {
            Some(signed) if signed.file != file || signed.package != *package || signed.channel != *channel => {
                Err(ChannelError::SignedForOther {
                    file: file.to_owned(),
                    signed: format!("`{}` of `{}`, channel `{}`", signed.file, signed.package, signed.channel),
                    package: package.clone(),
                    channel: channel.clone(),
                })
            }
            _ => Ok(()),
        }
    }
}

struct CheckedFile {
    bytes: Bytes,
    tag: Option<String>,
    statement: Option<crate::signature::Statement>,
}

pub(crate) struct IndexFile {
    pub bytes: Bytes,
    pub signature: Option<Bytes>,
}
