//! Where the files of one package lie in the blob store, as a file of this machine. On disk and not in the view: a package
//! can have thousands of files, and most are never run on this node.

use std::borrow::Cow;
use std::io;
use std::path::Path;

use milepost_blobs::Location;
use milepost_model::Digest;
use milepost_model::tree::{FileEntry, Leaf, Tree};
use serde::{Deserialize, Serialize};

use crate::checkout::Places;

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Line<'t> {
    File { path: Cow<'t, str>, digest: Digest, size: u64, executable: bool, pack: String, offset: u64 },
    Link { path: Cow<'t, str>, target: Cow<'t, str> },
}

/// Written beside its place and renamed into it.
pub(super) async fn write(to: &Path, staged: &Path, tree: &Tree, places: &Places) -> io::Result<()> {
    let lines: Option<Vec<Line<'_>>> = tree.iter().map(|(path, leaf)| line(path, leaf, places)).collect();
    let lines = lines.ok_or_else(|| io::Error::other("some of its files are not on the server"))?;
    tokio::fs::write(staged, serde_json::to_vec(&lines)?).await?;
    tokio::fs::rename(staged, to).await
}

fn line<'t>(path: &'t str, leaf: &'t Leaf, places: &Places) -> Option<Line<'t>> {
    Some(match leaf {
        Leaf::File(entry) => {
            let at = places.get(&entry.digest)?;
            let (pack, offset) = (at.pack.to_string(), at.offset);
            let FileEntry { digest, size, executable } = *entry;
            Line::File { path: path.into(), digest, size, executable, pack, offset }
        }
        Leaf::Link { target } => Line::Link { path: path.into(), target: target.as_str().into() },
    })
}

/// A power cut can leave an empty file under the name.
pub(super) async fn is_there(note: &Path) -> bool {
    tokio::fs::metadata(note).await.is_ok_and(|found| found.len() > 0)
}

/// `None` when there is none, or none that can be read: the catalog is asked then.
pub(super) async fn read(note: &Path) -> Option<(Tree, Places)> {
    let bytes = tokio::fs::read(note).await.ok()?;
    let lines: Vec<Line<'_>> = serde_json::from_slice(&bytes).ok()?;
    let mut tree = Tree::default();
    let mut places = Places::with_capacity(lines.len());
    for line in lines {
        let (path, leaf) = match line {
            Line::File { path, digest, size, executable, pack, offset } => {
                places.insert(digest, Location { pack: pack.parse().ok()?, offset, size });
                (path, Leaf::File(FileEntry { digest, size, executable }))
            }
            Line::Link { path, target } => (path, Leaf::Link { target: target.into_owned() }),
        };
        tree.insert(&path, leaf).ok()?;
    }
    Some((tree, places))
}
