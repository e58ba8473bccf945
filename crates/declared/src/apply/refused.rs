//! Lists all files of a folder that cannot be deployed. A scan stops at the first link that leaves
//! the folder, or special file.

use std::path::PathBuf;

use milepost_client::source::{self, SourceError};

use crate::Selection;

/// Any further files are only counted.
const MOST: usize = 1000;

/// One sentence for each file, with its path relative to the current directory.
pub async fn all(selection: Selection) -> Vec<String> {
    tokio::task::spawn_blocking(move || find(&selection, MOST)).await.unwrap_or_default()
}

fn find(selection: &Selection, most: usize) -> Vec<String> {
    let mut sentences: Vec<String> = source::refused(&selection.root, &selection.options())
        .into_iter()
        .map(|error| sentence(selection, error))
        .collect();
    sentences.sort();
    let more = sentences.len().saturating_sub(most);
    sentences.truncate(most);
    if more > 0 {
        sentences.push(format!("{more} more in `{}` cannot be deployed", selection.root.display()));
    }
    sentences
}

fn sentence(selection: &Selection, mut error: SourceError) -> String {
    let shown = |path: PathBuf| path.strip_prefix("./").unwrap_or(&path).display().to_string();
    match &mut error {
        // These errors have paths relative to the root.
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
    fn lists_all_escaping_links_and_sockets_with_full_paths() {
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
        let sentences = find(&selection, MOST);
        assert_eq!(sentences.len(), 3, "{sentences:#?}");
        for name in ["l1", "deep/l[2]", "s"] {
            let path = format!("`{}`", root.join(name).display());
            assert!(sentences.iter().any(|sentence| sentence.contains(&path)), "{path} is not in {sentences:#?}");
        }
    }

    #[test]
    fn lists_up_to_the_limit_and_counts_the_rest() {
        let place = tempfile::tempdir().expect("a folder");
        std::fs::write(place.path().join("hello.py"), "x = 1\n").expect("a file");
        for at in 0..50 {
            symlink("/etc/passwd", place.path().join(format!("l{at:02}"))).expect("a link");
        }
        // Each link stays inside, but together they lead outside.
        std::fs::create_dir(place.path().join("d")).expect("a folder");
        symlink("..", place.path().join("d/up")).expect("a link");
        symlink("d/up/..", place.path().join("out")).expect("a link");
        let (root, include, exclude) = (place.path().to_owned(), Vec::new(), Vec::new());
        let selection =
            Selection { root, include, exclude, documents: Vec::new(), keep_archives: false, gitignore: true };
        let sentences = find(&selection, MOST);
        assert_eq!(sentences.len(), 51, "{sentences:#?}");
        assert!(sentences.iter().any(|sentence| sentence.contains("out` points to `d/up/..`")), "{sentences:#?}");
        let cut = find(&selection, 10);
        assert_eq!(cut.len(), 11, "{cut:#?}");
        assert!(cut[10].starts_with("41 more in `"), "{cut:#?}");
    }
}
