//! Reads the state of the git repository with the `git` command.

use std::path::{Path, PathBuf};

use milepost_model::change::GitFacts;
use tokio::process::Command;

/// The git facts of the folder. None without a repository, a commit or the `git` command. It is
/// clean if the folder and those `sources` that are in the repository have no changes.
pub async fn facts(folder: &Path, sources: &[&Path]) -> Option<GitFacts> {
    // All at once: each is a process, and a deploy of an unchanged folder does little else.
    let (status, subject, remote) = tokio::join!(
        status(folder, sources),
        ask(folder, &["log", "-1", "--format=%s"]),
        ask(folder, &["remote", "get-url", "origin"])
    );
    let mut facts = read_status(&status?)?;
    facts.subject = subject.map(|subject| subject.trim().to_owned()).filter(|subject| !subject.is_empty());
    facts.remote = remote.map(|remote| without_password(remote.trim())).filter(|remote| !remote.is_empty());
    Some(facts)
}

/// The state of the folder and of the sources beside it.
async fn status(folder: &Path, sources: &[&Path]) -> Option<String> {
    let mut args = vec!["status", "--porcelain=v2", "--branch", "--untracked-files=normal", "--", "."];
    let beside = beside(folder, sources);
    if beside.is_empty() {
        return ask(folder, &args).await;
    }
    // Git refuses paths outside of the repository.
    let top = ask(folder, &["rev-parse", "--show-toplevel"]).await?;
    let specs = below(Path::new(top.trim_end_matches('\n')), beside);
    args.extend(specs.iter().map(String::as_str));
    ask(folder, &args).await
}

/// The real paths of the sources that are not below the folder.
fn beside(folder: &Path, sources: &[&Path]) -> Vec<PathBuf> {
    let folder = named(folder).canonicalize().unwrap_or_else(|_| folder.to_owned());
    let real = |source: &&Path| source.canonicalize().ok().filter(|source| !source.starts_with(&folder));
    sources.iter().filter_map(real).collect()
}

/// The paths inside the repository as pathspecs, without those below other paths.
fn below(top: &Path, mut found: Vec<PathBuf>) -> Vec<String> {
    found.retain(|path| path.starts_with(top));
    found.sort_unstable();
    found.dedup_by(|later, earlier| later.starts_with(&*earlier));
    // A name may contain pattern characters of git.
    found.into_iter().filter_map(|path| Some(format!(":(literal){}", path.to_str()?))).collect()
}

/// Whether HEAD contains this commit. False if the repository does not have the commit.
pub async fn contains(folder: &Path, commit: &str) -> bool {
    // The value comes from the server and must not be parsed as an option.
    let plain = !commit.is_empty() && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    plain && ask(folder, &["merge-base", "--is-ancestor", commit, "HEAD"]).await.is_some()
}

/// The author of a commit, if the repository has it.
pub async fn author(folder: &Path, commit: &str) -> Option<String> {
    let plain = !commit.is_empty() && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    let author = if plain { ask(folder, &["log", "-1", "--format=%an", commit]).await } else { None };
    author.map(|author| author.trim().to_owned()).filter(|author| !author.is_empty())
}

async fn ask(folder: &Path, args: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    // Do not lock the index: another process may be using the repository.
    command.arg("-C").arg(named(folder)).args(args).env("GIT_OPTIONAL_LOCKS", "0").kill_on_drop(true);
    let output = command.stdin(std::process::Stdio::null()).output().await.ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The current directory has an empty path.
fn named(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

fn read_status(text: &str) -> Option<GitFacts> {
    let header = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let commit = header("# branch.oid ").filter(|commit| *commit != "(initial)")?.to_owned();
    let branch = header("# branch.head ").filter(|branch| *branch != "(detached)").unwrap_or_default().to_owned();
    let clean = text.lines().all(|line| line.starts_with('#'));
    Some(GitFacts { commit, branch, clean, remote: None, subject: None })
}

/// Removes credentials from the URL of a repository, so that they do not end up in the history.
fn without_password(remote: &str) -> String {
    match remote.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
            let host = host.rsplit('@').next().unwrap_or(host);
            format!("{scheme}://{host}/{path}").trim_end_matches('/').to_owned()
        }
        None => remote.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_commit_branch_and_clean_state() {
        let clean = "# branch.oid 0123abcd\n# branch.head main\n# branch.upstream origin/main\n# branch.ab +0 -0\n";
        let facts = read_status(clean).expect("facts");
        assert_eq!((facts.commit.as_str(), facts.branch.as_str(), facts.clean), ("0123abcd", "main", true));
        let dirty = format!("{clean}? new.txt\n");
        assert!(!read_status(&dirty).expect("facts").clean);
        assert_eq!(read_status("# branch.oid (initial)\n# branch.head main\n"), None);
        assert_eq!(read_status("# branch.oid 01\n# branch.head (detached)\n").expect("facts").branch, "");
    }

    #[test]
    fn removes_credentials_from_urls() {
        assert_eq!(without_password("https://me:token@example.org/a/b.git"), "https://example.org/a/b.git");
        assert_eq!(without_password("git@example.org:a/b.git"), "git@example.org:a/b.git");
    }
}
