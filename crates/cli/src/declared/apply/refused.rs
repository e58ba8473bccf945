//! What cannot be taken of a folder, all of it: a scan ends with the first link that leads out or pipe that it meets.

use std::path::PathBuf;

use milepost_client::source::{self, SourceError};

use crate::declared::Selection;

/// Whoever has more of them than this is told how many.
const MOST: usize = 1000;

/// One sentence each, with paths as people write them: from where the command runs.
pub async fn all(selection: Selection) -> Vec<String> {
    tokio::task::spawn_blocking(move || find(&selection, MOST)).await.unwrap_or_default()
}

fn find(selection: &Selection, most: usize) -> Vec<String> {
    let mut told: Vec<String> = source::refused(&selection.root, &selection.options())
        .into_iter()
        .map(|error| sentence(selection, error))
        .collect();
    told.sort();
    let more = told.len().saturating_sub(most);
    told.truncate(most);
    if more > 0 {
        told.push(format!("{more} more in `{}` cannot be taken", selection.root.display()));
    }
    told
}

fn sentence(selection: &Selection, mut error: SourceError) -> String {
    let shown = |path: PathBuf| path.strip_prefix("./").unwrap_or(&path).display().to_string();
    match &mut error {
        // These are told without the folder in front.
        SourceError::LinkLeaves { path, .. } | SourceError::BadPath { path, .. } => {
            *path = shown(selection.root.join(path.as_str()));
        }
        SourceError::NotRegular { path, .. } | SourceError::Unreadable { path, .. } => {
            *path = shown(PathBuf::from(path.as_str()));
        }
        _ => {}
    }
    error.to_string()
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
        let selection = Selection {
            root: root.clone(),
            include,
            exclude,
            documents: Vec::new(),
            keep_archives: false,
            gitignore: true,
        };
        let told = find(&selection, MOST);
        assert_eq!(told.len(), 3, "{told:#?}");
        for name in ["l1", "deep/l[2]", "s"] {
            let path = format!("`{}`", root.join(name).display());
            assert!(told.iter().any(|told| told.contains(&path)), "{path} is not in {told:#?}");
        }
    }

    #[test]
    fn many_are_told_all_and_very_many_are_counted() {
        let place = tempfile::tempdir().expect("a folder");
        std::fs::write(place.path().join("hello.py"), "x = 1\n").expect("a file");
        for at in 0..50 {
            symlink("/etc/passwd", place.path().join(format!("l{at:02}"))).expect("a link");
        }
        // Each of these stays inside by itself, and both together lead out.
        std::fs::create_dir(place.path().join("d")).expect("a folder");
        symlink("..", place.path().join("d/up")).expect("a link");
        symlink("d/up/..", place.path().join("out")).expect("a link");
        let (root, include, exclude) = (place.path().to_owned(), Vec::new(), Vec::new());
        let selection =
            Selection { root, include, exclude, documents: Vec::new(), keep_archives: false, gitignore: true };
        let told = find(&selection, MOST);
        assert_eq!(told.len(), 51, "{told:#?}");
        assert!(told.iter().any(|told| told.contains("out` points to `d/up/..`")), "{told:#?}");
        let cut = find(&selection, 10);
        assert_eq!(cut.len(), 11, "{cut:#?}");
        assert!(cut[10].starts_with("41 more in `"), "{cut:#?}");
    }
}
