//! Which route answers for a method and a path.
//!
//! Routes for the request's host come before those for every host. Then exact paths, a literal segment before a
//! variable, from left to right; then paths with regular expressions, the longest pattern first; then prefixes, the
//! longest first. The first of these that also wants the method answers.

mod pattern;
mod tree;

use std::collections::{BTreeSet, HashMap};

use foldhash::fast::RandomState;
use http::Method;
use percent_encoding::percent_decode_str;
use regex_lite::Regex;

use pattern::Pattern;
use tree::{Node, PathRest, Place};

/// The variables of a path by name, decoded.
pub type Params = Vec<(Box<str>, Box<str>)>;

/// A route as the table takes it.
#[derive(Debug, Clone)]
pub struct Route<T> {
    /// Upper case; empty means every method.
    pub methods: BTreeSet<String>,
    /// `/orders/{id}`, `/orders/{id:[0-9]+}`, or the beginning of the paths when `prefix` is set.
    pub path: Box<str>,
    pub prefix: bool,
    /// Only for this host; empty means every host.
    pub host: Box<str>,
    pub target: T,
}

/// A path that no request could be compared with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the route `{path}` cannot be used: {reason}")]
pub struct RouteError {
    pub path: Box<str>,
    pub reason: String,
}

/// Says whether a table would take this path, for those who want to refuse it before it is stored.
pub fn check_route_path(path: &str, prefix: bool) -> Result<(), RouteError> {
    pattern::compile(path, prefix).map(|_| ())
}

/// Routes of one release, ready to be asked.
#[derive(Debug)]
pub struct RouteTable<T> {
    routes: Vec<Route<T>>,
    names: Vec<Vec<Box<str>>>,
    by_host: HashMap<Box<str>, Group, RandomState>,
    every_host: Group,
}

#[derive(Debug, Default)]
struct Group {
    root: Node,
    has_prefixes: bool,
    regexes: Vec<(Regex, usize)>,
    prefix_regexes: Vec<(Regex, usize)>,
}

/// What a table says about a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Lookup<'t, T> {
    Found {
        route: &'t Route<T>,
        params: Params,
    },
    /// The path has routes, all for other methods: these.
    OtherMethods(BTreeSet<&'t str>),
    Nothing,
}

impl<T: PartialEq> PartialEq for Route<T> {
    fn eq(&self, other: &Self) -> bool {
        (&self.methods, &self.path, self.prefix, &self.host, &self.target)
            == (&other.methods, &other.path, other.prefix, &other.host, &other.target)
    }
}

impl<T: Eq> Eq for Route<T> {}

impl<T> Default for RouteTable<T> {
    fn default() -> Self {
        Self { routes: Vec::new(), names: Vec::new(), by_host: HashMap::default(), every_host: Group::default() }
    }
}

impl<T> RouteTable<T> {
    /// A route that cannot be used is left out, with a line in the log: the rest of the release goes on serving.
    pub fn new(routes: Vec<Route<T>>) -> Self {
        let (table, errors) = Self::with_errors(routes);
        for error in errors {
            tracing::warn!(error = &error as &dyn std::error::Error, "a route was left out");
        }
        table
    }

    /// The table, and what was left out of it.
    pub fn with_errors(mut routes: Vec<Route<T>>) -> (Self, Vec<RouteError>) {
        // On equal paths: those that want HEAD before those that get it as a GET, those for every method last.
        routes.sort_by_key(|route| (route.methods.is_empty(), !route.methods.contains("HEAD")));
        let mut table = Self::default();
        let mut errors = Vec::new();
        for route in routes {
            match pattern::compile(&route.path, route.prefix) {
                Ok((pattern, names)) => table.add(route, pattern, names),
                Err(error) => errors.push(error),
            }
        }
        let longest = |routes: &[Route<T>], at: usize| std::cmp::Reverse(routes[at].path.len());
        for group in table.by_host.values_mut().chain([&mut table.every_host]) {
            group.regexes.sort_by_key(|(_, at)| longest(&table.routes, *at));
            group.prefix_regexes.sort_by_key(|(_, at)| longest(&table.routes, *at));
        }
        (table, errors)
    }

