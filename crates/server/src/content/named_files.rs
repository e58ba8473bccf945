//! Checks the files that a static item names. Otherwise a missing file would only be noticed when a
//! visitor requests a page.

use milepost_model::change::Change;
use milepost_model::spec::{DEFAULT_INDEX, StaticSpec};
use milepost_model::tree::Tree;
use milepost_model::{Code, Next, Refusal, UnitName, UnitPut};

use crate::content::trees;
use crate::error::ApiResult;
use crate::state::Store;

/// Maximum number of paths searched for a suggestion.
const SUGGEST_FROM: usize = 10_000;

/// Rejects static items that name files missing from their trees. If the tree itself is missing,
/// the change reports that.
pub(crate) async fn check(store: &Store, change: &Change) -> ApiResult<()> {
    for put in &change.puts {
        let UnitPut::Static(spec) = &put.unit else { continue };
        if !names_files(spec) || store.catalog.blob_locate(vec![spec.tree]).await?.is_empty() {
            continue;
        }
        missing(&put.name, spec, &trees::load(store, spec.tree).await?).map_or(Ok(()), Err)?;
    }
    Ok(())
}

/// The default index may be missing: a directory of images needs none.
fn names_files(spec: &StaticSpec) -> bool {
    spec.fallback.is_some() || spec.error_page.is_some() || spec.index != DEFAULT_INDEX
}

fn missing(item: &UnitName, spec: &StaticSpec, tree: &Tree) -> Option<Refusal> {
    for (field, file) in [("fallback", &spec.fallback), ("error", &spec.error_page)] {
        if let Some(file) = file
            && tree.file_at(file).is_none()
        {
            return Some(refusal(item, field, file, tree));
        }
    }
    // The index applies to every directory, so one directory that has it is enough.
    let below = format!("/{}", spec.index);
    let has_index = tree.file_at(&spec.index).is_some() || tree.iter().any(|(path, _)| path.ends_with(&below));
    (spec.index != DEFAULT_INDEX && !has_index).then(|| refusal(item, "index", &spec.index, tree))
}

fn refusal(item: &UnitName, field: &str, file: &str, tree: &Tree) -> Refusal {
    let message = format!("`{field}`: static item `{item}` has no file `{file}`");
    let paths: Vec<String> = tree.iter().take(SUGGEST_FROM).map(|(path, _)| path.to_owned()).collect();
    let otherwise = Next::Correct { how: "add the file, or name another one by its path inside the folder".to_owned() };
    Refusal::not_found(Code::InvalidSpec, message, file, &paths, [otherwise])
}
