//! Turns the command's output at `DEPLOY_PKG` into a tree. The command controls all of its content,
//! so no links are followed.

use std::fs;
use std::path::Path;

use milepost_client::source::{FolderLimits, Source, SourceOptions};
use milepost_model::spec::Runtime;
use milepost_runtime::BuildRoom;

/// Magic bytes of a zip. The second is for a zip without entries.
const ZIP: [&[u8; 4]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];

/// Matches the limit of a tree's entries, see `trees`. A command can create files, including sparse
/// ones, much faster than they can be read.
const LIMITS: FolderLimits = FolderLimits { most_files: Some(250_000), most_bytes: Some(10 << 30) };

/// Reads the result of a build. Blocks. The error is a sentence without a full stop.
pub(super) fn read(room: &BuildRoom, runtime: Runtime) -> Result<Source, String> {
    let unreadable = |error: std::io::Error| format!("$DEPLOY_PKG cannot be read: {error}");
    let mut path = room.result();
    let found = path.symlink_metadata().map_err(unreadable)?;
    if found.is_symlink() {
        return Err("$DEPLOY_PKG is a link; copy what it points at with `cp -r` instead".to_owned());
    }
    if found.is_file() && !is_zip(&path).map_err(unreadable)? {
        // A single file is the program itself, so it gets the name that the runtime looks for.
        let named = room.aside().join(name_of_one_file(runtime));
        fs::rename(&path, named).map_err(unreadable)?;
        path = room.aside();
    }
    let options = SourceOptions { ignore_files: false, folder_limits: LIMITS, ..SourceOptions::default() };
    Source::open(&path, &options, None).map_err(|error| {
        let text = match std::error::Error::source(&error) {
            Some(cause) => format!("{error} ({cause})"),
            None => error.to_string(),
        };
        format!("the result cannot be used: {}", text.replace(&*path.to_string_lossy(), "$DEPLOY_PKG"))
    })
}

fn is_zip(path: &Path) -> std::io::Result<bool> {
    use std::io::Read as _;
    let mut start = Vec::new();
    fs::File::open(path)?.take(4).read_to_end(&mut start)?;
    Ok(ZIP.iter().any(|mark| start == mark[..]))
}

fn name_of_one_file(runtime: Runtime) -> &'static str {
    match runtime {
        Runtime::Python => "main.py",
        Runtime::Node => "index.js",
        Runtime::Binary => "main",
        Runtime::Wasm => "main.wasm",
    }
}
