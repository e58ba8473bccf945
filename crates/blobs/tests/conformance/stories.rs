//! What must hold for every backend.

use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use milepost_blobs::{BlobError, BlobKind, Blobs, IngestLimits, Location, PackName};
use milepost_model::Digest;
use milepost_model::pack::MAX_DIRECTORY_BYTES;
use milepost_model::tree::{Directory, FileEntry, Leaf, Tree};

use crate::packs::{LIMITS, Pack, ingest, listed, noise};

async fn collect(stream: milepost_blobs::BlobStream) -> Result<Vec<u8>, BlobError> {
    stream
        .try_fold(Vec::new(), |mut all, chunk| async move {
            all.extend(chunk);
            Ok(all)
        })
        .await
}

async fn assert_nothing(blobs: &Blobs) {
    assert_eq!(listed(blobs).await, []);
}

pub async fn reads_back_many_small_blobs_and_a_big_one(blobs: &Blobs) {
    let mut files: Vec<Vec<u8>> = (0..1000).map(|n| noise(n % 97 + 1, n as u64)).collect();
    files.insert(500, noise(20 << 20, 7));
    let pack = Pack::of(&files.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let ingested = ingest(blobs, &pack).await.expect("taken in");
    assert_eq!(ingested.blobs.len(), files.len());
    assert_eq!(ingested.size, pack.0.len() as u64);
    // Every hundredth, and the big one: a thousand requests to S3 would not test more.
    for (blob, file) in ingested.blobs.iter().zip(&files).step_by(100) {
        let at = ingested.location(blob);
        assert_eq!((blob.digest, blob.kind, blob.size), (Digest::of(file), BlobKind::File, file.len() as u64));
        assert!(blobs.read(&at, blob.digest).await.expect("reads") == file);
        assert!(collect(blobs.stream(&at, None).await.expect("opens")).await.expect("streams") == *file);
        let verified = blobs.stream_verified(&at, blob.digest).await.expect("opens");
        assert!(collect(verified).await.expect("streams") == *file);
    }
    let packs = listed(blobs).await;
    assert_eq!(packs.iter().map(|pack| (pack.name, pack.size)).collect::<Vec<_>>(), [(ingested.pack, ingested.size)]);
}

pub async fn reads_back_an_empty_blob(blobs: &Blobs) {
    let ingested = ingest(blobs, &Pack::of(&[b"a", b""])).await.expect("taken in");
    let empty = &ingested.blobs[1];
    let at = ingested.location(empty);
    assert_eq!((empty.size, empty.digest), (0, Digest::of(b"")));
    assert_eq!(blobs.read(&at, empty.digest).await.expect("reads"), "");
    assert_eq!(collect(blobs.stream_verified(&at, empty.digest).await.expect("opens")).await.expect("streams"), b"");
    assert!(matches!(blobs.read(&at, Digest::of(b"a")).await, Err(BlobError::Corrupt { .. })));
}

pub async fn decodes_a_directory(blobs: &Blobs) {
    let mut tree = Tree::default();
    let entry = FileEntry { digest: Digest::of(b"hello"), size: 5, executable: false };
    tree.insert("src/main.py", Leaf::File(entry)).expect("fits");
    let encoded = tree.encode();
    let mut pack = Pack::of(&[b"hello"]);
    for (_, bytes) in &encoded.directories {
        pack = pack.directory(bytes);
    }
    let ingested = ingest(blobs, &pack).await.expect("taken in");
    let kinds: Vec<_> = ingested.blobs.iter().map(|blob| blob.kind).collect();
    assert_eq!(kinds, [BlobKind::File, BlobKind::Directory, BlobKind::Directory]);
    assert_eq!(ingested.blobs[0].directory, None);
    let root = &ingested.blobs[2];
    assert_eq!(root.digest, encoded.root);
    let children: Vec<_> = root.directory.iter().flat_map(Directory::children).collect();
    assert_eq!(children, [ingested.blobs[1].digest]);
}

pub async fn a_wrong_digest_leaves_nothing(blobs: &Blobs) {
    let pack = Pack::of(&[b"good"]).frame(BlobKind::File, Digest::of(b"stated"), b"found!");
    match ingest(blobs, &pack).await {
        Err(BlobError::DigestMismatch { stated, found }) => {
            assert_eq!((stated, found), (Digest::of(b"stated"), Digest::of(b"found!")));
        }
        other => panic!("{other:?}"),
    }
    assert_nothing(blobs).await;
}

pub async fn a_wrong_digest_at_the_end_of_a_big_pack_leaves_nothing(blobs: &Blobs) {
    // Big enough that parts of it are in flight when the error is detected.
    let pack = Pack::of(&[&noise(20 << 20, 1)]).frame(BlobKind::File, Digest::of(b"stated"), b"found!");
    let error = ingest(blobs, &pack).await.expect_err("refused");
    assert!(matches!(error, BlobError::DigestMismatch { .. }) && error.is_senders(), "{error:?}");
    assert_nothing(blobs).await;
}

pub async fn a_truncated_pack_leaves_nothing(blobs: &Blobs) {
    let whole = Pack::of(&[&noise(20 << 20, 2)]);
    for length in [0, 8, 20, 49, whole.0.len() - 1] {
        let error = ingest(blobs, &Pack(whole.0[..length].to_vec())).await.expect_err("refused");
        match (length, error) {
            (8, BlobError::Malformed(_)) => {}
            (_, BlobError::Truncated { at }) => assert_eq!(at, length as u64),
            (_, other) => panic!("{other:?}"),
        }
    }
    assert_nothing(blobs).await;
}

pub async fn a_lost_connection_leaves_nothing(blobs: &Blobs) {
    let pack = Pack::of(&[b"one", &noise(20 << 20, 3)]);
    let lost = stream::iter([Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset))]);
    let result = blobs.ingest(pack.stream().take(200).chain(lost), LIMITS).await;
    assert!(matches!(result, Err(BlobError::Interrupted(_))), "{result:?}");
    assert_nothing(blobs).await;
}

