//! A few things by name, in one piece of memory: an app has ten releases more often than ten thousand.

use smol_str::SmolStr;

/// Up to this many are read from front to back: the processor foresees that, and does not foresee a search.
const FEW: usize = 16;

/// Made once, then only read. Short names stand in the list itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names<T>(Box<[(SmolStr, T)]>);

impl<T> Default for Names<T> {
    fn default() -> Self {
        Self(Box::default())
    }
}

impl<T> Names<T> {
    pub fn get(&self, name: &str) -> Option<&T> {
        if self.0.len() <= FEW {
            return self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value);
        }
        let at = self.0.binary_search_by(|(known, _)| known.as_str().cmp(name)).ok()?;
        Some(&self.0[at].1)
    }

    /// Whether names are paths below this one.
    pub(crate) fn has_below(&self, folder: &str) -> bool {
        let inside = || folder.bytes().chain([b'/']);
        let at = self.0.partition_point(|(known, _)| known.bytes().lt(inside()));
        self.0.get(at).is_some_and(|(known, _)| known.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')))
    }

    pub fn iter(&self) -> impl Iterator<Item = (&SmolStr, &T)> {
        self.0.iter().map(|(name, value)| (name, value))
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Of two with the same name the later one is kept.
impl<N: Into<SmolStr>, T> FromIterator<(N, T)> for Names<T> {
    fn from_iter<I: IntoIterator<Item = (N, T)>>(all: I) -> Self {
        let mut all: Vec<(SmolStr, T)> = all.into_iter().map(|(name, value)| (name.into(), value)).collect();
        all.reverse();
        all.sort_by(|(a, _), (b, _)| a.cmp(b));
        all.dedup_by(|(later, _), (kept, _)| later == kept);
        Self(all.into_boxed_slice())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn they_say_what_a_map_says(all in proptest::collection::vec(("[a-c]{0,3}", any::<u8>()), 0..40), asked in "[a-c]{0,3}") {
            let map: HashMap<String, u8> = all.iter().cloned().collect();
            let names: Names<u8> = all.into_iter().collect();
            prop_assert_eq!(names.len(), map.len());
            prop_assert_eq!(names.get(&asked), map.get(&asked));
            for (name, value) in &map {
                prop_assert_eq!(names.get(name), Some(value));
            }
        }

        #[test]
        fn a_folder_is_what_paths_begin_with(all in proptest::collection::vec("[a.!/]{0,5}", 0..30), asked in "[a.!/]{0,4}") {
            let names: Names<()> = all.iter().map(|path| (path, ())).collect();
            let expected = all.iter().any(|path| path.starts_with(&format!("{asked}/")));
            prop_assert_eq!(names.has_below(&asked), expected);
        }
    }
}
