//! Matches a method and a path to a route.
//!
//! Routes for the request's host are tried before those for every host. Within each, exact paths
//! are tried first, a literal segment before a variable, from left to right; then paths with
//! regular expressions, the longest pattern first; then prefixes, the longest first. The first
//! match that also accepts the method wins.

mod group;
mod methods;
mod pattern;
mod rewrite;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use http::Method;
use percent_encoding::percent_decode_str;
use smol_str::SmolStr;

use crate::name_map::NameMap;
use group::{Group, GrowingGroup, Matcher};
use methods::Methods;
pub use rewrite::{CompiledRewrite, RouteRewrite};
use tree::PathRest;

/// How many elements of a list are read ahead: most apps have fewer.
const READ_AHEAD: usize = 8;

/// The decoded variables of a path by name.
pub type Params = Vec<(Box<str>, Box<str>)>;

/// A route as input to a table.
#[derive(Debug, Clone)]
pub struct Route<T> {
    /// Upper case; empty means every method.
    pub methods: BTreeSet<String>,
    /// `/orders/{id}`, `/orders/{id:[0-9]+}`, or a path prefix if `prefix` is set.
    pub path: Box<str>,
    pub prefix: bool,
    /// Which parts of a request the function receives.
    pub rewrite: RouteRewrite,
    /// Limits the route to this host; empty means every host.
    pub host: Box<str>,
    pub target: T,
}

/// A path pattern that cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the route `{path}` cannot be used: {reason}")]
pub struct RouteError {
    pub path: Box<str>,
    pub reason: String,
}

/// Compiled routes of one release. Parts are stored inline to avoid a pointer chase. Releases share
/// equal parts.
#[derive(Debug, PartialEq, Eq)]
pub struct RouteTable<T> {
    /// In the order of the indices that groups hold.
    routes: Arc<[Kept<T>]>,
    every_host: Group,
    /// Rarely set.
    by_host: Option<Arc<NameMap<Group>>>,
}

/// What a table keeps of a route. How its path is matched, and for which host, follows from the
/// group that holds its index.
#[derive(Debug, PartialEq, Eq)]
struct Kept<T> {
    path: SmolStr,
    methods: Methods,
    rewrite: CompiledRewrite,
    target: T,
}

/// The result of looking up a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Lookup<'t, T> {
    Found {
        /// The pattern of the route.
        path: &'t str,
        target: &'t T,
        params: Params,
        rewrite: CompiledRewrite,
    },
    /// Routes match the path, but only for these other methods.
    OtherMethods(BTreeSet<&'t str>),
    Nothing,
}

impl<T> Default for RouteTable<T> {
    fn default() -> Self {
        Self { routes: Arc::default(), every_host: Group::default(), by_host: None }
    }
}

impl<T> RouteTable<T> {
    /// Skips invalid routes with a warning in the log, so that the rest of the release is still
    /// served.
    pub fn new(routes: Vec<Route<T>>) -> Self {
        let (table, errors) = Self::with_errors(routes);
        for error in errors {
            tracing::warn!(error = &error as &dyn std::error::Error, "a route was left out");
        }
        table
    }

    /// Returns the table and the routes that were skipped.
    pub fn with_errors(mut routes: Vec<Route<T>>) -> (Self, Vec<RouteError>) {
        // On equal paths, routes that name HEAD come before those that serve it as GET. Routes for
        // every method come last.
        routes.sort_by_key(|route| (route.methods.is_empty(), !route.methods.contains("HEAD")));
        let mut every_host = GrowingGroup::default();
        let mut by_host = BTreeMap::<String, GrowingGroup>::new();
        let mut errors = Vec::new();
        for (at, route) in routes.iter().enumerate() {
            let group = match &*route.host {
                "" => &mut every_host,
                host => by_host.entry(host.to_ascii_lowercase()).or_default(),
            };
            if let Err(error) = group.add(route, at) {
                errors.push(error);
            }
        }
        let mut order = Vec::with_capacity(routes.len());
        let every_host = every_host.finish(&mut order);
        let by_host: NameMap<Group> =
            by_host.into_iter().map(|(host, group)| (host, group.finish(&mut order))).collect();
        let by_host = (!by_host.is_empty()).then(|| Arc::new(by_host));
        let mut routes: Vec<Option<Route<T>>> = routes.into_iter().map(Some).collect();
        let routes = order.into_iter().filter_map(|at| routes[at].take()).map(Kept::from).collect();
        (Self { routes, every_host, by_host }, errors)
    }

