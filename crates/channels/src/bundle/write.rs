//! Writes a bundle to a temporary file next to its destination, and renames it when it is complete.

use std::collections::BTreeMap;
use std::io::{self, SeekFrom};
use std::path::Path;

use futures::StreamExt as _;
use milepost_model::Digest;
use milepost_model::channel::{All, Entry, SemVer};
use tempfile::NamedTempFile;
use tokio::fs::File;
use tokio::io::{AsyncSeekExt as _, AsyncWriteExt as _, BufWriter};

use super::tar;
use crate::error::ChannelError;
use crate::files::{self, ALL, LATEST};
use crate::source::Source;

/// The contents of a written bundle.
#[derive(Debug, Clone)]
pub struct BundleSummary {
    pub all: All,
    /// The versions whose artifacts are included, newest first.
    pub versions: Vec<SemVer>,
    pub bytes: u64,
    pub signed: bool,
}

/// Writes the channel with the artifacts of `versions`, or of all versions. Calls `progress` with
/// each version before its artifact is fetched. Replaces an existing file.
pub async fn write(
    source: &Source,
    path: &Path,
    versions: Option<&[SemVer]>,
    progress: &mut (dyn FnMut(&SemVer) + Send),
) -> Result<BundleSummary, ChannelError> {
    // `latest` first: an `all` that is read later cannot be behind it.
    let latest = source.index_file(LATEST).await?;
    let list = source.index_file(ALL).await?;
    let all = All::read(&list.bytes).map_err(ChannelError::Damaged)?;
    let chosen = choose(&all, versions)?;

    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let staged = NamedTempFile::new_in(folder)?;
    let mut out = BufWriter::new(File::from_std(staged.reopen()?));
    let mut at = 0;
    for (name, file) in [(LATEST, &latest), (ALL, &list)] {
        at += append(&mut out, name, &file.bytes).await?;
        if let Some(signature) = &file.signature {
            at += append(&mut out, &files::signature(name), signature).await?;
        }
    }
    let artifacts: BTreeMap<Digest, &Entry> =
        chosen.iter().filter_map(|entry| Some((entry.id.digest()?, *entry))).collect();
    for (digest, entry) in artifacts {
        progress(&entry.version);
        at += append_artifact(&mut out, at, source, entry, digest).await?;
    }
    out.write_all(&tar::END).await?;
    out.flush().await?;
    out.get_ref().sync_all().await?;
    make_readable(&staged)?;
    staged.persist(path).map_err(|error| ChannelError::File(error.error))?;
    let versions = chosen.iter().map(|entry| entry.version.clone()).collect();
    let signed = latest.signature.is_some() && list.signature.is_some();
    Ok(BundleSummary { all, versions, bytes: at + tar::END.len() as u64, signed })
}

fn choose<'a>(all: &'a All, versions: Option<&[SemVer]>) -> Result<Vec<&'a Entry>, ChannelError> {
    let Some(versions) = versions else {
        return Ok(all.versions().iter().filter(|entry| entry.id.digest().is_some()).collect());
    };
    if let Some(unknown) = versions.iter().find(|version| all.get(version).is_none()) {
        return Err(ChannelError::NotPublished { version: unknown.clone(), channel: all.name().clone() });
    }
    let chosen: Vec<&Entry> = all.versions().iter().filter(|entry| versions.contains(&entry.version)).collect();
    match chosen.iter().find(|entry| entry.id.digest().is_none()) {
        Some(entry) => Err(ChannelError::NoDigest(entry.version.clone())),
        None => Ok(chosen),
    }
}

async fn append(out: &mut BufWriter<File>, name: &str, bytes: &[u8]) -> Result<u64, ChannelError> {
    let size = bytes.len() as u64;
    out.write_all(&tar::header(name, size)).await?;
    out.write_all(bytes).await?;
    pad(out, size).await
}

/// Writes the header last, because the size is known only after reading the whole artifact.
async fn append_artifact(
    out: &mut BufWriter<File>,
    at: u64,
    source: &Source,
    entry: &Entry,
    digest: Digest,
) -> Result<u64, ChannelError> {
    let name = files::artifact(digest);
    let mut bytes = source.artifact(entry).await?;
    out.write_all(&tar::header(&name, 0)).await?;
    let mut size = 0;
    while let Some(chunk) = bytes.next().await {
        let chunk = chunk?;
        size += chunk.len() as u64;
        if size > tar::MAX_SIZE {
            return Err(ChannelError::TooLarge { place: format!("{}/{name}", source.place()), limit: tar::MAX_SIZE });
        }
        out.write_all(&chunk).await?;
    }
    let whole = pad(out, size).await?;
    out.seek(SeekFrom::Start(at)).await?;
    out.write_all(&tar::header(&name, size)).await?;
    out.seek(SeekFrom::Start(at + whole)).await?;
    Ok(whole)
}

/// Pads the file and returns its size in the tar, header included.
async fn pad(out: &mut BufWriter<File>, size: u64) -> Result<u64, ChannelError> {
    let padding = tar::padding(size);
    out.write_all(&tar::END[..padding]).await?;
    Ok(tar::BLOCK + size + padding as u64)
}

/// Temporary files are private to their owner, but bundles are meant to be shared.
fn make_readable(staged: &NamedTempFile) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    staged.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))
}
