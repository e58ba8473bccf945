//! The methods of a route: a bit for each standard method.

use std::collections::BTreeSet;

use http::Method;

/// In alphabetical order, which is also the order of [`Methods::names`].
const USUAL: [&str; 9] = ["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"];
const GET: u16 = 1 << 2;
const HEAD: u16 = 1 << 3;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Methods {
    usual: u16,
    others: Option<Box<[Box<str>]>>,
}

impl Methods {
    pub(super) fn new(names: &BTreeSet<String>) -> Self {
        let usual = names.iter().map(|name| bit(name)).fold(0, |all, one| all | one);
        let others: Box<[Box<str>]> =
            names.iter().filter(|name| bit(name) == 0).map(|name| name.as_str().into()).collect();
        Self { usual, others: (!others.is_empty()).then_some(others) }
    }

    /// For [`super::RouteTable::read_ahead`].
    pub(super) fn bits(&self) -> u16 {
        self.usual
    }

    /// Without names, every method is accepted. GET includes HEAD.
    pub(super) fn take(&self, method: &Method) -> bool {
        if self.usual == 0 && self.others.is_none() {
            return true;
        }
        match bit(method.as_str()) {
            0 => self.others.iter().flatten().any(|other| **other == *method.as_str()),
            HEAD => self.usual & (HEAD | GET) != 0,
            one => self.usual & one != 0,
        }
    }

    /// All accepted methods, if any are named.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let usual = if self.usual & GET != 0 { self.usual | HEAD } else { self.usual };
        let usual = USUAL.into_iter().enumerate().filter(move |(at, _)| usual & 1 << at != 0).map(|(_, name)| name);
        usual.chain(self.others.iter().flatten().map(|other| &**other))
    }
}

fn bit(name: &str) -> u16 {
    USUAL.iter().position(|usual| *usual == name).map_or(0, |at| 1 << at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn methods(names: &[&str]) -> Methods {
        Methods::new(&names.iter().map(|name| (*name).to_owned()).collect())
    }

    fn takes(names: &[&str], method: &str) -> bool {
        methods(names).take(&method.parse().expect("a method"))
    }

    #[test]
    fn custom_methods_are_compared_by_name() {
        assert!(takes(&["PURGE", "GET"], "PURGE"));
        assert!(takes(&["PURGE", "GET"], "HEAD"));
        assert!(!takes(&["PURGE"], "GET"));
        assert!(!takes(&["PURGE"], "LINK"));
        assert!(!takes(&["GET"], "PURGE"));
        assert!(takes(&[], "PURGE"));
        assert_eq!(methods(&["PURGE", "GET"]).names().collect::<Vec<_>>(), ["GET", "HEAD", "PURGE"]);
    }
}
