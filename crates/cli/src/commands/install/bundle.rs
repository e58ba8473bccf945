//! Reads a version from a bundle.

use std::path::Path;

use futures::TryStreamExt as _;
use milepost_channels::{ArtifactStream, ChannelError, LatestAnswer, Source, SourceOptions};
use milepost_model::channel::{All, ChannelName, Entry, PackageName, SemVer};

use crate::commands::channel::place::public_key;
use crate::failure::{Failure, Result};

/// A version of a bundle whose index was verified.
pub struct FromBundle {
    pub package: PackageName,
    pub channel: ChannelName,
    pub entry: Entry,
    pub serial: u64,
    source: Source,
}

impl FromBundle {
    /// Streams the artifact and verifies its digest. May be called again for a retry.
    pub async fn artifact(&self) -> Result<ArtifactStream> {
        Ok(self.source.artifact(&self.entry).await?)
    }
}

/// Reads the artifact once before the upload: a damaged file would otherwise look like a broken
/// connection to the server.
async fn check_artifact(source: &Source, all: &All, entry: &Entry) -> Result<()> {
    match source.artifact(entry).await {
        Ok(mut bytes) => {
            while bytes.try_next().await?.is_some() {}
            Ok(())
        }
        Err(error @ ChannelError::NotInBundle(_)) => {
            for other in all.versions() {
                if source.artifact(other).await.is_ok() {
                    let version = &other.version;
                    return Err(Failure::new(format!("the bundle has no artifact of `{}`", entry.version)).hint(format!(
                        "choose a version in the bundle, like `milepost install {}:{version} --bundle FILE`, or for an installed \
                         app `milepost upgrade --to {version} --bundle FILE`",
                        all.package()
                    )));
                }
            }
            Err(error.into())
        }
        Err(error) => Err(error.into()),
    }
}

/// Opens a bundle at `version`, or at its latest version.
pub async fn open_bundle(
    file: &Path,
    key: Option<&str>,
    package: Option<&PackageName>,
    version: Option<&SemVer>,
) -> Result<FromBundle> {
    if !file.is_file() {
        let error = std::io::Error::from(std::io::ErrorKind::NotFound);
        return Err(Failure::unreadable(file, &error));
    }
    let options = SourceOptions {
        package: package.cloned(),
        key: key.filter(|key| !key.is_empty()).map(public_key).transpose()?,
        clock: crate::test_hooks::clock(),
        ..SourceOptions::default()
    };
    let source = Source::open(&file.display().to_string(), options)?;
    let LatestAnswer::Read(latest) = source.latest(None).await? else {
        return Err(Failure::new("the bundle has no `latest`").hint("create it again with `milepost bundle`"));
    };
    let all = source.all_for(&latest).await?.all;
    let entry = match version {
        Some(version) => all.get(version).cloned(),
        None => latest.latest.latest.clone(),
    };
    let entry = entry.ok_or_else(|| {
        let names: Vec<&str> = all.versions().iter().map(|entry| entry.version.as_str()).collect();
        let what = version.map_or_else(|| "no latest version".to_owned(), |version| format!("no version `{version}`"));
        Failure::new(format!("the bundle of `{}` has {what}", all.package()))
            .hint(match names.first() {
                None => "the bundle is empty; ask its author for another one".to_owned(),
                Some(newest) => format!(
                    "choose a version in the bundle, like `milepost install {}:{newest} --bundle FILE`, or for an installed app \
                     `milepost upgrade --to {newest} --bundle FILE`; the bundle has {}",
                    all.package(),
                    names.join(", ")
                ),
            })
    })?;
    check_artifact(&source, &all, &entry).await?;
    let serial = latest.serial.unwrap_or(0);
    Ok(FromBundle { package: all.package().clone(), channel: all.name().clone(), entry, serial, source })
}
