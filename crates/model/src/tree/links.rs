//! Checks that symbolic links stay inside the tree, each by itself and followed through each other.

use super::{FileEntry, Leaf, MAX_PATH, Tree, TreeError};

/// More links in a row than any file system follows.
const MAX_HOPS: usize = 40;
/// Path components visited while following all links of a tree. Real trees need far fewer, and this
/// many still take under a second.
const MAX_LINK_STEPS: usize = 1_000_000;

impl Tree {
    /// Follows every link through other links, as a file system would. [`Tree::insert`] checks each
    /// target only lexically, but `d/up -> ..` and `out -> d/up/..` stay inside lexically and
    /// escape together.
    pub fn check_links(&self) -> Result<(), TreeError> {
        let mut steps = 0;
        for (path, leaf) in &self.leaves {
            if let Leaf::Link { target } = leaf
                && self.climbs_out(path, target, &mut steps)?
            {
                return Err(TreeError::LinkEscapes { path: path.clone(), target: target.clone() });
            }
        }
        Ok(())
    }

    /// The file at a path, following links as a file system would.
    pub fn file_at(&self, path: &str) -> Option<&FileEntry> {
        let mut ahead: Vec<&str> = path.rsplit('/').collect();
        let mut here = String::new();
        let mut hops = 0;
        while let Some(part) = ahead.pop() {
            match part {
                "" | "." => continue,
                ".." => {
                    go_up(&mut here);
                    continue;
                }
                name => {
                    here.push_str(if here.is_empty() { "" } else { "/" });
                    here.push_str(name);
                }
            }
            match self.leaves.get(&here) {
                Some(Leaf::File(file)) => return ahead.is_empty().then_some(file),
                Some(Leaf::Link { target }) => {
                    hops += 1;
                    if hops > MAX_HOPS {
                        return None;
                    }
                    go_up(&mut here);
                    ahead.extend(target.rsplit('/'));
                }
                None => {}
            }
        }
        None
    }

    fn climbs_out(&self, path: &str, target: &str, steps: &mut usize) -> Result<bool, TreeError> {
        let mut here = path.to_owned();
        go_up(&mut here);
        let mut ahead: Vec<&str> = target.rsplit('/').collect();
        let mut hops = 0;
        while let Some(part) = ahead.pop() {
            *steps += 1;
            if *steps > MAX_LINK_STEPS {
                return Err(TreeError::TooManyLinks);
            }
            match part {
                "" | "." => continue,
                ".." if here.is_empty() => return Ok(true),
                ".." => {
                    go_up(&mut here);
                    continue;
                }
                name => {
                    here.push_str(if here.is_empty() { "" } else { "/" });
                    here.push_str(name);
                }
            }
            if let Some(Leaf::Link { target }) = self.leaves.get(&here) {
                hops += 1;
                if hops > MAX_HOPS {
                    // A cycle leads nowhere, so it does not escape either.
                    return Ok(false);
                }
                go_up(&mut here);
                ahead.extend(target.rsplit('/'));
            }
        }
        Ok(false)
    }
}

fn go_up(path: &mut String) {
    path.truncate(path.rfind('/').unwrap_or(0));
}

/// Follows a link's target lexically: it may climb, but never above the root of the tree.
pub(super) fn check_letters(path: &str, target: &str) -> Result<(), TreeError> {
    let wrong = || TreeError::LinkEscapes { path: path.to_owned(), target: target.to_owned() };
    if target.is_empty() || target.starts_with('/') || target.contains(['\\', '\0']) {
        return Err(wrong());
    }
    if target.len() > MAX_PATH {
        return Err(TreeError::TooLong(target.chars().take(80).collect()));
    }
    let mut depth = path.matches('/').count();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => depth = depth.checked_sub(1).ok_or_else(wrong)?,
            _ => depth += 1,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_links(links: &[(&str, &str)]) -> Tree {
        let mut tree = Tree::default();
        for (path, target) in links {
            tree.insert(path, Leaf::Link { target: (*target).to_owned() }).expect("inside by its letters");
        }
        tree
    }

    #[test]
    fn rejects_chains_of_links_that_leave_the_tree() {
        for (links, out, target) in [
            ([("d1/d2/up", "../../here"), ("here", "."), ("out", "d1/d2/up/..")], "out", "d1/d2/up/.."),
            ([("a", "d/up/.."), ("d/up", ".."), ("e", "d")], "a", "d/up/.."),
        ] {
            let escapes = TreeError::LinkEscapes { path: out.to_owned(), target: target.to_owned() };
            assert_eq!(of_links(&links).check_links(), Err(escapes));
        }
    }

    #[test]
    fn accepts_inner_links_and_cycles() {
        let inside = of_links(&[("a/b", "../c/d"), ("c/d", "e"), ("ring", "gnir"), ("gnir", "ring")]);
        assert_eq!(inside.check_links(), Ok(()));
    }

    #[test]
    fn file_at_follows_links() {
        let mut tree = of_links(&[("a/b", "../c/d"), ("c/d", "e"), ("ring", "gnir"), ("gnir", "ring"), ("dir", "c")]);
        let file = FileEntry { digest: crate::Digest::of(b"x"), size: 1, executable: false };
        tree.insert("c/e", Leaf::File(file)).expect("fits");
        for path in ["c/e", "c/d", "a/b", "dir/e", "dir/d"] {
            assert_eq!(tree.file_at(path), Some(&file), "{path}");
        }
        for path in ["ring", "c", "c/e/x", "nothing"] {
            assert_eq!(tree.file_at(path), None, "{path}");
        }
    }

    #[test]
    fn limits_the_work_of_following_links() {
        // Each link leads over a long path to the next, so each one costs as much as all links
        // after it.
        let way = format!("{}{}", "x/".repeat(200), "../".repeat(200));
        let links: Vec<(String, String)> =
            (0..100).map(|at| (format!("{at:04}"), format!("{way}{:04}", at + 1))).collect();
        let links: Vec<(&str, &str)> = links.iter().map(|(path, target)| (path.as_str(), target.as_str())).collect();
        assert_eq!(of_links(&links[90..]).check_links(), Ok(()));
        assert_eq!(of_links(&links).check_links(), Err(TreeError::TooManyLinks));
    }
}
