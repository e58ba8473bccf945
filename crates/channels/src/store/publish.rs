//! Publishes a version: the artifact, `all`, its signature, `latest`, its signature.

use std::path::Path;

use milepost_blobs::named::{NamedObject, Replaced};
use milepost_model::channel::{self, All, ChannelName, Entry, PackageName, PublishRefusal, Publishing, SemVer};
use milepost_model::{Digest, Timestamp};

use super::settle::{Settled, TRIES, condition, pause, sign};
use super::state::State;
use super::{Store, WriteError};
use crate::error::ChannelError;
use crate::files::{ALL, Files, MAX_SIGNATURE_BYTES, next_signature};
use crate::registry::{Registry, RegistryError};

/// What to publish.
#[derive(Debug, Clone)]
pub struct Publish<'a> {
    pub package: &'a PackageName,
    pub channel: &'a ChannelName,
    pub version: &'a SemVer,
    /// `version` in `milepost.yaml`.
    pub manifest: &'a SemVer,
    /// The artifact's file, which has this digest.
    pub artifact: &'a Path,
    pub digest: Digest,
    pub create_time: Timestamp,
    /// The OCI repository for the artifact, `host/path`. Defaults to the channel's own directory.
    pub registry: Option<&'a str>,
}

/// The result of a publish.
#[derive(Debug)]
pub struct Published {
    pub entry: Entry,
    /// The list that includes the version.
    pub all: All,
    pub is_latest: bool,
    /// The serial of the signatures.
    pub serial: Option<u64>,
    /// The version was already there from an interrupted publish, which this one completed.
    pub finished_earlier: bool,
    /// Why the tag does not refer to this artifact. The version is published anyway.
    pub tag_problem: Option<RegistryError>,
}

impl Store {
    /// Runs every check that does not need the artifact: for `--dry-run`, and before bytes are
    /// sent.
    pub async fn check(&self, publish: &Publish<'_>) -> Result<(), WriteError> {
        let files = Files::of(publish.package, publish.channel);
        let stable = self.stable(publish).await?;
        let state = self.trusted(&files, publish.package, publish.channel, None).await?;
        publish.apply(&publish.list(&state), stable.as_ref())?;
        Ok(())
    }

    /// Publishes a version. Concurrent publishes lose no entry, and a publish that was killed at
    /// any point can be repeated.
    pub async fn publish(&self, publish: &Publish<'_>) -> Result<Published, WriteError> {
        let files = Files::of(publish.package, publish.channel);
        let stable = self.stable(publish).await?;
        let state = self.trusted(&files, publish.package, publish.channel, None).await?;
        match publish.apply(&publish.list(&state), stable.as_ref()) {
            Err(PublishRefusal::Exists(..)) if publish.is_in(&state) => {
                return self.finish(&files, publish, state).await;
            }
            other => drop(other?),
        }
        self.bring(&files, publish).await?;
        let written = self.write_all(&files, publish, state).await?;
        let settled = self.settle(&files, publish.package, publish.channel, Some(&written.write())).await?;
        // Unpublishing a version with the same artifact may have removed it after we checked that
        // it exists.
        let tag_problem = self.bring_again(&files, publish).await?;
        Ok(publish.outcome(written, &settled, false, tag_problem))
    }

    /// Replaces `all` with the list that includes the version. Retries when another writer was
    /// faster.
    async fn write_all(&self, files: &Files, publish: &Publish<'_>, mut state: State) -> Result<All, WriteError> {
        for attempt in 0..TRIES {
            // Uploading the artifact took time, and another writer may have published to `stable`
            // as well.
            let stable = self.stable(publish).await?;
            let next = match publish.apply(&publish.list(&state), stable.as_ref()) {
                // Our own write succeeded, but its response was lost.
                Err(PublishRefusal::Exists(..)) if attempt > 0 && publish.wrote(&state) => {
                    return Ok(publish.list(&state));
                }
                other => other?,
            };
            self.write_next_signature(files, &state, &next).await?;
            let found = state.all.as_ref().map(|read| &read.object);
            match self.place.replace(&files.all(), next.write().into(), condition(found)).await? {
                Replaced::Written { .. } => return Ok(next),
                Replaced::Lost => pause(attempt).await,
            }
            state = self.trusted(files, publish.package, publish.channel, None).await?;
        }
        Err(WriteError::Contended)
    }

    /// Writes the signature that `all` is going to have, so that after a crash the next writer can
    /// distinguish it from an altered one.
    pub(super) async fn write_next_signature(
        &self,
        files: &Files,
        state: &State,
        next: &All,
    ) -> Result<(), WriteError> {
        let Some(key) = &self.options.key else { return Ok(()) };
        let name = files.file(&next_signature(ALL));
        let serial = state.next_serial(key, self.options.sign_existing)?;
        let signature = sign(key, &next.write(), next, ALL, serial)?;
        let mut found: Option<NamedObject> = state.next_signature.clone();
        for attempt in 0..TRIES {
            match self.place.replace(&name, signature.clone(), condition(found.as_ref())).await? {
                Replaced::Written { .. } => return Ok(()),
                Replaced::Lost => pause(attempt).await,
            }
            found = self.place.read(&name, MAX_SIGNATURE_BYTES).await?;
        }
        Err(WriteError::Contended)
    }

