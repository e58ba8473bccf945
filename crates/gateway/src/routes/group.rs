//! The routes for one host, or for every host.

use std::cmp::Reverse;
use std::sync::Arc;

use regex_lite::Regex;

use super::pattern::{self, RoutePattern};
use super::tree::{Growing, PathEnd, Tree};
use super::{Route, RouteError};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) tree: Tree,
    /// Rarely set.
    regexes: Option<Arc<Regexes>>,
}

/// Longest pattern first.
#[derive(Debug, Default, PartialEq, Eq)]
struct Regexes {
    whole: Vec<Matcher>,
    prefixes: Vec<Matcher>,
}

/// A path that is matched as a whole, by a regular expression.
#[derive(Debug)]
pub(super) struct Matcher {
    pub(super) regex: Regex,
    /// The index in the table.
    pub(super) route: usize,
}

impl PartialEq for Matcher {
    fn eq(&self, other: &Self) -> bool {
        (self.regex.as_str(), self.route) == (other.regex.as_str(), other.route)
    }
}

impl Eq for Matcher {}

impl Group {
    pub(super) fn whole(&self) -> &[Matcher] {
        self.regexes.as_ref().map_or(&[], |regexes| &regexes.whole)
    }

    pub(super) fn prefixes(&self) -> &[Matcher] {
        self.regexes.as_ref().map_or(&[], |regexes| &regexes.prefixes)
    }
}

/// A group under construction.
#[derive(Default)]
pub(super) struct GrowingGroup {
    tree: Growing,
    whole: Vec<Compared>,
    prefixes: Vec<Compared>,
}

struct Compared {
    length: usize,
    regex: Regex,
    route: usize,
}

impl GrowingGroup {
    pub(super) fn add<T>(&mut self, route: &Route<T>, at: usize) -> Result<(), RouteError> {
        match pattern::compile(&route.path, route.prefix)? {
            RoutePattern::Segments { segments, trailing_slash } => {
                let end = match (route.prefix, trailing_slash) {
                    (true, _) => PathEnd::Prefix,
                    (false, true) => PathEnd::Slashed,
                    (false, false) => PathEnd::Plain,
                };
                self.tree.insert(&segments, end, at);
            }
            RoutePattern::Regex(regex) => {
                let all = if route.prefix { &mut self.prefixes } else { &mut self.whole };
                all.push(Compared { length: route.path.len(), regex, route: at });
            }
        }
        Ok(())
    }

    /// Appends its routes to `order`, in the order of the table.
    pub(super) fn finish(self, order: &mut Vec<usize>) -> Group {
        let tree = self.tree.finish(order);
        let mut in_order = |mut all: Vec<Compared>| -> Vec<Matcher> {
            all.sort_by_key(|compared| Reverse(compared.length));
            let matcher = |compared: Compared| {
                order.push(compared.route);
                Matcher { regex: compared.regex, route: order.len() - 1 }
            };
            all.into_iter().map(matcher).collect()
        };
        let regexes = Regexes { whole: in_order(self.whole), prefixes: in_order(self.prefixes) };
        let regexes = (regexes != Regexes::default()).then(|| Arc::new(regexes));
        Group { tree, regexes }
    }
}
