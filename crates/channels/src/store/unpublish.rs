//! Unpublishes a version: first removes it from the list, so that it is no longer installed, then
//! its tag and its artifact.

use milepost_blobs::named::Replaced;
use milepost_model::channel::{self, ChannelName, Entry, PackageName, SemVer, UnpublishRefusal, Unpublished};

use super::settle::{TRIES, condition, pause};
use super::{Store, WriteError};
use crate::files::Files;
use crate::registry::{Registry, RegistryError};

/// What to unpublish.
#[derive(Debug, Clone)]
pub struct Unpublish<'a> {
    pub package: &'a PackageName,
    pub channel: &'a ChannelName,
    pub version: &'a SemVer,
    /// If the version is latest, the highest remaining version becomes latest, instead of none.
    pub promote_previous: bool,
    /// Without this, unpublishing the latest version is refused: confirm first.
    pub even_if_latest: bool,
}

/// The result of unpublishing.
#[derive(Debug)]
pub struct Unpublishing {
    /// `None` if the version was unpublished before, and this call completed it.
    pub unpublished: Option<Unpublished>,
    /// The artifact was removed from the channel's directory. It is kept while another version has
    /// it.
    pub artifact_removed: bool,
    /// The tag was removed from the registry.
    pub tag_removed: bool,
    /// Why the tag could not be removed. The version is unpublished anyway.
    pub tag_problem: Option<RegistryError>,
    pub serial: Option<u64>,
}

impl Store {
    pub async fn unpublish(&self, unpublish: &Unpublish<'_>) -> Result<Unpublishing, WriteError> {
        let Unpublish { package, channel, version, .. } = *unpublish;
        let files = Files::of(package, channel);
        let removed = self.take_out(&files, unpublish).await;
        let (entry, done, ours) = match removed {
            Ok((done, ours)) => (done.removed.clone(), Some(done), Some(ours)),
            Err(error @ WriteError::Unpublish(UnpublishRefusal::Already { .. })) => {
                let taken_back = self.read(package, channel).await?;
                let taken_back =
                    taken_back.and_then(|all| all.unpublished().iter().find(|old| old.version == *version).cloned());
                (taken_back.ok_or(error)?, None, None)
            }
            Err(error) => return Err(error),
        };
        let settled = self.settle(&files, package, channel, ours.as_deref()).await?;
        let (tag_removed, tag_problem) = self.remove_tag(unpublish, &entry).await?;
        let artifact_removed = self.remove_artifact(&files, unpublish, &entry).await?;
        if done.is_none() && !settled.repaired && !tag_removed && !artifact_removed && tag_problem.is_none() {
            return Err(UnpublishRefusal::Already { version: version.clone(), channel: channel.clone() }.into());
        }
        let serial = settled.serial;
        Ok(Unpublishing { unpublished: done, artifact_removed, tag_removed, tag_problem, serial })
    }

    async fn take_out(&self, files: &Files, unpublish: &Unpublish<'_>) -> Result<(Unpublished, Vec<u8>), WriteError> {
        let Unpublish { package, channel, version, promote_previous, even_if_latest } = *unpublish;
        for attempt in 0..TRIES {
            let state = self.trusted(files, package, channel, None).await?;
            let unknown = || UnpublishRefusal::Unknown {
                version: version.clone(),
                channel: channel.clone(),
                hint: "nothing was published there; check the package and the channel".to_owned(),
            };
            let read = state.all.as_ref().ok_or_else(unknown)?;
            // Each channel has its own directory of artifacts, so channels share none.
            let done = channel::unpublish(&read.all, version, promote_previous, &[])?;
            if done.was_latest && !even_if_latest {
                return Err(WriteError::IsLatest { version: version.clone() });
            }
            self.write_next_signature(files, &state, &done.all).await?;
            let bytes = done.all.write();
            let found = condition(Some(&read.object));
            match self.place.replace(&files.all(), bytes.clone().into(), found).await? {
                Replaced::Written { .. } => return Ok((done, bytes)),
                Replaced::Lost => pause(attempt).await,
            }
        }
        Err(WriteError::Contended)
    }

    /// A tag's manifest belongs to one version, so no other version is affected. A tag that was
    /// moved is kept and reported.
    async fn remove_tag(
        &self,
        unpublish: &Unpublish<'_>,
        entry: &Entry,
    ) -> Result<(bool, Option<RegistryError>), WriteError> {
        let (Some(repository), Some(digest)) = (&entry.registry, entry.id.digest()) else { return Ok((false, None)) };
        let all = self.read(unpublish.package, unpublish.channel).await?;
        let sharing: Vec<SemVer> = all
            .iter()
            .flat_map(|all| all.with_digest(digest))
            .filter(|other| other.registry.as_ref() == Some(repository))
            .map(|other| other.version.clone())
            .collect();
        let registry = Registry::open(repository, &self.options.registries, self.options.http.clone())?;
        Ok(match registry.delete_tag(unpublish.package, &entry.version, digest, &sharing).await {
            Ok(removed) => (removed, None),
            Err(problem) => (false, Some(problem)),
        })
    }

    /// Reads the list again before deleting: the same artifact may have been published in the
    /// meantime.
    async fn remove_artifact(
        &self,
        files: &Files,
        unpublish: &Unpublish<'_>,
        entry: &Entry,
    ) -> Result<bool, WriteError> {
        let Some(digest) = entry.id.digest().filter(|_| entry.registry.is_none()) else { return Ok(false) };
        let all = self.read(unpublish.package, unpublish.channel).await?;
        let shared = all.is_some_and(|all| all.with_digest(digest).next().is_some());
        let name = files.artifact(digest);
        if shared || self.place.size(&name).await?.is_none() {
            return Ok(false);
        }
        self.place.delete(&name).await?;
        Ok(true)
    }
}
