//! A map from names to values in one allocation, for few entries: an app has ten releases more
//! often than ten thousand.

use smol_str::SmolStr;

/// Up to this many entries are searched linearly, which the CPU predicts better than a binary
/// search.
const FEW: usize = 16;

/// Immutable once built. Short names are stored inline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameMap<T>(Box<[(SmolStr, T)]>);

impl<T> Default for NameMap<T> {
    fn default() -> Self {
        Self(Box::default())
    }
}

impl<T> NameMap<T> {
    pub fn get(&self, name: &str) -> Option<&T> {
        if self.0.len() <= FEW {
            return self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value);
        }
        let at = self.0.binary_search_by(|(known, _)| known.as_str().cmp(name)).ok()?;
        Some(&self.0[at].1)
    }

    /// Whether any name is a path below `folder`.
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

/// The last of several entries with the same name wins.
impl<N: Into<SmolStr>, T> FromIterator<(N, T)> for NameMap<T> {
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
        fn agrees_with_a_hash_map(all in proptest::collection::vec(("[a-c]{0,3}", any::<u8>()), 0..40), asked in "[a-c]{0,3}") {
            let map: HashMap<String, u8> = all.iter().cloned().collect();
            let names: NameMap<u8> = all.into_iter().collect();
            prop_assert_eq!(names.len(), map.len());
            prop_assert_eq!(names.get(&asked), map.get(&asked));
            for (name, value) in &map {
                prop_assert_eq!(names.get(name), Some(value));
            }
        }

        #[test]
        fn has_below_matches_path_prefixes(all in proptest::collection::vec("[a.!/]{0,5}", 0..30), asked in "[a.!/]{0,4}") {
            let names: NameMap<()> = all.iter().map(|path| (path, ())).collect();
            let expected = all.iter().any(|path| path.starts_with(&format!("{asked}/")));
            prop_assert_eq!(names.has_below(&asked), expected);
        }
    }
}
