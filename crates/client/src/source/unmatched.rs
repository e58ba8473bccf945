//! Finds patterns that match nothing without reading files, so that they are reported with all
//! other mistakes before the files are scanned.

use std::fs;
use std::path::Path;

use super::error::SourceError;
use super::exclude::Exclude;
use super::include::{Include, Unmatched};
use super::options::SourceOptions;
use super::rules::{Rules, Verdict};

/// The invalid patterns, with the reasons.
pub fn broken_patterns(options: &SourceOptions) -> Vec<SourceError> {
    let include = options.include.iter().filter_map(|pattern| Include::new(std::slice::from_ref(pattern)).err());
    let exclude =
        options.exclude.iter().filter_map(|pattern| Exclude::new(std::slice::from_ref(pattern), None, true).err());
    include.chain(exclude).collect()
}

/// The `include` patterns that match nothing below `path`. Stops as soon as every pattern has a
/// match.
pub fn unmatched(path: &Path, options: &SourceOptions) -> Result<Vec<Unmatched>, SourceError> {
    let rules = Rules::of_folder(path, options)?;
    let mut folders = vec![rules.root()];
    while let Some(folder) = folders.pop() {
        if rules.include.all_matched() {
            break;
        }
        let folder = rules.enter(path, folder)?;
        let here = path.join(&folder.path);
        let Ok(entries) = fs::read_dir(&here) else { continue };
        for entry in entries.flatten() {
            // The scan itself reports unreadable entries.
            let (Some(name), Ok(kind)) = (entry.file_name().to_str().map(str::to_owned), entry.file_type()) else {
                continue;
            };
            let below = if folder.path.is_empty() { name } else { [folder.path.as_str(), "/", &name].concat() };
            if let Verdict::Enter { folder, .. } = rules.verdict(&folder, &below, kind.is_dir()) {
                folders.push(folder);
            }
        }
    }
    Ok(rules.include.unmatched())
}
