//! Unpublishing: removes a version from the list of a channel.

use crate::suggest::{closest, or_list};

use super::index::{All, Entry, MAX_VERSIONS};
use super::name::ChannelName;
use super::read::sort;
use super::semver::SemVer;

#[derive(Debug, Clone, PartialEq)]
pub struct Unpublished {
    pub all: All,
    pub removed: Entry,
    /// The caller must warn and confirm before writing: `all.latest()` is now `None` or the
    /// previous version.
    pub was_latest: bool,
    /// Versions with the same artifact, each with its channel. The artifact is kept while there are
    /// any.
    pub shared_with: Vec<(ChannelName, SemVer)>,
}

impl Unpublished {
    /// Whether the artifact is no longer needed. Without a full digest, sharing cannot be detected,
    /// so the artifact is kept.
    pub fn artifact_is_free(&self) -> bool {
        self.shared_with.is_empty() && self.removed.id.digest().is_some()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnpublishRefusal {
    #[error("`{version}` is not in `{channel}`; {hint}")]
    Unknown { version: SemVer, channel: ChannelName, hint: String },
    #[error("`{version}` was already unpublished from `{channel}`; nothing is left to do")]
    Already { version: SemVer, channel: ChannelName },
}

/// Returns the list without `version`. If `version` was latest, latest becomes `None`, as the seed
/// specifies, or with `promote_previous` the greatest remaining version. `promote_previous` also
/// works later, for a version that is already unpublished. `others` are the package's other
/// channels, whose versions may share the artifact.
pub fn unpublish(
    all: &All,
    version: &SemVer,
    promote_previous: bool,
    others: &[&All],
) -> Result<Unpublished, UnpublishRefusal> {
    let Some(removed) = all.get(version).cloned() else {
        return promoted_later(all, version).filter(|_| promote_previous).ok_or_else(|| unknown(all, version));
    };
    let mut next = all.clone();
    next.versions.retain(|entry| entry.version != *version);
    next.unpublished.push(removed.clone());
    sort(&mut next.unpublished);
    // Drops the oldest entries: a version that was unpublished ten thousand versions ago is not
    // published again.
    next.unpublished.truncate(MAX_VERSIONS);
    let was_latest = all.latest.as_ref().is_some_and(|latest| latest.version == *version);
    if was_latest {
        next.latest = next.versions.first().filter(|_| promote_previous).cloned();
    }
    let mut shared_with = Vec::new();
    if let Some(digest) = removed.id.digest() {
        let others = others.iter().copied().filter(|other| other.name != all.name && other.package == all.package);
        for list in std::iter::once(&next).chain(others) {
            shared_with.extend(list.with_digest(digest).map(|entry| (list.name.clone(), entry.version.clone())));
        }
    }
    Ok(Unpublished { all: next, removed, was_latest, shared_with })
}

/// Promotes the previous version after `version` was unpublished earlier, as long as nothing is
/// latest.
fn promoted_later(all: &All, version: &SemVer) -> Option<Unpublished> {
    let removed = all.unpublished.iter().find(|entry| entry.version == *version)?.clone();
    let greatest = all.versions.first().filter(|_| all.latest.is_none())?.clone();
    let mut next = all.clone();
    next.latest = Some(greatest);
    let shared_with = removed.id.digest().map_or_else(Vec::new, |digest| {
        next.with_digest(digest).map(|entry| (next.name.clone(), entry.version.clone())).collect()
    });
    Some(Unpublished { all: next, removed, was_latest: false, shared_with })
}

fn unknown(all: &All, version: &SemVer) -> UnpublishRefusal {
    let (version, channel) = (version.clone(), all.name.clone());
    if all.unpublished.iter().any(|entry| entry.version == version) {
        return UnpublishRefusal::Already { version, channel };
    }
    let near = closest(version.as_str(), all.versions.iter().map(|entry| entry.version.as_str()));
    let hint = match near.is_empty() {
        true => "choose one of its versions".to_owned(),
        false => format!("did you mean {}?", or_list(&near)),
    };
    UnpublishRefusal::Unknown { version, channel, hint }
}
