//! Which route answers for a method and a path.

use std::collections::BTreeSet;

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

/// Routes of one release, ready to be asked.
#[derive(Debug, Default)]
pub struct RouteTable<T> {
    routes: Vec<Route<T>>,
}

impl<T> RouteTable<T> {
    pub fn new(routes: Vec<Route<T>>) -> Self {
        Self { routes }
    }

    pub fn len(&self) -> usize {
        self.routes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.routes.is_empty()
    }
}
