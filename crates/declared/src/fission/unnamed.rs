//! The deployment of a folder without a `DeploymentConfig`. It is the same for every checkout, and
//! different for every folder.

use std::path::Path;
use std::process::{Command, Stdio};

use milepost_model::change::Deployment;

/// The prefix of the ids of such deployments.
const PREFIX: &str = "spec:";

/// Combines the address of the repository with the path of the folder in it. Without an address,
/// uses the last two names of the absolute path.
pub fn unnamed(folder: &Path) -> Deployment {
    let full = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let id = in_repository(&full).unwrap_or_else(|| {
        let names: Vec<String> = full
            .components()
            .filter_map(|part| match part {
                std::path::Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
                _ => None,
            })
            .collect();
        names[names.len().saturating_sub(2)..].join("/")
    });
    let id = format!("{PREFIX}{id}");
    Deployment { name: id.clone(), id }
}

fn in_repository(folder: &Path) -> Option<String> {
    let remote = plain_remote(&ask(folder, &["remote", "get-url", "origin"])?)?;
    let top = ask(folder, &["rev-parse", "--show-toplevel"])?;
    let below = folder.strip_prefix(&top).ok()?.to_string_lossy();
    Some(if below.is_empty() { remote } else { format!("{remote}/{below}") })
}

fn ask(folder: &Path, args: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(args).env("GIT_OPTIONAL_LOCKS", "0");
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
    let text = text.trim_end_matches(['\r', '\n']);
    (!text.is_empty()).then(|| text.to_owned())
}

/// Normalises a remote to `example.org/team/shop`, whatever the protocol, user, port, password or
/// `.git` suffix of the clone URL.
fn plain_remote(remote: &str) -> Option<String> {
    let remote = remote.trim();
    let (host, path) = match remote.split_once("://") {
        Some((_, rest)) => rest.split_once('/').unwrap_or((rest, "")),
        // `git@example.org:team/shop.git`. A local path has no colon before its first slash.
        None => match remote.split_once(':') {
            Some((host, path)) if !host.contains('/') => (host, path),
            _ => ("", remote),
        },
    };
    let host = host.rsplit('@').next().unwrap_or(host);
    let host = host.split(':').next().unwrap_or(host).to_lowercase();
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
    let parts: Vec<&str> = [host.as_str(), path].into_iter().filter(|part| !part.is_empty()).collect();
    (!parts.is_empty()).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_clone_urls_of_a_repository_have_the_same_name() {
        for remote in [
            "https://example.org/team/shop.git",
            "https://me:token@Example.org/team/shop",
            "https://example.org:8443/team/shop/",
            "ssh://git@example.org:22/team/shop.git",
            "git@example.org:team/shop.git",
            "example.org:/team/shop.git/",
        ] {
            assert_eq!(plain_remote(remote).as_deref(), Some("example.org/team/shop"), "{remote}");
        }
        assert_eq!(plain_remote("/srv/git/shop.git").as_deref(), Some("srv/git/shop"));
        assert_eq!(plain_remote("file:///srv/git/shop.git").as_deref(), Some("srv/git/shop"));
        assert_eq!(plain_remote("https://"), None);
    }

    #[test]
    fn folders_without_a_repository_are_distinct_deployments() {
        let place = tempfile::tempdir().expect("a folder");
        let ids = ["one", "two"].map(|name| {
            let folder = place.path().join(name).join("specs");
            std::fs::create_dir_all(&folder).expect("a folder");
            unnamed(&folder).id
        });
        assert_eq!(ids, ["spec:one/specs", "spec:two/specs"]);
    }

    #[test]
    fn a_folder_in_a_repository_is_named_by_remote_and_path() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = place.path().join("services/a/specs");
        std::fs::create_dir_all(&folder).expect("a folder");
        let git = |args: &[&str]| {
            let done = Command::new("git").arg("-C").arg(place.path()).args(args).output().expect("git");
            assert!(done.status.success(), "{args:?}");
        };
        git(&["init", "--quiet"]);
        git(&["remote", "add", "origin", "git@example.org:team/shop.git"]);
        let found = unnamed(&folder);
        assert_eq!(found.id, "spec:example.org/team/shop/services/a/specs");
    }
}
