//! Secrets of webhooks: generated, or read from a file or stdin, so that the shell history does not
//! keep them.

use std::path::Path;

use milepost_model::{IdSource, OsIds};

use crate::failure::{Failure, Result};

/// 32 random bytes in hexadecimal.
pub fn make() -> String {
    let mut random = [0u8; 32];
    OsIds.fill(&mut random);
    random.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads a secret from a file, or stdin for `-`. Removes one trailing newline, as added by `echo`
/// and editors.
pub fn read(path: &Path) -> Result<String> {
    let text = if path == Path::new("-") {
        std::io::read_to_string(std::io::stdin())
            .map_err(|error| Failure::new("could not read the secret").caused_by(&error))?
    } else {
        std::fs::read_to_string(path).map_err(|error| Failure::unreadable(path, &error))?
    };
    let text = text.strip_suffix('\n').unwrap_or(&text).to_owned();
    if text.is_empty() {
        return Err(
            Failure::usage("the secret is empty").hint("give a file with a secret, or use `--signed` to generate one")
        );
    }
    Ok(text)
}
