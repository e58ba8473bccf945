//! Git facts of an app version, as one line.

use milepost_model::GitFacts;

use super::printable;

/// Characters of a commit hash that are shown.
const SHORT: usize = 10;

/// `9e0446e96c on main (dirty)`
pub fn git_short(git: &GitFacts) -> String {
    let commit: String = git.commit.chars().take(SHORT).collect();
    let branch = if git.branch.is_empty() { String::new() } else { format!(" on {}", printable(&git.branch)) };
    let dirty = if git.clean { "" } else { " (dirty)" };
    format!("{commit}{branch}{dirty}")
}

/// The long form, for one app version: commit, branch, clean or dirty, subject and remote.
pub fn git_whole(git: &GitFacts) -> String {
    let branch = if git.branch.is_empty() { String::new() } else { format!(" on {}", printable(&git.branch)) };
    let clean = if git.clean { "clean" } else { "dirty" };
    let subject = git.subject.as_ref().map(|subject| format!(": {}", printable(subject))).unwrap_or_default();
    let remote = git.remote.as_ref().map(|remote| format!(", from {}", printable(remote))).unwrap_or_default();
    format!("{}{branch} ({clean}){subject}{remote}", git.commit)
}