pub async fn checks_limits_against_declared_sizes(blobs: &Blobs) {
    let limits = IngestLimits { max_blobs: 2, max_blob_bytes: 1000, max_total_bytes: 1500 };
    let small = noise(900, 4);
    let too_large = [
        // The bytes never come: waiting for them would report a truncated pack.
        Pack::new().promise(BlobKind::File, 10_000_000_000),
        Pack::new().promise(BlobKind::File, u64::MAX),
        Pack::of(&[&small]).promise(BlobKind::File, 900),
    ];
    for pack in too_large {
        let result = blobs.ingest(pack.stream(), limits).await;
        assert!(matches!(result, Err(BlobError::TooLarge { .. })), "{result:?}");
    }
    let many = blobs.ingest(Pack::of(&[b"1", b"2", b"3"]).stream(), limits).await;
    assert!(matches!(many, Err(BlobError::TooMany { limit: 2 })), "{many:?}");
    // Directories are held in memory and have their own limits, whatever a file may have.
    let wide = IngestLimits { max_blobs: 9, max_blob_bytes: u64::MAX, max_total_bytes: u64::MAX };
    let directory = Pack::new().promise(BlobKind::Directory, MAX_DIRECTORY_BYTES + 1);
    let result = blobs.ingest(directory.stream(), wide).await;
    assert!(matches!(result, Err(BlobError::TooLarge { .. })), "{result:?}");
    assert_nothing(blobs).await;
    blobs.ingest(Pack::of(&[&small, b"2"]).stream(), limits).await.expect("what is inside the limits is taken");
}

pub async fn rejects_malformed_packs(blobs: &Blobs) {
    let mut unknown_kind = Pack::of(&[b"x"]);
    unknown_kind.0[8] = 2;
    for pack in [Pack(b"MPPACK02rest".to_vec()), Pack(b"<html></html>".to_vec()), Pack::new(), unknown_kind] {
        let result = ingest(blobs, &pack).await;
        assert!(matches!(result, Err(BlobError::Malformed(_))), "{result:?}");
    }
    assert_nothing(blobs).await;
}

pub async fn rejects_non_canonical_directories(blobs: &Blobs) {
    let canonical = Tree::default().encode().directories.remove(0).1;
    ingest(blobs, &Pack::new().directory(&canonical)).await.expect("the canonical form is taken");
    let spaced = [canonical.as_slice(), b" "].concat();
    let escaping = br#"{"entries":{"../x":{"link":{"target":"y"}}},"format":1}"#;
    for bytes in [spaced.as_slice(), escaping, b"", b"not a directory"] {
        let result = ingest(blobs, &Pack::new().directory(bytes)).await;
        assert!(matches!(result, Err(BlobError::Malformed(_))), "{result:?}");
    }
    assert_eq!(listed(blobs).await.len(), 1);
}

