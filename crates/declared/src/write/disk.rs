//! Writes new files, never over existing ones.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::Path;

use milepost_client::source::Source;
use milepost_model::tree::Leaf;

use crate::error::{Error, Result};

/// Writes a file of the user, and fails if it exists.
pub fn write_new(path: &Path, text: &str) -> Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).map_err(|error| failed(path, error))?;
    file.write_all(text.as_bytes()).map_err(|error| failed(path, error))
}

/// Writes the files of a tree into a new folder, with executable bits and links, and returns their
/// number. Blocking.
pub fn put_tree(source: &Source, folder: &Path) -> Result<u64> {
    fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    let mut count = 0;
    // Links are created last, so that nothing is written through one.
    let mut links = Vec::new();
    for (path, leaf) in source.tree()?.iter() {
        let place = folder.join(path);
        if let Some(parent) = place.parent() {
            fs::create_dir_all(parent).map_err(|error| failed(parent, error))?;
        }
        count += 1;
        match leaf {
            Leaf::Link { target } => links.push((place, target)),
            Leaf::File(file) => {
                let mode = if file.executable { 0o777 } else { 0o666 };
                let mut to: File = OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .mode(mode)
                    .open(&place)
                    .map_err(|error| failed(&place, error))?;
                io::copy(&mut source.open_blob(&file.digest)?, &mut to).map_err(|error| failed(&place, error))?;
            }
        }
    }
    for (place, target) in links {
        symlink(target, &place).map_err(|error| failed(&place, error))?;
    }
    Ok(count)
}

pub fn failed(path: &Path, source: io::Error) -> Error {
    Error::Unwritable { path: path.to_owned(), source }
}
