//! What to tell somebody whose folder has no manifest.

use std::path::Path;

use super::FILE_NAME;

/// A next step, with a manifest to start from when the folder shows what it could be about.
pub fn advice(folder: &Path, verb: &str) -> String {
    if folder.join("milepost.yml").is_file() {
        return format!("rename `milepost.yml` to `{FILE_NAME}`");
    }
    match starter(folder) {
        Some(starter) => {
            let indented: String = starter.lines().map(|line| format!("    {line}\n")).collect();
            format!("`milepost init {}` writes this, from what is there:\n\n{indented}", folder.display())
        }
        None => format!(
            "name a folder that has one, like `milepost {verb} examples/hello`, or start one with `milepost init`"
        ),
    }
}

/// A manifest for a folder whose content is plain to see: one program with a usual name, or a page.
pub fn starter(folder: &Path) -> Option<String> {
    let has = |name: &str| folder.join(name).is_file();
    let functions = [
        ("main.py", "python", "main.main"),
        ("app.py", "python", "app.main"),
        ("index.js", "node", ""),
        ("index.mjs", "node", ""),
    ];
    let name = app_name(folder);
    if let Some((file, env, entrypoint)) = functions.into_iter().find(|(file, ..)| has(file)) {
        let entrypoint = if entrypoint.is_empty() { String::new() } else { format!("    entrypoint: {entrypoint}\n") };
        return Some(format!(
            "app: {name}\nfunctions:\n  {name}:\n    env: {env}\n    src: {file}\n{entrypoint}routes:\n  - GET /: {name}\n"
        ));
    }
    let page =
        ["public", "dist", "build", "."].into_iter().find(|place| folder.join(place).join("index.html").is_file())?;
    let exclude = if page == "." { format!("    exclude: [{FILE_NAME}]\n") } else { String::new() };
    Some(format!("app: {name}\nstatic:\n  - src: {page}\n    path: /\n{exclude}"))
}

/// The name of the folder, as far as it can be the name of an app.
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
