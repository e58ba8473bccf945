//! Writes the files of a tree to the local disk.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use futures::{StreamExt, TryStreamExt, stream};
use milepost_blobs::{Blobs, Location};
use milepost_model::Digest;
use milepost_model::tree::{FileEntry, Leaf, Tree};
use tokio::io::AsyncWriteExt;

use crate::content::trees;
use crate::state::Store;

const FILES_AT_ONCE: usize = 8;
/// Files up to this size are read into memory and verified before they are written.
const SMALL: u64 = 4 << 20;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Access {
    ReadOnly,
    Writable,
}

impl Access {
    fn mode(self, executable: bool) -> u32 {
        match (self, executable) {
            (Self::ReadOnly, false) => 0o444,
            (Self::ReadOnly, true) => 0o555,
            (Self::Writable, false) => 0o644,
            (Self::Writable, true) => 0o755,
        }
    }
}

/// Locations of files in the blob store.
pub(crate) type Places = HashMap<Digest, Location>;

pub(crate) async fn locate(store: &Store, tree: &Tree) -> io::Result<Places> {
    let digests: BTreeSet<Digest> = tree
        .iter()
        .filter_map(|(_, leaf)| if let Leaf::File(entry) = leaf { Some(entry.digest) } else { None })
        .collect();
    let rows = store.catalog.blob_locate(digests.into_iter().collect()).await.map_err(io::Error::other)?;
    let mut places = HashMap::with_capacity(rows.len());
    for row in rows {
        let location = trees::location(&row).map_err(|error| io::Error::other(error.0.message))?;
        places.insert(row.digest, location);
    }
    Ok(places)
}

/// Writes a tree into a directory that is empty or does not exist yet.
pub(crate) async fn write(store: &Store, tree: &Tree, to: &Path, access: Access) -> io::Result<()> {
    write_from(&store.blobs, tree, &locate(store, tree).await?, to, access).await
}

/// Like [`write()`], for callers that already know the locations. Does not use the catalog.
pub(crate) async fn write_from(
    blobs: &Blobs,
    tree: &Tree,
    places: &Places,
    to: &Path,
    access: Access,
) -> io::Result<()> {
    let mut folders = BTreeSet::from([to.to_owned()]);
    let (mut files, mut links) = (Vec::new(), Vec::new());
    for (path, leaf) in tree.iter() {
        let path = to.join(path);
        if let Some(parent) = path.parent().filter(|parent| !folders.contains(*parent)) {
            folders.insert(parent.to_owned());
        }
        match leaf {
            Leaf::File(entry) => files.push((path, *entry)),
            Leaf::Link { target } => links.push((path, target.clone())),
        }
    }
    tokio::task::spawn_blocking(move || make(&folders, &links)).await.map_err(io::Error::other)??;
    stream::iter(files)
        .map(|(path, entry)| async move {
            let at = places.get(&entry.digest).ok_or_else(|| missing(entry.digest))?;
            write_file(blobs, &path, &entry, at, access).await
        })
        .buffer_unordered(FILES_AT_ONCE)
        .try_collect::<Vec<()>>()
        .await?;
    Ok(())
}

fn make(folders: &BTreeSet<PathBuf>, links: &[(PathBuf, String)]) -> io::Result<()> {
    folders.iter().try_for_each(fs::create_dir_all)?;
    links.iter().try_for_each(|(path, target)| symlink(target, path))
}

async fn write_file(blobs: &Blobs, path: &Path, entry: &FileEntry, at: &Location, access: Access) -> io::Result<()> {
    let mut file = tokio::fs::OpenOptions::new().write(true).create_new(true).open(path).await?;
    if entry.size <= SMALL {
        let bytes = blobs.read(at, entry.digest).await.map_err(io::Error::other)?;
        file.write_all(&bytes).await?;
    } else {
        let mut stream = blobs.stream_verified(at, entry.digest).await.map_err(io::Error::other)?;
        while let Some(chunk) = stream.next().await {
            file.write_all(&chunk.map_err(io::Error::other)?).await?;
        }
    }
    file.flush().await?;
    file.set_permissions(fs::Permissions::from_mode(access.mode(entry.executable))).await
}

fn missing(digest: Digest) -> io::Error {
    io::Error::other(format!("the server has no blob `{digest}`"))
}