    fn add(&mut self, route: Route<T>, pattern: Pattern, names: Vec<Box<str>>) {
        let at = self.routes.len();
        let group = match &*route.host {
            "" => &mut self.every_host,
            host => self.by_host.entry(host.to_ascii_lowercase().into()).or_default(),
        };
        match pattern {
            Pattern::Segments { segments, .. } if route.prefix => {
                group.has_prefixes = true;
                group.root.insert(&segments, Place::Prefix, at);
            }
            Pattern::Segments { segments, trailing_slash } => {
                let place = if trailing_slash { Place::Slashed } else { Place::Plain };
                group.root.insert(&segments, place, at);
            }
            Pattern::Regex(regex) if route.prefix => group.prefix_regexes.push((regex, at)),
            Pattern::Regex(regex) => group.regexes.push((regex, at)),
        }
        self.routes.push(route);
        self.names.push(names);
    }

    pub fn len(&self) -> usize {
        self.routes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.routes.is_empty()
    }

    /// Asks for a request: its host without a port in lower case, and its path as it was sent.
    pub fn find(&self, host: &str, method: &Method, path: &str) -> Lookup<'_, T> {
        if self.routes.is_empty() {
            return Lookup::Nothing;
        }
        let mut refused = BTreeSet::new();
        let groups = self.by_host.get(host).into_iter().chain([&self.every_host]);
        for group in groups {
            if let Some((route, params)) = self.find_in(group, method, path, &mut refused) {
                return Lookup::Found { route: &self.routes[route], params };
            }
        }
        if refused.is_empty() { Lookup::Nothing } else { Lookup::OtherMethods(refused) }
    }

    fn find_in<'t>(
        &'t self,
        group: &Group,
        method: &Method,
        path: &str,
        refused: &mut BTreeSet<&'t str>,
    ) -> Option<(usize, Params)> {
        let mut found = None;
        let mut take = |at: usize| {
            let wants = self.wants(at, method, refused);
            if wants {
                found = Some(at);
            }
            wants
        };
        let mut values = Vec::new();
        if group.root.exact(PathRest::new(path), &mut values, &mut take) {
            return found.map(|at| (at, self.params(at, &values)));
        }
        if !group.regexes.is_empty() {
            let decoded = percent_decode_str(path).decode_utf8_lossy();
            if let Some(caught) = self.find_regex(&group.regexes, &decoded, method, refused) {
                return Some(caught);
            }
            let other = decoded.strip_suffix('/').map_or_else(|| format!("{decoded}/"), str::to_owned);
            if let Some(caught) = self.find_regex(&group.regexes, &other, method, refused) {
                return Some(caught);
            }
        }
        if group.has_prefixes {
            let mut fits = Vec::new();
            group.root.prefixes(PathRest::new(path), 0, &mut Vec::new(), &mut fits);
            fits.sort_by_key(|fit| std::cmp::Reverse(fit.depth));
            if let Some(fit) = fits.iter().find(|fit| self.wants(fit.route, method, refused)) {
                return Some((fit.route, self.params(fit.route, &fit.values)));
            }
        }
        if !group.prefix_regexes.is_empty() {
            let decoded = percent_decode_str(path).decode_utf8_lossy();
            return self.find_regex(&group.prefix_regexes, &decoded, method, refused);
        }
        None
    }

    fn find_regex<'t>(
        &'t self,
        regexes: &[(Regex, usize)],
        path: &str,
        method: &Method,
        refused: &mut BTreeSet<&'t str>,
    ) -> Option<(usize, Params)> {
        for (regex, at) in regexes {
            let Some(caught) = regex.captures(path) else { continue };
            if !self.wants(*at, method, refused) {
                continue;
            }
            let value = |variable| caught.name(&pattern::group(variable)).map_or("", |value| value.as_str());
            let params = self.names[*at].iter().enumerate().map(|(at, name)| (name.clone(), value(at).into()));
            return Some((*at, params.collect()));
        }
        None
    }

    fn wants<'t>(&'t self, at: usize, method: &Method, refused: &mut BTreeSet<&'t str>) -> bool {
        let methods = &self.routes[at].methods;
        let wants = methods.is_empty()
            || methods.contains(method.as_str())
            || (method == Method::HEAD && methods.contains("GET"));
        if !wants {
            refused.extend(methods.iter().map(String::as_str));
            if methods.contains("GET") {
                refused.insert("HEAD");
            }
        }
        wants
    }

    fn params(&self, at: usize, values: &[&str]) -> Params {
        let decode = |value: &str| percent_decode_str(value).decode_utf8_lossy().into();
        self.names[at].iter().zip(values).map(|(name, value)| (name.clone(), decode(value))).collect()
    }
}

#[cfg(test)]
mod tests;
