//! One suite for every backend. Memory and folder run each case as a test of its own. S3 runs all
//! of them in one test, because starting the server takes longer than the cases.

#![expect(clippy::expect_used, clippy::panic, reason = "a helper of a test fails the test")]

mod faults;
mod moto;
mod packs;
mod stories;

use milepost_blobs::Blobs;

/// A case runs on any backend and need not clean up the packs that it makes.
macro_rules! stories {
    ($($story:ident),* $(,)?) => {
        mod memory {
            $(#[tokio::test]
            async fn $story() {
                crate::stories::$story(&milepost_blobs::Blobs::open("memory:").expect("opens")).await;
            })*
        }

        mod folder {
            $(#[tokio::test]
            async fn $story() {
                let home = tempfile::tempdir().expect("a folder");
                let path = home.path().join("blobs");
                let url = format!("file://{}", path.display());
                crate::stories::$story(&milepost_blobs::Blobs::open(&url).expect("opens")).await;
            })*
        }

        async fn all_stories(mut fresh: impl FnMut(&str) -> Blobs) {
            $(eprintln!("story: {}", stringify!($story));
            stories::$story(&fresh(stringify!($story))).await;)*
        }
    };
}

stories![
    reads_back_many_small_blobs_and_a_big_one,
    reads_back_an_empty_blob,
    decodes_a_directory,
    a_wrong_digest_leaves_nothing,
    a_wrong_digest_at_the_end_of_a_big_pack_leaves_nothing,
    a_truncated_pack_leaves_nothing,
    a_lost_connection_leaves_nothing,
    checks_limits_against_declared_sizes,
    rejects_malformed_packs,
    rejects_non_canonical_directories,
    a_dropped_ingest_leaves_nothing,
    concurrent_equal_content_makes_two_packs,
    deletes_idempotently,
    ranges_are_relative_to_the_blob,
    rejects_locations_outside_of_the_pack,
    a_blob_read_under_another_digest_is_corrupt,
    the_check_leaves_nothing,
];

#[tokio::test]
async fn slow_s3_runs_every_story() {
    let s3 = moto::S3::find();
    let bucket = s3.new_bucket();
    // One prefix per case, so that each begins with an empty store.
    all_stories(|story| s3.open(&format!("s3://{bucket}/{story}"))).await;
    s3.open(&format!("s3://{bucket}")).check().await.expect("a bucket without a prefix works too");
    s3.wait_until_no_upload_is_unfinished(&bucket).await;
}
