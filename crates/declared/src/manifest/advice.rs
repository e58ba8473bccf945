//! Values that a new manifest starts with.

use std::path::Path;

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
