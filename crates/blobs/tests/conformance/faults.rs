//! Faults that need access behind the store, and packs cut at every position.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt as _, stream};
use milepost_blobs::{BlobError, Blobs};
use proptest::prelude::*;

use crate::packs::{LIMITS, Pack, ingest, listed, noise};

/// Starts an ingest and drops it once the store has taken 20 of 30 MiB and `meanwhile` has run.
pub async fn drop_in_the_middle(blobs: &Blobs, meanwhile: impl AsyncFnOnce()) {
    let chunks = Pack::of(&[&noise(30 << 20, 9)]).chunks(1 << 20);
    let (reached, middle) = tokio::sync::oneshot::channel();
    let sent = stream::iter(chunks.into_iter().take(20).map(Ok::<Bytes, std::io::Error>));
    // The next chunk is requested only after the previous ones were taken. It never comes.
    let silence = stream::once(async move {
        reached.send(()).expect("the test waits for it");
        std::future::pending().await
    });
    tokio::select! {
        result = blobs.ingest(sent.chain(silence), LIMITS) => panic!("ended: {result:?}"),
        () = async { middle.await.expect("sent"); meanwhile().await } => {}
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("reads").map(|entry| entry.expect("entry").path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

fn open_folder(home: &tempfile::TempDir) -> Blobs {
    Blobs::open(home.path().to_str().expect("text")).expect("opens")
}

#[tokio::test]
async fn a_dropped_ingest_removes_its_staged_file() {
    let home = tempfile::tempdir().expect("a folder");
    let blobs = open_folder(&home);
    drop_in_the_middle(&blobs, async || {
        // What a process killed here would leave: a staged file and no pack.
        assert_eq!(files_below(home.path()).len(), 1);
        assert_eq!(listed(&blobs).await, []);
        assert_eq!(listed(&open_folder(&home)).await, []);
    })
    .await;
    let gone = async {
        while !files_below(home.path()).is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), gone).await.expect("the staged file is removed");
}

#[tokio::test]
async fn a_rejected_pack_leaves_no_file() {
    let home = tempfile::tempdir().expect("a folder");
    let blobs = open_folder(&home);
    let pack = Pack::of(&[&noise(20 << 20, 10)]);
    ingest(&blobs, &Pack(pack.0[..pack.0.len() - 1].to_vec())).await.expect_err("refused");
    assert_eq!(files_below(home.path()), [] as [PathBuf; 0]);
}

#[tokio::test]
async fn detects_a_changed_byte_on_disk() {
    let home = tempfile::tempdir().expect("a folder");
    let blobs = open_folder(&home);
    let ingested = ingest(&blobs, &Pack::of(&[b"untouched", b"to be changed"])).await.expect("taken in");
    let [untouched, changed] =
        [0, 1].map(|at: usize| (ingested.location(&ingested.blobs[at]), ingested.blobs[at].digest));
    let files = files_below(home.path());
    let mut bytes = fs::read(&files[0]).expect("reads");
    *bytes.last_mut().expect("not empty") ^= 1;
    fs::write(&files[0], &bytes).expect("writes");

    blobs.read(&untouched.0, untouched.1).await.expect("its neighbour is whole");
    let error = blobs.read(&changed.0, changed.1).await.expect_err("corrupt");
    assert!(matches!(error, BlobError::Corrupt { digest, pack, .. } if digest == changed.1 && pack == ingested.pack));

    fs::write(&files[0], &bytes[..bytes.len() - 1]).expect("writes");
    let error = blobs.read(&changed.0, changed.1).await.expect_err("cut");
    assert!(matches!(error, BlobError::PackCut { .. }), "{error:?}");
}

#[tokio::test]
async fn does_not_list_foreign_files() {
    let home = tempfile::tempdir().expect("a folder");
    let blobs = open_folder(&home);
    fs::write(home.path().join("packs/ab/notes.txt"), "mine").expect("writes");
    assert_eq!(listed(&blobs).await, []);
}

#[tokio::test]
async fn packs_outlive_the_process_that_wrote_them() {
    let home = tempfile::tempdir().expect("a folder");
    let ingested = ingest(&open_folder(&home), &Pack::of(&[b"kept"])).await.expect("taken in");
    let at = ingested.location(&ingested.blobs[0]);
    let again = open_folder(&home);
    assert_eq!(again.read(&at, ingested.blobs[0].digest).await.expect("reads"), "kept");
}

proptest! {
    /// A pack is ingested only if it ends between blobs, wherever the stream ends and however it is
    /// split.
    #[test]
    fn rejects_a_pack_that_ends_inside_a_blob(
        sizes in proptest::collection::vec(0usize..200, 1..6),
        cut in any::<proptest::sample::Index>(),
        at_boundary in any::<bool>(),
        chunk in 1usize..100,
    ) {
        let mut pack = Pack::new();
        let mut ends = vec![];
        for (seed, size) in sizes.iter().enumerate() {
            pack = pack.file(&noise(*size, seed as u64));
            ends.push(pack.0.len());
        }
        let length = if at_boundary { ends[cut.index(ends.len())] } else { cut.index(pack.0.len() + 1) };
        let cut = Pack(pack.0[..length].to_vec());
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let blobs = Blobs::open("memory:").expect("opens");
            let chunks = cut.chunks(chunk).into_iter().map(Ok::<Bytes, std::io::Error>);
            let result = blobs.ingest(stream::iter(chunks), LIMITS).await;
            let whole = ends.iter().position(|end| *end == length);
            match (whole, &result) {
                (Some(last), Ok(ingested)) => {
                    assert_eq!(ingested.blobs.len(), last + 1);
                    for (seed, blob) in ingested.blobs.iter().enumerate() {
                        let read = blobs.read(&ingested.location(blob), blob.digest).await.expect("reads");
                        assert_eq!(read, noise(sizes[seed], seed as u64));
                    }
                }
                (None, Err(BlobError::Truncated { .. } | BlobError::Malformed(_))) => {}
                _ => panic!("cut at {length} of {ends:?}: {result:?}"),
            }
            assert_eq!(listed(&blobs).await.len(), usize::from(whole.is_some()));
        });
    }

    /// Any input is an error and never a panic.
    #[test]
    fn noise_is_never_a_pack(bytes in proptest::collection::vec(any::<u8>(), 0..300), magic in any::<bool>()) {
        let mut pack = if magic { Pack::new() } else { Pack(vec![]) };
        pack.0.extend(bytes);
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let blobs = Blobs::open("memory:").expect("opens");
        runtime.block_on(ingest(&blobs, &pack)).expect_err("noise");
    }
}