    /// Shares the parts that equal those of another table.
    pub(crate) fn share(&mut self, other: &Self)
    where
        T: PartialEq,
    {
        if self.routes == other.routes {
            self.routes = other.routes.clone();
        }
        if self.every_host == other.every_host {
            self.every_host = other.every_host.clone();
        }
        if self.by_host == other.by_host {
            self.by_host = other.by_host.clone();
        }
    }

    /// See [`crate::view::ReleaseView::read_ahead`].
    pub(crate) fn read_ahead(&self) -> u32 {
        let routes = self.routes.iter().take(READ_AHEAD).fold(0, |sum, route| sum ^ route.methods.bits());
        self.every_host.tree.read_ahead() ^ u32::from(routes)
    }

    pub fn len(&self) -> usize {
        self.routes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.routes.is_empty()
    }

    /// Looks up a request by its host, in lower case without a port, and its path as it was sent.
    pub fn find(&self, host: &str, method: &Method, path: &str) -> Lookup<'_, T> {
        if self.routes.is_empty() {
            return Lookup::Nothing;
        }
        let mut refused = BTreeSet::new();
        let for_host = self.by_host.as_ref().and_then(|groups| groups.get(host));
        for group in for_host.into_iter().chain([&self.every_host]) {
            if let Some((at, params)) = self.find_in(group, method, path, &mut refused) {
                let Kept { path, target, rewrite, .. } = &self.routes[at];
                return Lookup::Found { path, target, params, rewrite: *rewrite };
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
        if group.tree.exact(PathRest::new(path), &mut values, &mut take) {
            return found.map(|at| (at, self.params(at, &values)));
        }
        if !group.whole().is_empty() {
            let decoded = percent_decode_str(path).decode_utf8_lossy();
            if let Some(caught) = self.find_regex(group.whole(), &decoded, method, refused) {
                return Some(caught);
            }
            let other = decoded.strip_suffix('/').map_or_else(|| format!("{decoded}/"), str::to_owned);
            if let Some(caught) = self.find_regex(group.whole(), &other, method, refused) {
                return Some(caught);
            }
        }
        let mut fits = group.tree.prefixes(PathRest::new(path));
        fits.sort_by_key(|fit| std::cmp::Reverse(fit.depth));
        if let Some(fit) = fits.iter().find(|fit| self.wants(fit.route, method, refused)) {
            return Some((fit.route, self.params(fit.route, &fit.values)));
        }
        if !group.prefixes().is_empty() {
            let decoded = percent_decode_str(path).decode_utf8_lossy();
            return self.find_regex(group.prefixes(), &decoded, method, refused);
        }
        None
    }

    fn find_regex<'t>(
        &'t self,
        matchers: &[Matcher],
        path: &str,
        method: &Method,
        refused: &mut BTreeSet<&'t str>,
    ) -> Option<(usize, Params)> {
        for matcher in matchers {
            let Some(caught) = matcher.regex.captures(path) else { continue };
            if !self.wants(matcher.route, method, refused) {
                continue;
            }
            let value = |variable| caught.name(&pattern::group(variable)).map_or("", |value| value.as_str());
            let names = pattern::names(&self.routes[matcher.route].path).enumerate();
            return Some((matcher.route, names.map(|(at, name)| (name.into(), value(at).into())).collect()));
        }
        None
    }

    fn wants<'t>(&'t self, at: usize, method: &Method, refused: &mut BTreeSet<&'t str>) -> bool {
        let methods = &self.routes[at].methods;
        let wants = methods.take(method);
        if !wants {
            refused.extend(methods.names());
        }
        wants
    }

    fn params(&self, at: usize, values: &[&str]) -> Params {
        let decode = |value: &str| percent_decode_str(value).decode_utf8_lossy().into();
        let names = pattern::names(&self.routes[at].path);
        values.iter().zip(names).map(|(value, name)| (name.into(), decode(value))).collect()
    }
}

impl<T> From<Route<T>> for Kept<T> {
    fn from(route: Route<T>) -> Self {
        let rewrite = CompiledRewrite::new(&route.path, route.prefix, route.rewrite);
        Self { path: route.path.into(), methods: Methods::new(&route.methods), rewrite, target: route.target }
    }
}

#[cfg(test)]
mod tests;
