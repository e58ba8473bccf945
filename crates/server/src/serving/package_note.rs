//! A local file with the blob store locations of one package's files. Kept on disk rather than in
//! the view, because a package can have thousands of files and most packages never run on this
//! node.

use std::borrow::Cow;
use std::io;
use std::path::Path;

use milepost_blobs::Location;
use milepost_model::Digest;
use milepost_model::tree::{FileEntry, Leaf, Tree};
use serde::{Deserialize, Serialize};

use crate::content::checkout::Places;

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Line<'t> {
    File { path: Cow<'t, str>, digest: Digest, size: u64, executable: bool, pack: String, offset: u64 },
    Link { path: Cow<'t, str>, target: Cow<'t, str> },
}

/// Writes atomically: to `staged`, then renamed. Removes the staged file on failure.
pub(super) async fn write(to: &Path, staged: &Path, tree: &Tree, places: &Places) -> io::Result<()> {
    let lines: Option<Vec<Line<'_>>> = tree.iter().map(|(path, leaf)| line(path, leaf, places)).collect();
    let lines = lines.ok_or_else(|| io::Error::other("some of its files are not on the server"))?;
    let bytes = serde_json::to_vec(&lines)?;
    let written = async {
        tokio::fs::write(staged, bytes).await?;
        tokio::fs::rename(staged, to).await
    };
    let written = written.await;
    if written.is_err() {
        let _ = tokio::fs::remove_file(staged).await;
    }
    written
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

/// Ignores empty files, which a power failure can leave.
pub(super) async fn is_there(note: &Path) -> bool {
    tokio::fs::metadata(note).await.is_ok_and(|found| found.len() > 0)
}

/// Returns `None` if there is no readable note. The caller then asks the catalog.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn reads_written_notes_and_cleans_up_failed_writes() {
        let folder = tempfile::tempdir().expect("a folder");
        let (note, staged) = (folder.path().join("note"), folder.path().join("staged"));
        let mut tree = Tree::default();
        tree.insert("link", Leaf::Link { target: "main.py".to_owned() }).expect("a good path");
        write(&note, &staged, &tree, &Places::new()).await.expect("it is written");
        let (read, _) = read(&note).await.expect("it can be read");
        assert_eq!(read.len(), 1);
        let nowhere = folder.path().join("nowhere").join("note");
        write(&nowhere, &staged, &tree, &Places::new()).await.expect_err("there is no such folder");
        assert!(!staged.exists() && note.exists());
    }
}
