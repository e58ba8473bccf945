//! Whatever files a channel has, reading it yields what the author signed, or an error.
#![expect(clippy::unwrap_used, reason = "test code")]

mod common;

use std::fs;
use std::sync::OnceLock;
use std::time::Duration;

use common::{Author, options, package};
use milepost_channels::{Source, SourceOptions, StoreOptions};
use proptest::prelude::*;

struct Good {
    all: Vec<u8>,
    all_signature: Vec<u8>,
    key: milepost_channels::PublicKey,
}

fn good() -> &'static Good {
    static GOOD: OnceLock<Good> = OnceLock::new();
    GOOD.get_or_init(|| {
        let (key, _) = common::key();
        let public = key.public().clone();
        let home = tempfile::tempdir().unwrap();
        let author =
            Author::at(home.path().to_str().unwrap(), StoreOptions { key: Some(key), ..StoreOptions::default() });
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            author.publish("1.0.0").await.unwrap();
            author.publish("1.1.0").await.unwrap();
        });
        let read = |file: &str| fs::read(home.path().join(format!("{}/stable/{file}", package()))).unwrap();
        Good { all: read("all"), all_signature: read("all.minisig"), key: public }
    })
}

/// Reads a directory with these two files, with the key and without.
fn read(all: &[u8], signature: &[u8]) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
    let known = good().key.clone();
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("all"), all).unwrap();
    fs::write(home.path().join("all.minisig"), signature).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let open = |key| {
        Source::open(home.path().to_str().unwrap(), SourceOptions { key, signature_pause: Duration::ZERO, ..options() })
            .unwrap()
    };
    runtime.block_on(async {
        let written = |read: milepost_channels::ReadAll| read.all.write();
        let keyed = open(Some(known)).all().await.ok().map(written);
        (keyed, open(None).all().await.ok().map(written))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn altered_list_is_never_accepted_with_the_key(at in any::<usize>(), flip in 1u8.., cut in any::<bool>()) {
        let good = good();
        let mut all = good.all.clone();
        let at = at % all.len();
        if cut { all.truncate(at) } else { all[at] ^= flip }
        prop_assert_eq!(read(&all, &good.all_signature).0, None);
    }

    #[test]
    fn altered_signature_never_changes_the_content(at in any::<usize>(), flip in 1u8..) {
        let good = good();
        let mut signature = good.all_signature.clone();
        let at = at % signature.len();
        signature[at] ^= flip;
        if let Some(read) = read(&good.all, &signature).0 {
            prop_assert_eq!(read, good.all.clone());
        }
    }

    #[test]
    fn arbitrary_bytes_are_rejected(all in prop::collection::vec(any::<u8>(), 0..500), signature in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert_eq!(read(&all, &signature), (None, None));
    }

    /// Nearly valid JSON: parts of a valid list in any order.
    #[test]
    fn shuffled_lists_are_rejected(pieces in prop::collection::vec((any::<prop::sample::Index>(), 1usize..80), 1..20)) {
        let good = good();
        let mut all = Vec::new();
        for (at, length) in pieces {
            let at = at.index(good.all.len());
            all.extend_from_slice(&good.all[at..(at + length).min(good.all.len())]);
        }
        prop_assume!(all != good.all);
        prop_assert_eq!(read(&all, &good.all_signature).0, None);
    }
}

#[test]
fn valid_list_is_read() {
    let good = good();
    assert_eq!(read(&good.all, &good.all_signature), (Some(good.all.clone()), Some(good.all.clone())));
}
