//! Links, followed through other links. `Tree::insert` reads a target by its letters; a link that passes through another
//! link can still climb out (`d/up -> ..`, `out -> d/up/..`), so the finished tree is followed as a file
//! system would.

use milepost_model::tree::{Leaf, Tree};

/// More hops than any file system follows.
const MAX_HOPS: usize = 40;

/// The first link that leaves the tree, with its target.
pub(super) fn first_leaving(tree: &Tree) -> Option<(&str, &str)> {
    tree.iter().find_map(|(path, leaf)| match leaf {
        Leaf::Link { target } if leaves(tree, path, target) => Some((path, target.as_str())),
        _ => None,
    })
}

fn leaves(tree: &Tree, path: &str, target: &str) -> bool {
    let mut here: Vec<&str> = path.split('/').collect();
    here.pop();
    let mut ahead: Vec<&str> = target.split('/').rev().collect();
    let mut hops = 0;
    while let Some(part) = ahead.pop() {
        match part {
            "" | "." => continue,
            ".." if here.pop().is_none() => return true,
            ".." => continue,
            name => here.push(name),
        }
        if let Some(Leaf::Link { target }) = tree.get(&here.join("/")) {
            hops += 1;
            if hops > MAX_HOPS {
                // A circle leads nowhere, so not outside either.
                return false;
            }
            here.pop();
            ahead.extend(target.split('/').rev());
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(links: &[(&str, &str)]) -> Tree {
        let mut tree = Tree::default();
        for (path, target) in links {
            tree.insert(path, Leaf::Link { target: (*target).to_owned() }).expect("inside by its letters");
        }
        tree
    }

    #[test]
    fn a_chain_of_links_cannot_climb_out() {
        let chained = tree(&[("d1/d2/up", "../../here"), ("here", "."), ("out", "d1/d2/up/..")]);
        assert_eq!(first_leaving(&chained), Some(("out", "d1/d2/up/..")));
    }

    #[test]
    fn links_that_stay_inside_and_circles_are_left_alone() {
        let inside = tree(&[("a/b", "../c/d"), ("c/d", "e"), ("ring", "gnir"), ("gnir", "ring")]);
        assert_eq!(first_leaving(&inside), None);
    }
}
