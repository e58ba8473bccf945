//! Symbolic links may climb, but never out of the tree: neither by their letters nor through each other.

use super::{FileEntry, Leaf, MAX_PATH, Tree, TreeError};

/// More links in a row than any file system follows.
const MAX_HOPS: usize = 40;
/// Parts of paths that are walked to follow all links of a tree: far more than real trees have, and still done in a second.
const MAX_LINK_STEPS: usize = 1_000_000;

impl Tree {
    /// Follows every link through other links, as a file system would. [`Tree::insert`] reads a target by its letters
    /// alone; `d/up -> ..` and `out -> d/up/..` stay inside by their letters and climb out together.
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

    /// The file that stands at a path, through links as a file system would go.
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
                    // A circle leads nowhere, so not outside either.
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

/// Follows a link's target by its letters alone: it may climb, but never above the root of the tree.
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
    fn a_chain_of_links_cannot_climb_out() {
        for (links, out, target) in [
            ([("d1/d2/up", "../../here"), ("here", "."), ("out", "d1/d2/up/..")], "out", "d1/d2/up/.."),
            ([("a", "d/up/.."), ("d/up", ".."), ("e", "d")], "a", "d/up/.."),
        ] {
            let escapes = TreeError::LinkEscapes { path: out.to_owned(), target: target.to_owned() };
            assert_eq!(of_links(&links).check_links(), Err(escapes));
        }
    }

    #[test]
    fn links_that_stay_inside_and_circles_are_left_alone() {
        let inside = of_links(&[("a/b", "../c/d"), ("c/d", "e"), ("ring", "gnir"), ("gnir", "ring")]);
        assert_eq!(inside.check_links(), Ok(()));
    }

    #[test]
    fn a_link_leads_to_its_file() {
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
    fn following_links_has_an_end() {
        // Each link ends in the next one after a long way there: what one costs, all before it cost again.
        let way = format!("{}{}", "x/".repeat(200), "../".repeat(200));
        let links: Vec<(String, String)> =
            (0..100).map(|at| (format!("{at:04}"), format!("{way}{:04}", at + 1))).collect();
        let links: Vec<(&str, &str)> = links.iter().map(|(path, target)| (path.as_str(), target.as_str())).collect();
        assert_eq!(of_links(&links[90..]).check_links(), Ok(()));
        assert_eq!(of_links(&links).check_links(), Err(TreeError::TooManyLinks));
    }
}
