//! Scans the trees of everything that a folder declares. A tree that several units share is scanned
//! once.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use futures::StreamExt;
use milepost_client::source::{Ignored, Source};
use milepost_model::Digest;

use super::refused;
use crate::scanner::Scanner;
use crate::{Declared, FileSet, Place, Problem};

/// Concurrent scans. Each scan has its own threads.
const AT_ONCE: usize = 4;

/// A snapshot of files.
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

    /// What ignore files excluded in each folder. Several selections from one folder exclude the
    /// same, so the largest counts.
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
            // Avoids a `./` in front.
            let root = root.strip_prefix(".").unwrap_or(root);
            all.first.extend(ignored.first.iter().map(|path| root.join(path).display().to_string()));
        }
        all
    }
}

/// Scans all declared files, and reports all that cannot be read.
pub async fn all(scanner: &Scanner, declared: &Declared) -> Result<Trees, Vec<Problem>> {
    let mut wanted: HashMap<&FileSet, &Place> = HashMap::new();
    for unit in &declared.units {
        for (_, files) in &unit.trees {
            wanted.entry(files).or_insert_with(|| declared.file_places.get(files).unwrap_or(&unit.place));
        }
    }
    let scans = futures::stream::iter(wanted)
        .map(|(files, place)| async move { one(scanner, files, place).await.map(|scanned| (files.clone(), scanned)) });
    let scanned: Vec<_> = scans.buffer_unordered(AT_ONCE).collect().await;
    let mut trees = HashMap::new();
    let mut wrong = Vec::new();
    for one in scanned {
        match one {
            Ok((files, scanned)) => drop(trees.insert(files, scanned)),
            Err(problems) => wrong.extend(problems),
        }
    }
    wrong.sort_by(|one: &Problem, other| one.place.cmp(&other.place));
    if wrong.is_empty() { Ok(Trees(trees)) } else { Err(wrong) }
}

async fn one(scanner: &Scanner, files: &FileSet, place: &Place) -> Result<Scanned, Vec<Problem>> {
    let problem = |message: String, hint: Option<&str>| Problem::new(place.clone(), message, hint.map(str::to_owned));
    let failed = |message: String| vec![problem(message, None)];
    let source = match (scanner.files(files).await, files) {
        (Ok(source), _) => source,
        (Err(error), FileSet::Files(selection)) => {
            let refused = refused::all(selection.clone()).await;
            let refused: Vec<Problem> = refused.into_iter().map(|message| problem(message, None)).collect();
            return Err(if refused.is_empty() { failed(error.to_string()) } else { refused });
        }
        (Err(error), FileSet::Literal { .. }) => return Err(failed(error.to_string())),
    };
    if source.summary().files_seen == 0 {
        let hint = "check the path, `include`, `exclude` and ignore files";
        let name = match files {
            FileSet::Files(selection) => selection.root.display().to_string(),
            FileSet::Literal { name, .. } => name.clone(),
        };
        return Err(vec![problem(format!("no files to deploy in `{name}`"), Some(hint))]);
    }
    let root = source.root().map_err(|error| failed(error.to_string()))?;
    Ok(Scanned { source: Arc::new(source), root })
}
