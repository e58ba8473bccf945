//! What the gateway serves from: an immutable picture of one app, made by the server.

use std::collections::HashMap;
use std::sync::Arc;

use http::HeaderValue;
use milepost_model::Timestamp;
use milepost_model::spec::FunctionPermission;

use crate::routes::RouteTable;
use crate::tree::FileTree;

/// One app at one moment. A request reads it once.
pub struct AppView<F> {
    pub app: Box<str>,
    /// The app's newest event when this was read: a view never replaces a newer one.
    pub event: i64,
    pub live: Option<Arc<ReleaseView<F>>>,
    pub latest: Option<Arc<ReleaseView<F>>>,
    /// Active releases by id, and by each of their tags.
    pub releases: HashMap<Box<str>, Arc<ReleaseView<F>>>,
    /// When the others expired.
    pub expired: Arc<HashMap<Box<str>, Timestamp>>,
}

/// One release, every alias and pin resolved.
pub struct ReleaseView<F> {
    pub id: Box<str>,
    /// `id`, ready to be sent.
    pub header: HeaderValue,
    /// Longest path first.
    pub mounts: Vec<Mount>,
    pub routes: RouteTable<Arc<Target<F>>>,
    /// For calls by name.
    pub functions: HashMap<Box<str>, Arc<Target<F>>>,
}

/// What a route leads to.
pub struct Target<F> {
    pub function: Arc<F>,
    pub name: Box<str>,
    /// The number of the version, ready to be sent as `milepost-version`.
    pub version: HeaderValue,
    pub permission: FunctionPermission,
}

/// One static item.
pub struct Mount {
    /// `/`, or without a slash at its end.
    pub path: Box<str>,
    pub tree: Arc<FileTree>,
    /// The item is this one file, served at `path` itself.
    pub single: Option<Box<str>>,
    pub index: Box<str>,
    pub fallback: Option<Box<str>>,
    pub error_page: Option<Box<str>>,
}