pub async fn a_dropped_ingest_leaves_nothing(blobs: &Blobs) {
    crate::faults::drop_in_the_middle(blobs, async || {}).await;
    assert_nothing(blobs).await;
}

pub async fn concurrent_equal_content_makes_two_packs(blobs: &Blobs) {
    let pack = Pack::of(&[b"the same", &noise(9 << 20, 5)]);
    let (one, two) = tokio::join!(ingest(blobs, &pack), ingest(blobs, &pack));
    let (one, two) = (one.expect("taken in"), two.expect("taken in"));
    assert_ne!(one.pack, two.pack);
    blobs.delete(one.pack).await.expect("deletes");
    for blob in &two.blobs {
        blobs.read(&two.location(blob), blob.digest).await.expect("the other pack does not mind");
    }
}

pub async fn deletes_idempotently(blobs: &Blobs) {
    let ingested = ingest(blobs, &Pack::of(&[b"x"])).await.expect("taken in");
    blobs.delete(ingested.pack).await.expect("deletes");
    blobs.delete(ingested.pack).await.expect("deletes again");
    assert_nothing(blobs).await;
    let at = ingested.location(&ingested.blobs[0]);
    let error = blobs.read(&at, Digest::of(b"x")).await.expect_err("gone");
    assert!(matches!(error, BlobError::NotFound(pack) if pack == ingested.pack), "{error:?}");
    assert!(matches!(blobs.stream(&at, None).await, Err(BlobError::NotFound(_))));
}

pub async fn ranges_are_relative_to_the_blob(blobs: &Blobs) {
    let file = noise(1 << 20, 6);
    let ingested = ingest(blobs, &Pack::of(&[b"before", &file, b"after"])).await.expect("taken in");
    let at = ingested.location(&ingested.blobs[1]);
    let size = file.len() as u64;
    for range in [0..1, 0..size, 1000..300_000, size - 1..size, 5..5, size..size] {
        let expected = &file[range.start as usize..range.end as usize];
        let stream = blobs.stream(&at, Some(range.clone())).await.expect("opens");
        assert!(collect(stream).await.expect("streams") == expected, "{range:?}");
    }
    let backwards = std::ops::Range { start: 2, end: 1 };
    for range in [0..size + 1, size + 1..size + 1, backwards, 0..u64::MAX] {
        let result = blobs.stream(&at, Some(range)).await.map(drop);
        assert!(matches!(result, Err(BlobError::OutOfRange { .. })), "{result:?}");
    }
}

pub async fn rejects_locations_outside_of_the_pack(blobs: &Blobs) {
    let ingested = ingest(blobs, &Pack::of(&[b"12345678"])).await.expect("taken in");
    let good = ingested.location(&ingested.blobs[0]);
    for (offset, size) in [(good.offset, 9), (good.offset + 1, 8), (good.offset + 8, 1), (1 << 40, 1)] {
        let at = Location { offset, size, ..good };
        let error = blobs.read(&at, Digest::of(b"12345678")).await.expect_err("not there");
        assert!(matches!(error, BlobError::PackCut { .. }) && error.is_loss(), "{error:?}");
    }
    let overflowing = Location { offset: u64::MAX, ..good };
    assert!(blobs.stream(&overflowing, None).await.is_err());
    let nowhere = Location { pack: "0".repeat(32).parse::<PackName>().expect("a name"), ..good };
    assert!(matches!(blobs.read(&nowhere, Digest::of(b"12345678")).await, Err(BlobError::NotFound(_))));
}

pub async fn a_blob_read_under_another_digest_is_corrupt(blobs: &Blobs) {
    let ingested = ingest(blobs, &Pack::of(&[&noise(3 << 20, 8)])).await.expect("taken in");
    let at = ingested.location(&ingested.blobs[0]);
    let wrong = Digest::of(b"something else");
    let error = blobs.read(&at, wrong).await.expect_err("corrupt").to_string();
    assert!(error.contains(&wrong.to_string()) && error.contains(&ingested.pack.to_string()), "{error}");
    let items: Vec<Result<Bytes, BlobError>> = blobs.stream_verified(&at, wrong).await.expect("opens").collect().await;
    assert!(matches!(items.last(), Some(Err(BlobError::Corrupt { .. }))));
    let given: usize = items.iter().flatten().map(Bytes::len).sum();
    assert!((given as u64) < at.size, "the last bytes of a corrupt blob are held back");
}

pub async fn the_check_leaves_nothing(blobs: &Blobs) {
    blobs.check().await.expect("works");
    assert_nothing(blobs).await;
}
