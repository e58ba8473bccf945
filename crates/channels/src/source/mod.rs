//! Reading a channel of somebody else.

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

/// An index file is small; who needs longer for it does not answer.
const INDEX_DEADLINE: Duration = Duration::from_secs(60);
const SIGNATURE_TRIES: usize = 3;

/// A channel that is read. Opening contacts nobody (a bundle's table is read).
#[derive(Debug, Clone)]
pub struct Source {
    place: Place,
    options: Arc<SourceOptions>,
}

/// What the reader knows and demands.
#[derive(Clone)]
pub struct SourceOptions {
    /// When given, a channel of another package is refused.
    pub package: Option<PackageName>,
    /// When given, another channel is refused.
    pub channel: Option<ChannelName>,
    /// When given, files without a good signature of this key are refused.
    pub key: Option<PublicKey>,
    /// The highest serial of a `latest` that was accepted before, from [`ReadLatest::serial`]; files with a lower one are
    /// refused. Zero at the first time.
    pub minimum_serial: u64,
    pub max_artifact_bytes: u64,
    /// How long a file whose signature does not fit is let rest before it is read again, twice: while an author writes a file
    /// and then its signature, the two do not fit for a moment.
    pub signature_pause: Duration,
    pub clock: Arc<dyn Clock>,
    /// The `AWS_…` variables for `s3://`; those of the process when left out.
    pub aws: Option<Vec<(String, String)>>,
    /// Names and passwords for registries.
    pub registries: Vec<registry::Credentials>,
    /// Connections to share between sources; new ones when left out.
    pub http: Option<Http>,
}

/// What asking for `latest` found.
#[derive(Debug, Clone)]
pub enum LatestAnswer {
    /// It is still the file with the tag that the caller knows. Its signature was checked when it was read.
    NotModified,
    Read(Box<ReadLatest>),
}

#[derive(Debug, Clone)]
pub struct ReadLatest {
    pub latest: Latest,
    /// To be given the next time, when this was used. Nothing when the server gives none.
    pub tag: Option<String>,
    /// Known when the channel is signed and a key was given. To be kept as the next `minimum_serial`.
    pub serial: Option<u64>,
}

#[derive(Debug, Clone)]
pub struct ReadAll {
    pub all: All,
    pub serial: Option<u64>,
    /// To be given the next time. Nothing when the server gives none.
    pub tag: Option<String>,
    /// How many bytes the document has.
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
    /// Opens `https://…/{package}/{channel}`, a folder (a path or `file://…`), `s3://bucket/…/{package}/{channel}`, or the
    /// file of a bundle.
    pub fn open(url: &str, options: SourceOptions) -> Result<Self, ChannelError> {
        let place = Place::open(url, &options)?;
        Ok(Self { place, options: Arc::new(options) })
    }

    /// Where this reads, without what is secret in it.
    pub fn place(&self) -> &str {
        self.place.shown()
    }

    /// The document `latest`, unless it is the one that the caller knows by its tag.
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

    /// The document `all`.
    pub async fn all(&self) -> Result<ReadAll, ChannelError> {
        self.all_unless(None).await?.ok_or_else(|| ChannelError::Gone { place: self.place.file(ALL) })
    }

    /// The same, unless it is the one that the caller knows by its tag.
    async fn all_unless(&self, known_tag: Option<&str>) -> Result<Option<ReadAll>, ChannelError> {
        let Some(read) = self.checked(ALL, MAX_ALL_BYTES as u64, known_tag).await? else { return Ok(None) };
        let all = All::read(&read.bytes).map_err(ChannelError::Damaged)?;
        self.check_names(|package, channel| all.expect(package, channel), all.package(), all.name())?;
        self.check_statement(ALL, &read, all.package(), all.name())?;
        all.check_clock(self.options.clock.now()).map_err(ChannelError::ClockSkew)?;
        let (serial, size) = (read.statement.map(|statement| statement.serial), read.bytes.len());
        Ok(Some(ReadAll { serial, all, tag: read.tag, size }))
    }

    /// The document `all` that belongs to a `latest` that was read.
    pub async fn all_for(&self, latest: &ReadLatest) -> Result<ReadAll, ChannelError> {
        let read = self.all().await?;
        read.check_not_behind(latest)?;
        Ok(read)
    }

    /// The bytes of a published version, from the channel's folder or from the entry's registry.
    pub async fn artifact(&self, entry: &Entry) -> Result<ArtifactStream, ChannelError> {
        let digest = entry.id.digest().ok_or_else(|| ChannelError::NoDigest(entry.version.clone()))?;
        let limit = self.options.max_artifact_bytes;
        let in_bundle = matches!(self.place, Place::Bundle(_));
        if let Some(repository) = entry.registry.as_deref().filter(|_| !in_bundle) {
            let registry = Registry::open(repository, &self.options.registries, self.options.http.clone())?;
            // The author of an index must not choose what this machine asks of itself.
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

    /// An index file as it lies there, checked, and its signature when it has one: for copies of the channel.
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
            // The author may have written between the two.
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

    /// A file, with what its signature says when a key is known. Nothing when it is the file that the caller knows.
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
        // In a box, as below: whoever waits for this should not carry the whole request around.
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

    /// A signature of the same key for another file, channel or package proves nothing about this one.
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
