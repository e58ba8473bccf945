//! Recognises what a folder is, for a manifest to start from.

mod node;
mod python;

use std::path::Path;

use super::app_name;

/// What `milepost init` writes.
#[derive(Debug)]
pub struct Starter {
    pub manifest: String,
    /// Further files that it needs, by name. None of them is there.
    pub files: Vec<(String, String)>,
    /// What else there is to do.
    pub notes: Vec<String>,
}

/// A function that serves everything, or one page.
#[derive(Debug, Default)]
struct Program {
    env: &'static str,
    src: String,
    entrypoint: Option<String>,
    exclude: Vec<&'static str>,
    /// Whether it does its own routing.
    is_application: bool,
    files: Vec<(String, String)>,
    notes: Vec<String>,
}

/// A manifest for a folder whose content is plain to see: an application of a known framework, a program, or pages.
pub fn starter(folder: &Path) -> Option<Starter> {
    let name = app_name(folder);
    if let Some(site) = node::site(folder, &name) {
        return Some(site);
    }
    if let Some(program) = node::program(folder).or_else(|| python::program(folder)) {
        return Some(program.starter(&name));
    }
    let page =
        ["public", "dist", "build", "."].into_iter().find(|place| folder.join(place).join("index.html").is_file())?;
    let manifest = format!("app: {name}\nstatic:\n  - src: {page}\n    path: /\n");
    Some(Starter { manifest, files: Vec::new(), notes: Vec::new() })
}

impl Program {
    fn starter(self, name: &str) -> Starter {
        let Self { env, src, entrypoint, exclude, is_application, files, notes } = self;
        let entrypoint = entrypoint.map(|entrypoint| format!("    entrypoint: {entrypoint}\n")).unwrap_or_default();
        let exclude =
            if exclude.is_empty() { String::new() } else { format!("    exclude: [{}]\n", exclude.join(", ")) };
        // An application answers every path and method by itself.
        let route = if is_application {
            format!("  - {{ path: /, function: {name}, prefix: true }}\n")
        } else {
            format!("  - GET /: {name}\n")
        };
        let manifest = format!(
            "app: {name}\nfunctions:\n  {name}:\n    env: {env}\n    src: {src}\n{entrypoint}{exclude}routes:\n{route}"
        );
        Starter { manifest, files, notes }
    }
}

/// The text of a file of the folder that is worth reading.
fn text(folder: &Path, name: &str) -> Option<String> {
    const MOST: u64 = 1 << 20;
    let path = folder.join(name);
    let size = path.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
    if size > MOST { None } else { std::fs::read_to_string(path).ok() }
}

/// Whether a function can be this file alone: nothing that it could read lies beside it. Hidden files, the manifest and files
/// about the project do not count.
fn is_alone(folder: &Path, file: &str) -> bool {
    const ABOUT: [&str; 5] = ["milepost.yaml", "README.md", "README", "LICENSE", "CHANGELOG.md"];
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    entries.flatten().all(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name == file || name.starts_with('.') || ABOUT.contains(&&*name) || name == "__pycache__"
    })
}

/// Of these folders those that are there, and that the ignore files do not name: what tools put there is made anew.
fn to_exclude(folder: &Path, names: &[&'static str]) -> Vec<&'static str> {
    let ignored = text(folder, ".gitignore").unwrap_or_default();
    let is_ignored = |name: &str| ignored.lines().any(|line| line.trim().trim_matches('/') == name.trim_matches('/'));
    names.iter().copied().filter(|name| folder.join(name).is_dir() && !is_ignored(name)).collect()
}
