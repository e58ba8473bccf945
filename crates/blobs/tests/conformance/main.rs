//! One suite, every backend. Memory and folder run each story as a test of its own; S3 runs them all in one test,
//! because starting the server costs more than the stories.

#![expect(clippy::expect_used, clippy::panic, reason = "a helper of a test fails the test")]

mod faults;
mod moto;
mod packs;
mod stories;

use milepost_blobs::Blobs;

/// A story is written against any backend and leaves its store with whatever packs it made.
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
    many_small_blobs_and_a_big_one_come_back,
    an_empty_blob_comes_back,
    a_directory_comes_back_decoded,
    a_wrong_digest_leaves_nothing,
    a_wrong_digest_at_the_end_of_a_big_pack_leaves_nothing,
    a_cut_pack_leaves_nothing,
    a_lost_connection_leaves_nothing,
    limits_are_checked_when_a_size_is_stated,
    what_is_not_a_pack_is_refused,
    a_directory_that_is_not_canonical_is_refused,
    an_ingest_that_is_dropped_leaves_nothing,
    equal_content_at_the_same_time_makes_two_packs,
    deleting_twice_is_deleting_once,
    ranges_are_counted_from_the_start_of_the_blob,
    a_place_that_is_not_in_the_pack_is_an_error,
    a_blob_read_under_another_digest_is_corrupt,
    the_check_leaves_nothing,
];

#[tokio::test]
async fn slow_s3_tells_every_story() {
    let s3 = moto::S3::find();
    let bucket = s3.new_bucket();
    // A prefix for each story, so that each begins with an empty store.
    all_stories(|story| s3.open(&format!("s3://{bucket}/{story}"))).await;
    s3.open(&format!("s3://{bucket}")).check().await.expect("a bucket without a prefix works too");
    s3.wait_until_no_upload_is_unfinished(&bucket).await;
}
