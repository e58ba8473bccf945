//! Detects routes that match the same requests.

use std::collections::{BTreeSet, HashMap};

use super::shape;

/// The properties of a route that decide which requests it matches.
#[derive(Debug, Clone, Copy)]
pub struct Answered<'a> {
    /// Empty means every method that no other route names.
    pub methods: &'a BTreeSet<String>,
    pub path: &'a str,
    pub prefix: bool,
    /// Empty means every host.
    pub host: &'a str,
}

type Place = (String, bool, String);

/// The routes of one app, added one by one. Routes are grouped by path shape, prefix and host, and
/// only compared within a group, since an app may have thousands.
#[derive(Debug)]
pub struct Overlaps<'a, T> {
    known: HashMap<Place, Vec<(&'a BTreeSet<String>, T)>>,
}

impl<T> Default for Overlaps<'_, T> {
    fn default() -> Self {
        Self { known: HashMap::new() }
    }
}

impl<'a, T: Copy> Overlaps<'a, T> {
    /// Adds a route and returns the first earlier one that is ambiguous with it, if any: for some
    /// requests, neither of the two takes precedence.
    pub fn add(&mut self, route: Answered<'a>, who: T) -> Option<T> {
        let place = (shape(route.path), route.prefix, route.host.to_ascii_lowercase());
        let known = self.known.entry(place).or_default();
        let is_same = |methods: &BTreeSet<String>| {
            !methods.is_disjoint(route.methods) || (methods.is_empty() && route.methods.is_empty())
        };
        let first = known.iter().find(|(methods, _)| is_same(methods)).map(|(_, first)| *first);
        known.push((route.methods, who));
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_ambiguous_routes() {
        let every = BTreeSet::new();
        let [get, post] = ["GET", "POST"].map(|method| BTreeSet::from([method.to_owned()]));
        let both = get.union(&post).cloned().collect();
        let one = Answered { methods: &get, path: "/x/{a}", prefix: false, host: "" };
        let other = Answered { path: "/x/{b}", ..one };
        let first_of = |a, b| {
            let mut overlaps = Overlaps::default();
            assert_eq!(overlaps.add(a, "first"), None);
            overlaps.add(b, "second")
        };
        let (any, any_other) = (Answered { methods: &every, ..one }, Answered { methods: &every, ..other });
        let on_host = |host| Answered { host, ..other };
        for (a, b) in [
            (one, other),
            (one, Answered { methods: &both, ..other }),
            (any, any_other),
            (on_host("Shop.example"), on_host("shop.Example")),
        ] {
            assert_eq!((first_of(a, b), first_of(b, a)), (Some("first"), Some("first")), "{a:?} {b:?}");
        }
        for apart in [
            Answered { methods: &post, ..other },
            any_other,
            Answered { prefix: true, ..other },
            on_host("shop.example"),
            Answered { path: "/x/{b:[0-9]+}", ..other },
        ] {
            assert_eq!((first_of(one, apart), first_of(apart, one)), (None, None), "{apart:?}");
        }
    }
}
