//! Publishing: adds a version to the list of a channel.

use crate::Digest;

use super::index::{All, Entry, MAX_VERSIONS};
use super::name::{ChannelName, PackageName};
use super::read::sort;
use super::semver::SemVer;
use super::tag::TagError;

/// The entry to publish, and what it is checked against.
#[derive(Debug, Clone)]
pub struct Publishing<'a> {
    pub entry: Entry,
    /// `version` in `milepost.yaml`.
    pub manifest: &'a SemVer,
    /// The package's `stable` channel, if publishing to another channel and `stable` exists.
    pub stable: Option<&'a All>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PublishRefusal {
    #[error("`{0}` has a pre-release, and `stable` has none; publish it with `--pre {1}`, or release `{2}`")]
    PreReleaseInStable(SemVer, String, String),
    #[error(
        "`{0}` names `stable` as its pre-release, and versions in `stable` have none; publish `{1}` without `--pre`, or name another \
        channel, like `--pre beta`"
    )]
    PreReleaseCalledStable(SemVer, String),
    #[error("`{0}` has build metadata, and versions in `stable` have none; publish `{1}`")]
    BuildInStable(SemVer, String),
    #[error(
        "the first pre-release identifier of `{version}` is not `{channel}`; publish it as `{}-{channel}`",
        version.core()
    )]
    WrongChannel { version: SemVer, channel: ChannelName },
    #[error(
        "`version` of the manifest is `{0}`, and it must be three plain numbers; write `{1}` and \
        give the rest with `--pre`"
    )]
    ManifestNotPlain(SemVer, String),
    #[error("`{version}` does not agree with `version: {manifest}` of the manifest; set it to `{}`", version.core())]
    ManifestDiffers { version: SemVer, manifest: SemVer },
    #[error("`{0}` is already in `{1}`, and a published version never changes; raise the version")]
    Exists(SemVer, ChannelName),
    #[error("`{0}` was published before with other content and then unpublished; raise the version")]
    Reused(SemVer),
    #[error("`{version}` is not newer than the stable release `{released}`; raise the version")]
    AlreadyStable { version: SemVer, released: SemVer },
    #[error("the stable list that was given is `{name}` of `{package}`; read `stable` of the package itself")]
    NotTheStableList { name: ChannelName, package: PackageName },
    #[error("`{0}` has no complete digest, so it could not be fetched; give the `sha256:` digest of the artifact")]
    NoDigest(SemVer),
    #[error(transparent)]
    Tag(#[from] TagError),
    #[error("`{0}` already has {MAX_VERSIONS} versions, the most that a channel can have; unpublish old ones")]
    Full(ChannelName),
}

/// Returns the list with the new version, which becomes latest if it is the greatest. Lower
/// versions are accepted, like 1.1.4 after 1.2.0.
pub fn publish(all: &All, publishing: Publishing<'_>) -> Result<All, PublishRefusal> {
    let Publishing { entry, manifest, stable } = publishing;
    let version = &entry.version;
    let digest = entry.id.digest().ok_or_else(|| PublishRefusal::NoDigest(version.clone()))?;
    check_form(all.name(), version, manifest)?;
    check_free(all, version, digest)?;
    check_not_stable_yet(all, version, stable)?;
    if all.versions.len() >= MAX_VERSIONS {
        return Err(PublishRefusal::Full(all.name.clone()));
    }

    let mut next = all.clone();
    next.unpublished.retain(|taken_back| taken_back.version != *version);
    if next.versions.iter().all(|other| entry.is_above(other)) {
        next.latest = Some(entry.clone());
    }
    next.versions.push(entry);
    sort(&mut next.versions);
    Ok(next)
}

/// The version to publish: the manifest's three numbers and, with `--pre channel+build`, the
/// suffix.
pub fn version_to_publish(manifest: &SemVer, pre: Option<&str>) -> Result<SemVer, super::SemVerError> {
    match pre {
        None => Ok(manifest.clone()),
        Some(pre) => format!("{}-{}", manifest.core(), pre.trim_start_matches('-')).parse(),
    }
}

fn check_form(channel: &ChannelName, version: &SemVer, manifest: &SemVer) -> Result<(), PublishRefusal> {
    let core = version.core().to_owned();
    if manifest.as_str() != manifest.core() {
        return Err(PublishRefusal::ManifestNotPlain(manifest.clone(), manifest.core().to_owned()));
    }
    if !channel.admits(version) {
        return Err(match (channel.is_stable(), version.as_str().split_once('-')) {
            (true, Some(_)) if version.pre().next() == Some(ChannelName::STABLE) => {
                PublishRefusal::PreReleaseCalledStable(version.clone(), core)
            }
            (true, Some((_, pre))) => PublishRefusal::PreReleaseInStable(version.clone(), pre.to_owned(), core),
            _ => PublishRefusal::WrongChannel { version: version.clone(), channel: channel.clone() },
        });
    }
    if channel.is_stable() && version.has_build() {
        return Err(PublishRefusal::BuildInStable(version.clone(), core));
    }
    if version.core() != manifest.core() {
        return Err(PublishRefusal::ManifestDiffers { version: version.clone(), manifest: manifest.clone() });
    }
    version.to_tag()?;
    Ok(())
}

fn check_free(all: &All, version: &SemVer, digest: Digest) -> Result<(), PublishRefusal> {
    if all.get(version).is_some() {
        return Err(PublishRefusal::Exists(version.clone(), all.name.clone()));
    }
    let before = all.unpublished.iter().find(|entry| entry.version == *version);
    match before {
        Some(entry) if entry.id.digest() != Some(digest) => Err(PublishRefusal::Reused(version.clone())),
        _ => Ok(()),
    }
}

/// MAJOR.MINOR.PATCH must not be a stable release, published or unpublished: its beta would come
/// too late.
fn check_not_stable_yet(all: &All, version: &SemVer, stable: Option<&All>) -> Result<(), PublishRefusal> {
    let stable = if all.name.is_stable() { Some(all) } else { stable };
    let Some(stable) = stable else { return Ok(()) };
    if !stable.name.is_stable() || stable.package != all.package {
        return Err(PublishRefusal::NotTheStableList { name: stable.name.clone(), package: stable.package.clone() });
    }
    let entries = stable.versions.iter().chain(&stable.unpublished);
    // The same version, unpublished from `stable` itself, may be published again with the same
    // content, which `check_free` has verified.
    match entries.map(|entry| &entry.version).find(|other| other.core() == version.core() && *other != version) {
        Some(released) => Err(PublishRefusal::AlreadyStable { version: version.clone(), released: released.clone() }),
        None => Ok(()),
    }
}
