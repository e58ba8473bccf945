//! What cannot be taken of a folder, all of it: a scan ends with the first link that leads out or pipe that it meets.

use std::path::PathBuf;

use milepost_client::source::{Source, SourceError};

use crate::declared::Selection;

/// Each one is found by another scan; whoever has more than this many mends those first.
const MOST: usize = 20;

/// One sentence each, with paths as people write them: from where the command runs.
pub async fn all(selection: Selection) -> Vec<String> {
    tokio::task::spawn_blocking(move || find(&selection)).await.unwrap_or_default()
}

fn find(selection: &Selection) -> Vec<String> {
    let mut options = selection.options();
    let mut told = Vec::new();
    while told.len() < MOST {
        let Err(mut error) = Source::open(&selection.root, &options, None) else { break };
        let (path, shown) = match &mut error {
            SourceError::LinkLeaves { path, .. } | SourceError::BadPath { path, .. } => {
                let shown = selection.root.join(path.as_str());
                (path, shown)
            }
            // This one is told with the folder in front.
            SourceError::NotRegular { path, .. } => {
                let shown = PathBuf::from(path.as_str());
                (path, shown)
            }
            // It is told as it is, unless it only comes from what was left out to find more.
            other => {
                told.extend(told.is_empty().then(|| other.to_string()));
                break;
            }
        };
        let below = shown.strip_prefix(&selection.root).unwrap_or(&shown).to_string_lossy();
        let pattern = format!("/{}", literal(&below));
        *path = shown.strip_prefix("./").unwrap_or(&shown).display().to_string();
        if options.exclude.contains(&pattern) {
            break;
        }
        told.push(error.to_string());
        options.exclude.push(pattern);
    }
    told.sort();
    told
}

/// A pattern that fits this path alone.
fn literal(path: &str) -> String {
    let mut pattern = String::new();
    for letter in path.chars() {
        if matches!(letter, '*' | '?' | '[' | ']' | '{' | '}' | '!' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn every_link_that_leads_out_and_every_socket_is_told_with_its_whole_path() {
        let place = tempfile::tempdir().expect("a folder");
        let root = place.path().join("hello");
        std::fs::create_dir_all(root.join("deep")).expect("a folder");
        std::fs::write(root.join("hello.py"), "x = 1\n").expect("a file");
        symlink("/etc/passwd", root.join("l1")).expect("a link");
        symlink("../../up", root.join("deep/l[2]")).expect("a link");
        symlink("hello.py", root.join("fine")).expect("a link");
        symlink("nothing.py", root.join("dangling")).expect("a link");
        let _socket = std::os::unix::net::UnixListener::bind(root.join("s")).expect("a socket");
        let (include, exclude) = (Vec::new(), Vec::new());
        let selection = Selection { root: root.clone(), include, exclude, keep_archives: false, gitignore: true };
        let told = find(&selection);
        assert_eq!(told.len(), 3, "{told:#?}");
        for name in ["l1", "deep/l[2]", "s"] {
            let path = format!("`{}`", root.join(name).display());
            assert!(told.iter().any(|told| told.contains(&path)), "{path} is not in {told:#?}");
        }
    }
}
