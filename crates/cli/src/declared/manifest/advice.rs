//! Advice for users whose folder has no manifest.

use std::path::Path;

use super::FILE_NAME;
use super::recognise::starter;

/// Suggests a next step, with a starter manifest if the content of the folder is recognised.
pub fn advice(folder: &Path, verb: &str) -> String {
    if folder.join("milepost.yml").is_file() {
        return format!("rename `milepost.yml` to `{FILE_NAME}`");
    }
    match starter(folder) {
        Some(starter) => {
            let indented: String = starter.manifest.lines().map(|line| format!("    {line}\n")).collect();
            format!(
                "run `milepost init {}` to write this manifest, based on the files in the folder:\n\n{indented}",
                folder.display()
            )
        }
        None => format!(
            "pass a folder that has one, like `milepost {verb} examples/hello`, or create one with `milepost init`"
        ),
    }
}

/// Derives an app name from the name of the folder.
pub fn app_name(folder: &Path) -> String {
    let name = folder.canonicalize().ok().and_then(|folder| Some(folder.file_name()?.to_string_lossy().to_lowercase()));
    let mut plain = String::new();
    for letter in name.unwrap_or_default().chars() {
        if letter.is_ascii_lowercase() || letter.is_ascii_digit() {
            plain.push(letter);
        } else if !plain.is_empty() && !plain.ends_with('-') {
            plain.push('-');
        }
    }
    plain.truncate(40);
    let plain = plain.trim_end_matches('-');
    if plain.parse::<milepost_model::AppName>().is_ok() { plain.to_owned() } else { "hello".to_owned() }
}
