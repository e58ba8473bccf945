//! Where the author's tree stands, asked from the `git` command.

use std::path::Path;

use milepost_model::change::GitFacts;
use tokio::process::Command;

/// The facts about the folder; none when it is in no repository, has no commit yet, or there is no git.
pub async fn facts(folder: &Path) -> Option<GitFacts> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let status = ["status", "--porcelain=v2", "--branch", "--untracked-files=normal", "--", "."];
    let (status, subject, remote) = tokio::join!(
        ask(folder, &status),
        ask(folder, &["log", "-1", "--format=%s"]),
        ask(folder, &["remote", "get-url", "origin"])
    );
    let mut facts = read_status(&status?)?;
    facts.subject = subject.map(|subject| subject.trim().to_owned()).filter(|subject| !subject.is_empty());
    facts.remote = remote.map(|remote| without_password(remote.trim())).filter(|remote| !remote.is_empty());
    Some(facts)
}

async fn ask(folder: &Path, args: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    // Looking must not write: somebody else may be at work in the repository.
    command.arg("-C").arg(folder).args(args).env("GIT_OPTIONAL_LOCKS", "0").kill_on_drop(true);
    let output = command.stdin(std::process::Stdio::null()).output().await.ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn read_status(text: &str) -> Option<GitFacts> {
    let header = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let commit = header("# branch.oid ").filter(|commit| *commit != "(initial)")?.to_owned();
    let branch = header("# branch.head ").filter(|branch| *branch != "(detached)").unwrap_or_default().to_owned();
    let clean = text.lines().all(|line| line.starts_with('#'));
    Some(GitFacts { commit, branch, clean, remote: None, subject: None })
}

/// An address of a repository may carry a token; it is nobody's business in a history.
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
    fn the_status_tells_commit_branch_and_whether_the_tree_is_clean() {
        let clean = "# branch.oid 0123abcd\n# branch.head main\n# branch.upstream origin/main\n# branch.ab +0 -0\n";
        let facts = read_status(clean).expect("facts");
        assert_eq!((facts.commit.as_str(), facts.branch.as_str(), facts.clean), ("0123abcd", "main", true));
        let dirty = format!("{clean}? new.txt\n");
        assert!(!read_status(&dirty).expect("facts").clean);
        assert_eq!(read_status("# branch.oid (initial)\n# branch.head main\n"), None);
        assert_eq!(read_status("# branch.oid 01\n# branch.head (detached)\n").expect("facts").branch, "");
    }

    #[test]
    fn a_token_in_the_address_is_left_out() {
        assert_eq!(without_password("https://me:token@example.org/a/b.git"), "https://example.org/a/b.git");
        assert_eq!(without_password("git@example.org:a/b.git"), "git@example.org:a/b.git");
    }
}
