//! The trees of everything that a folder declares, each read once however many units share it.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt};
use milepost_client::source::{Ignored, Source};
use milepost_model::Digest;

use crate::declared::{Declared, FileSet, Place};
use crate::failure::{Failure, Result};
use crate::sources;

/// Each scan has threads of its own.
const AT_ONCE: usize = 4;

/// Files as they were at one moment.
pub struct Scanned {
    pub source: Arc<Source>,
    pub root: Digest,
}

#[derive(Default)]
pub struct Trees(HashMap<FileSet, Scanned>);

impl Trees {
    pub fn get(&self, files: &FileSet) -> Option<&Scanned> {
        self.0.get(files)
    }

    pub fn with_root(&self, root: Digest) -> Option<&Scanned> {
        self.0.values().find(|scanned| scanned.root == root)
    }

    pub fn sources(&self) -> Vec<Arc<Source>> {
        self.0.values().map(|scanned| Arc::clone(&scanned.source)).collect()
    }

    /// What ignore files left out, by the folder that was read. Several selections from one folder leave out the same.
    pub fn ignored(&self) -> Ignored {
        let mut by_root: BTreeMap<&Path, &Ignored> = BTreeMap::new();
        for (files, scanned) in &self.0 {
            if let FileSet::Files(selection) = files {
                let ignored = &scanned.source.summary().ignored;
                let known = by_root.entry(&selection.root).or_insert(ignored);
                if known.count < ignored.count {
                    *known = ignored;
                }
            }
        }
        let mut all = Ignored::default();
        for (root, ignored) in by_root {
            all.count += ignored.count;
            all.first.extend(ignored.first.iter().map(|path| root.join(path).display().to_string()));
        }
        all
    }
}

/// Reads everything that is declared.
pub async fn all(declared: &Declared) -> Result<Trees> {
    let mut wanted: HashMap<&FileSet, &Place> = HashMap::new();
    for unit in &declared.units {
        for (_, files) in &unit.trees {
            wanted.entry(files).or_insert(&unit.place);
        }
    }
    let scans = futures::stream::iter(wanted).map(|(files, place)| async move {
        let scanned = one(files, place).await?;
        Ok::<_, Failure>((files.clone(), scanned))
    });
    Ok(Trees(scans.buffer_unordered(AT_ONCE).try_collect().await?))
}

async fn one(files: &FileSet, place: &Place) -> Result<Scanned> {
    let (source, name) = match files {
        FileSet::Files(selection) => {
            let source = sources::scan(&selection.root, &selection.options()).await?;
            (source, selection.root.display().to_string())
        }
        FileSet::Literal { name, bytes } => (sources::scan_bytes(name, bytes).await?, name.clone()),
    };
    if source.summary().files_seen == 0 {
        let message = format!("{place}: nothing in `{name}` is taken");
        return Err(Failure::usage(message).hint("check the path, and what is included, excluded and ignored"));
    }
    let root = source.root()?;
    Ok(Scanned { source: Arc::new(source), root })
}