    /// Handles a version that is already there with the same content: completes the derived files,
    /// or reports that there is nothing to publish.
    async fn finish(&self, files: &Files, publish: &Publish<'_>, state: State) -> Result<Published, WriteError> {
        let tag_problem = self.bring_again(files, publish).await?;
        let settled = self.settle(files, publish.package, publish.channel, None).await?;
        if settled.repaired {
            return Ok(publish.outcome(publish.list(&state), &settled, true, tag_problem));
        }
        Err(PublishRefusal::Exists(publish.version.clone(), publish.channel.clone()).into())
    }

    /// Stores the artifact at the place that the entry names, unless it is there already.
    async fn bring(&self, files: &Files, publish: &Publish<'_>) -> Result<(), WriteError> {
        if let Some(repository) = publish.registry {
            let registry = Registry::open(repository, &self.options.registries, self.options.http.clone())?;
            registry.push(publish.package, publish.version, publish.artifact, publish.digest).await?;
            return Ok(());
        }
        let name = files.artifact(publish.digest);
        let size = tokio::fs::metadata(publish.artifact).await.map_err(ChannelError::File)?.len();
        if self.place.size(&name).await? == Some(size) {
            return Ok(());
        }
        self.place.store(&name, publish.artifact, publish.digest, size).await
    }

    /// Stores the artifact of a version that is in the list. A tag taken by a concurrent publish of
    /// other content does not undo the version: installs go by digest.
    async fn bring_again(&self, files: &Files, publish: &Publish<'_>) -> Result<Option<RegistryError>, WriteError> {
        match self.bring(files, publish).await {
            Ok(()) => Ok(None),
            Err(WriteError::Registry(problem @ RegistryError::TagTaken { .. })) => Ok(Some(problem)),
            Err(error) => Err(error),
        }
    }

    /// Reads the package's `stable`, to check whether the version comes too late for another
    /// channel.
    async fn stable(&self, publish: &Publish<'_>) -> Result<Option<All>, WriteError> {
        if publish.channel.is_stable() {
            return Ok(None);
        }
        self.read(publish.package, &ChannelName::stable()).await
    }

    /// Reads the channel and checks that this key may write it. Waits for an `all` whose signature
    /// is still being written.
    pub(super) async fn trusted(
        &self,
        files: &Files,
        package: &PackageName,
        channel: &ChannelName,
        ours: Option<&[u8]>,
    ) -> Result<State, WriteError> {
        const WAITS: u32 = 40;
        let mut attempt = 0;
        loop {
            let state = self.state(files, package, channel).await?;
            match state.trust(self.options.key.as_ref(), self.options.sign_existing, ours) {
                Ok(()) => return Ok(state),
                Err(WriteError::Altered) if attempt < WAITS => pause(attempt).await,
                // The first `all` of a channel appeared after its signatures were read. They are
                // there by now.
                Err(WriteError::NotSigned) if attempt == 0 => {}
                Err(error) => return Err(error),
            }
            attempt += 1;
        }
    }
}

impl Publish<'_> {
    fn entry(&self) -> Entry {
        let mut entry = Entry::new(self.version.clone(), self.digest, self.create_time);
        entry.registry = self.registry.map(str::to_owned);
        entry
    }

    fn list(&self, state: &State) -> All {
        let empty = || All::empty(self.channel.clone(), self.package.clone());
        state.all.as_ref().map_or_else(empty, |read| read.all.clone())
    }

    fn apply(&self, all: &All, stable: Option<&All>) -> Result<All, PublishRefusal> {
        channel::publish(all, Publishing { entry: self.entry(), manifest: self.manifest, stable })
    }

    fn is_in(&self, state: &State) -> bool {
        let entry = state.all.as_ref().and_then(|read| read.all.get(self.version));
        entry.is_some_and(|entry| entry.id.digest() == Some(self.digest) && entry.registry.as_deref() == self.registry)
    }

    /// Whether the entry was written by this publish.
    fn wrote(&self, state: &State) -> bool {
        let entry = state.all.as_ref().and_then(|read| read.all.get(self.version));
        entry.is_some_and(|entry| self.is_in(state) && entry.create_time == self.create_time)
    }

    fn outcome(
        &self,
        all: All,
        settled: &Settled,
        finished_earlier: bool,
        tag_problem: Option<RegistryError>,
    ) -> Published {
        let entry = all.get(self.version).cloned().unwrap_or_else(|| self.entry());
        let is_latest = all.latest().is_some_and(|latest| latest.version == entry.version);
        Published { entry, all, is_latest, serial: settled.serial, finished_earlier, tag_problem }
    }
}
