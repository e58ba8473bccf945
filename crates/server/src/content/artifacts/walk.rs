use std::collections::{BTreeMap, BTreeSet};

use milepost_catalog::BlobRow;
use milepost_model::channel::artifact::MAX_BLOBS;
use milepost_model::tree::Entry;
use milepost_model::{Code, Digest, Refusal};

use crate::content::trees;
use crate::error::ApiResult;
use crate::state::Store;

/// Every directory and file below the roots, by digest.
pub(super) async fn below(store: &Store, roots: BTreeSet<Digest>) -> ApiResult<BTreeMap<Digest, BlobRow>> {
    let mut found: BTreeMap<Digest, BlobRow> = BTreeMap::new();
    let mut level = roots;
    while !level.is_empty() {
        if found.len() + level.len() > MAX_BLOBS {
            let message = format!("the app has more than {MAX_BLOBS} different files and folders");
            return Err(Refusal::new(Code::UploadTooLarge, message)
                .correct("leave out what is not needed to run, or split the app")
                .into());
        }
        let mut below = BTreeSet::new();
        let rows = store.catalog.blob_locate(level.iter().copied().collect()).await?;
        let known: BTreeSet<Digest> = rows.iter().map(|row| row.digest).collect();
        if let Some(missing) = level.difference(&known).next() {
            return Err(trees::not_here(*missing));
        }
        for row in rows {
            if row.is_directory {
                for entry in trees::directory(store, &row).await?.entries.values() {
                    match entry {
                        Entry::Directory { digest } => below.insert(*digest),
                        Entry::File(file) => below.insert(file.digest),
                        Entry::Link { .. } => false,
                    };
                }
            }
            found.insert(row.digest, row);
        }
        level = below.into_iter().filter(|digest| !found.contains_key(digest)).collect();
    }
    Ok(found)
}
