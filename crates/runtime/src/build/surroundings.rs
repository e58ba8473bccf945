//! What a build gets of the server's environment: package indexes, proxies, certificates, and the
//! files that these settings name.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// System-wide settings of package managers.
const FILES: [&str; 2] = ["/etc/pip.conf", "/etc/npmrc"];

pub(super) struct Surroundings {
    pub variables: Vec<(String, String)>,
    pub readable: Vec<PathBuf>,
}

/// Copies files that only the server can read to `tools`, which the build sees at `seen`. Other
/// files and directories named by a variable become readable in place if they `may_be_shown`.
pub(super) fn find(
    given: &[(String, String)],
    tools: &Path,
    seen: &Path,
    may_be_shown: impl Fn(&Path) -> bool,
) -> io::Result<Surroundings> {
    let mut found = Surroundings { variables: Vec::new(), readable: Vec::new() };
    found.readable.extend(FILES.map(PathBuf::from).into_iter().filter(|file| file.is_file()));
    for (name, value) in given {
        let whole = Path::new(value);
        if whole.is_absolute() && whole.metadata().is_ok_and(|file| file.is_file() && file.mode() & 0o004 == 0) {
            let copy = format!("file-{}", found.variables.len());
            fs::copy(whole, tools.join(&copy))?;
            fs::set_permissions(tools.join(&copy), Permissions::from_mode(0o444))?;
            found.variables.push((name.clone(), seen.join(copy).to_string_lossy().into_owned()));
            continue;
        }
        found.readable.extend(paths(value).filter(|path| may_be_shown(path)));
        found.variables.push((name.clone(), value.clone()));
    }
    Ok(found)
}

/// The paths in a value: one path, several separated by spaces (pip), or by colons (OpenSSL).
fn paths(value: &str) -> impl Iterator<Item = PathBuf> {
    value.split_whitespace().flat_map(|word| match word.split_once("://") {
        Some(("file", path)) => vec![PathBuf::from(path)],
        Some(_) => Vec::new(),
        None => word.split(':').map(PathBuf::from).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_named_files_and_folders_but_not_the_servers_own() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        for folder in ["data/run", "wheels", "more", "tools"] {
            fs::create_dir_all(path(folder)).unwrap();
        }
        let text = |name: &str| path(name).to_string_lossy().into_owned();
        for (file, mode) in [("ca.pem", 0o644), ("npmrc", 0o600)] {
            fs::write(path(file), file).unwrap();
            fs::set_permissions(path(file), Permissions::from_mode(mode)).unwrap();
        }
        let given = [
            ("PIP_FIND_LINKS", format!("{} file://{} https://wheels.example/x", text("wheels"), text("more"))),
            ("SSL_CERT_DIR", format!("/no/such/folder:{}", text("wheels"))),
            ("PIP_CERT", text("ca.pem")),
            ("NPM_CONFIG_USERCONFIG", text("npmrc")),
            ("PIP_CACHE_DIR", text("data")),
            ("PIP_SRC", "/".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value));
        let data = path("data").canonicalize().unwrap();
        let may_be_shown = |path: &Path| path.exists() && !data.starts_with(path.canonicalize().unwrap());
        let found = find(&given, &path("tools"), Path::new("/app"), may_be_shown).unwrap();
        let mut own: Vec<_> = found.readable.iter().filter(|shown| shown.starts_with(root.path())).cloned().collect();
        own.sort();
        own.dedup();
        assert_eq!(own, [path("ca.pem"), path("more"), path("wheels")]);
        assert!(!found.readable.contains(&PathBuf::from("/")));
        let config = found.variables.iter().find(|(name, _)| name == "NPM_CONFIG_USERCONFIG").unwrap();
        assert_eq!(config.1, "/app/file-3");
        assert_eq!(fs::read_to_string(path("tools/file-3")).unwrap(), "npmrc");
    }
}
