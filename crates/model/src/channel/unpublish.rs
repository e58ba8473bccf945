//! Unpublishing: from the list of a channel to the list without one version.

use crate::suggest::{closest, or_list};

use super::index::{All, Entry, MAX_VERSIONS};
use super::name::ChannelName;
use super::read::sort;
use super::semver::SemVer;

#[derive(Debug, Clone, PartialEq)]
pub struct Unpublished {
    pub all: All,
    pub removed: Entry,
    /// Warn and ask before this is written: `all.latest()` is now nothing, or the version before.
    pub was_latest: bool,
    /// Versions that have the same artifact, each with its channel. While there are any, the artifact stays.
    pub shared_with: Vec<(ChannelName, SemVer)>,
}

impl Unpublished {
    /// Whether nothing needs the artifact any more. One without a whole digest cannot be told apart, so it stays.
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

/// The list without `version`. If it was latest, latest is nothing, as the seed says, or with `promote_previous` the
/// greatest that remains; that can be said later too, of a version that was taken back before. `others` are the package's other channels, whose versions may share the artifact.
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
    // The oldest go first: what was taken back ten thousand versions ago is not tried again.
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

/// It was taken back before, and nothing is latest since: whoever wants the previous one to be it can say so later too.
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
        true => "list what there is with `milepost channel list`".to_owned(),
        false => format!("did you mean {}?", or_list(&near)),
    };
    UnpublishRefusal::Unknown { version, channel, hint }
}
