//! Converts a folder of specs to an outline, with paths relative to the manifest and files for
//! embedded bytes.

use std::path::{Path, PathBuf};

use milepost_client::source::Source;

use super::super::{Declared, DeclaredUnit, FileSet, Selection, TreeSlot};
use super::disk::{failed, put_tree};
use super::outline::{Files, Outline, OutlineUnit, Unsaid};
use super::paths::{absolute, relative, takes};
use crate::error::{Error, Result};
use crate::scanner::Scanner;

/// The folder next to the manifest for files that had no path.
pub const COPIES: &str = "imported";

/// An outline, and the files that must be written for it.
pub struct Sheet {
    pub outline: Outline,
    pub copies: Vec<Copy>,
    pub notes: Vec<Unsaid>,
}

/// Files that are copied to a new path.
pub struct Copy {
    source: Source,
    /// Relative to the folder of the manifest.
    to: PathBuf,
}

/// `folder` is the absolute path of the folder of the manifest, and `name` its file name.
pub async fn of_specs(scanner: &Scanner, declared: &Declared, folder: &Path, name: &str) -> Result<Sheet> {
    let mut sheet = Sheet { outline: Outline::default(), copies: Vec::new(), notes: Vec::new() };
    sheet.outline.app.clone_from(&declared.app);
    sheet.outline.deployment = Some(declared.deployment.clone());
    let mut units = Vec::new();
    for unit in &declared.units {
        let mut files = Vec::new();
        for (slot, set) in &unit.trees {
            files.push((*slot, sheet.files(scanner, unit, *slot, set, folder).await?));
        }
        units.push(OutlineUnit { put: unit.put.clone(), files });
    }
    // Exclude the manifest and the written files from the trees that it declares.
    let mut written = vec![(folder.join(name), format!("/{name}"))];
    for copy in &sheet.copies {
        for (path, _) in copy.source.tree()?.iter() {
            written.push((folder.join(&copy.to).join(path), format!("/{COPIES}/")));
        }
    }
    for (unit, declared) in units.iter_mut().zip(&declared.units) {
        for ((_, files), (_, set)) in unit.files.iter_mut().zip(&declared.trees) {
            if let FileSet::Files(selection) = set
                && selection.root.is_dir()
            {
                leave_out(files, &absolute(&selection.root)?, folder, &written);
            }
        }
    }
    sheet.outline.units = units;
    Ok(sheet)
}

impl Sheet {
    async fn files(
        &mut self,
        scanner: &Scanner,
        unit: &DeclaredUnit,
        slot: TreeSlot,
        set: &FileSet,
        folder: &Path,
    ) -> Result<Files> {
        match set {
            FileSet::Files(Selection { root, include, exclude, documents, .. }) => {
                let everything = include.as_slice() == ["**"];
                let include = if everything { Vec::new() } else { include.clone() };
                // A manifest has `include` and `exclude` for only one of the two.
                let second = slot == TreeSlot::Deployment && unit.trees.len() > 1;
                if second && (!include.is_empty() || !exclude.is_empty()) {
                    let files = self.copy(scanner, unit, slot, set).await?;
                    let message = format!("its prebuilt files were copied to `{}`", files.path);
                    self.notes.push(Unsaid { key: unit.key(), message });
                    return Ok(files);
                }
                let unfit = || Error::NotUtf8 { place: unit.place.clone(), path: root.clone() };
                let path = relative(folder, &absolute(root)?).ok_or_else(unfit)?;
                // Reading the manifest excludes the manifest itself, but not the specs.
                let taken = |pattern: &&String| takes(&include, &pattern.trim_start_matches('/').replace("**/*", "x"));
                let exclude = exclude.iter().chain(documents.iter().filter(taken)).cloned().collect();
                Ok(Files { path, include, exclude })
            }
            FileSet::Literal { .. } => self.copy(scanner, unit, slot, set).await,
        }
    }

    async fn copy(&mut self, scanner: &Scanner, unit: &DeclaredUnit, slot: TreeSlot, set: &FileSet) -> Result<Files> {
        let source = scanner.files(set).await?;
        let mut to = Path::new(COPIES).join(unit.put.name.as_str());
        if unit.trees.len() > 1 {
            to.push(if slot == TreeSlot::Source { "source" } else { "deployment" });
        }
        let mut path = relative(Path::new(""), &to).unwrap_or_default();
        if let FileSet::Literal { name, .. } = set
            && source.tree()?.get(name).is_some()
        {
            // A single file that is not a zip.
            path = format!("{path}/{name}");
        }
        self.copies.push(Copy { source, to });
        Ok(Files { path, ..Files::default() })
    }

    /// Writes all copies or none, and returns the number of files.
    pub fn place_copies(&self, folder: &Path) -> Result<u64> {
        if self.copies.is_empty() {
            return Ok(0);
        }
        if let Some(copy) = self.copies.iter().find(|copy| folder.join(&copy.to).symlink_metadata().is_ok()) {
            return Err(Error::Exists { path: copy.to.clone() });
        }
        let scratch = tempfile::tempdir_in(folder).map_err(|error| failed(folder, error))?;
        let mut files = 0;
        for copy in &self.copies {
            files += put_tree(&copy.source, &scratch.path().join(&copy.to))?;
        }
        for copy in &self.copies {
            let place = folder.join(&copy.to);
            if let Some(parent) = place.parent() {
                std::fs::create_dir_all(parent).map_err(|error| failed(parent, error))?;
            }
            std::fs::rename(scratch.path().join(&copy.to), &place).map_err(|error| failed(&place, error))?;
        }
        Ok(files)
    }
}

/// Excludes the written files from a selection that contains them.
fn leave_out(files: &mut Files, root: &Path, folder: &Path, written: &[(PathBuf, String)]) {
    let Some(prefix) = folder.strip_prefix(root).ok().and_then(Path::to_str) else { return };
    for (path, pattern) in written {
        let Some(path) = path.strip_prefix(root).ok().and_then(Path::to_str) else { continue };
        let pattern = if prefix.is_empty() { pattern.clone() } else { format!("/{prefix}{pattern}") };
        if takes(&files.include, path) && !files.exclude.contains(&pattern) {
            files.exclude.push(pattern);
        }
    }
}
