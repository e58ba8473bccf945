//! Finds cargo's target directory from a running test.

use std::env;
use std::path::{Path, PathBuf};

/// The target directory that this test was built into: the nearest ancestor of the test binary that
/// cargo has tagged as a cache.
pub fn target_dir() -> PathBuf {
    let test = env::current_exe().expect("the path of the running test");
    let tagged = test.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file());
    tagged.map(Path::to_path_buf).unwrap_or_else(|| panic!("{} is not in a cargo target folder", test.display()))
}
