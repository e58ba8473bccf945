//! Lists the files that differ. Computed on the client, because a dry run uploads nothing and the
//! server does not have the new files.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use milepost_client::api::TreeItem;
use milepost_model::plan::Reason;
use milepost_model::tree::{Leaf, Tree, diff};
use milepost_model::{ChangeOutcome, Digest, UnitKind};

use crate::session::Session;

/// Fills in the files of reasons that the server could not explain. `local` finds a local tree by
/// its digest.
pub async fn explain<'a>(
    session: &Session<'_>,
    outcome: &mut ChangeOutcome,
    local: impl Fn(Digest) -> Option<&'a Tree>,
) {
    for unit in &mut outcome.versions {
        if unit.kind == UnitKind::Package && outcome.builds.contains(&unit.name) {
            // The deployment is not known before the build.
            unit.reasons
                .retain(|reason| !matches!(reason, Reason::Files { field, after: None, .. } if field == "deployment"));
        }
    }
    let mut fetched: BTreeMap<Digest, Option<Tree>> = BTreeMap::new();
    let empty = Tree::default();
    for reason in outcome.versions.iter_mut().flat_map(|unit| &mut unit.reasons) {
        let Reason::Files { before, after, files, .. } = reason else { continue };
        let Some(after) = after.and_then(&local).filter(|_| files.is_empty()) else { continue };
        let Some(before) = *before else {
            *files = diff(&empty, after);
            continue;
        };
        if let Some(before) = local(before) {
            *files = diff(before, after);
            continue;
        }
        if let Entry::Vacant(free) = fetched.entry(before) {
            // A tree that cannot be read is shown as "other files".
            let found = session.client.tree_get(session.app, &before).await.ok();
            free.insert(found.and_then(assemble));
        }
        if let Some(Some(before)) = fetched.get(&before) {
            *files = diff(before, after);
        }
    }
}

fn assemble(items: Vec<TreeItem>) -> Option<Tree> {
    let mut tree = Tree::default();
    for item in items {
        let leaf = match (item.file, item.link) {
            (Some(file), _) => Leaf::File(file),
            (None, Some(target)) => Leaf::Link { target },
            (None, None) => continue,
        };
        tree.insert(&item.path, leaf).ok()?;
    }
    Some(tree)
}
