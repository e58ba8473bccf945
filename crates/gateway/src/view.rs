//! What the gateway serves from: an immutable snapshot of one app, built by the server.
//!
//! Most apps are idle, and most releases of an app resemble the previous one. So equal parts are
//! stored once ([`ReleaseView::sharing`]), and short names are stored inline.

use std::cmp::Reverse;
use std::hint::black_box;
use std::sync::Arc;

use http::HeaderValue;
use milepost_model::Timestamp;
use milepost_model::spec::FunctionPermission;
use smol_str::SmolStr;

pub use crate::files::Expires;
pub use crate::name_map::NameMap;
use crate::routes::{Route, RouteTable};
use crate::tree::FileTree;

/// One app at one moment. A request reads it once.
pub struct AppView<F> {
    pub app: SmolStr,
    /// Rises with each view of the app that this process makes. A view never replaces a newer one.
    pub order: i64,
    pub live: Option<Arc<ReleaseView<F>>>,
    pub latest: Option<Arc<ReleaseView<F>>>,
    /// Active releases by id and by tag.
    pub releases: NameMap<Arc<ReleaseView<F>>>,
    /// When the other releases expired.
    pub expired: Arc<NameMap<Timestamp>>,
    /// Names of releases that are not loaded yet; also `live` and `latest`.
    pub unready: Box<[SmolStr]>,
}

/// One release, with every alias and pin resolved.
pub struct ReleaseView<F> {
    pub id: SmolStr,
    mounts: Arc<[Mount]>,
    /// A route refers to the index of a target.
    routes: RouteTable<u32>,
    /// The functions of the release by name, then targets that only routes refer to: other
    /// versions, through an alias or a pin.
    targets: Arc<[Target<F>]>,
    /// How many of the targets can be called by name.
    functions: u32,
}

/// What a route refers to.
pub struct Target<F> {
    pub function: Arc<F>,
    pub name: SmolStr,
    pub version: i64,
    pub permission: FunctionPermission,
}

/// One static item.
pub struct Mount {
    /// `/`, or a path without a trailing slash.
    pub path: SmolStr,
    pub tree: Arc<FileTree>,
    /// Set if the item is this one file, served at `path` itself.
    pub single: Option<Box<str>>,
    pub index: SmolStr,
    pub fallback: Option<Box<str>>,
    pub error_page: Option<Box<str>>,
    /// Clean URLs: `/login` serves `login.html`.
    pub clean: bool,
    pub expires: Option<Expires>,
}

impl<F> AppView<F> {
    /// See [`ReleaseView::read_ahead`].
    pub(crate) fn read_ahead(&self) -> (Option<usize>, bool) {
        (self.live.as_ref().map(|live| Arc::as_ptr(live).addr()), self.releases.is_empty())
    }
}

impl<F> ReleaseView<F> {
    /// `functions` can be called by name, whether or not a route refers to them.
    pub fn new(
        id: impl Into<SmolStr>,
        mut mounts: Vec<Mount>,
        mut functions: Vec<Target<F>>,
        routes: Vec<Route<Target<F>>>,
    ) -> Self {
        // The longest matching path wins.
        mounts.sort_by(|a, b| (Reverse(a.path.len()), &a.path).cmp(&(Reverse(b.path.len()), &b.path)));
        functions.sort_by(|a, b| a.name.cmp(&b.name));
        functions.dedup_by(|again, known| again.name == known.name);
        let named = number(functions.len());
        let mut all = functions;
        let routes = routes.into_iter().map(|route| {
            let Route { methods, path, prefix, rewrite, host, target } = route;
            Route { methods, path, prefix, rewrite, host, target: number_of(target, &mut all) }
        });
        let routes = RouteTable::new(routes.collect());
        Self { id: id.into(), mounts: mounts.into(), routes, targets: all.into(), functions: named }
    }

    /// Takes every part that equals the one of another release from there.
    pub fn sharing(mut self, others: impl IntoIterator<Item = impl AsRef<Self>>) -> Self {
        for other in others {
            let other = other.as_ref();
            if self.mounts == other.mounts {
                self.mounts = other.mounts.clone();
            }
            self.routes.share(&other.routes);
            if self.targets == other.targets {
                self.targets = other.targets.clone();
            }
        }
        self
    }

    /// Touches every part, so that the CPU fetches them concurrently. The parts of an idle app are
    /// not in its caches and would be fetched one after the other: with 100,000 apps a request
    /// takes a tenth longer without this.
    pub(crate) fn read_ahead(self: &Arc<Self>) {
        let mounts = self.mounts.first().map(|mount| (mount.path.len(), Arc::as_ptr(&mount.tree).addr()));
        let targets = self.targets.iter().take(2).fold(0, |sum, target| sum ^ target.version);
        black_box((Arc::strong_count(self), mounts, self.routes.read_ahead(), targets));
    }

    /// Touches the memory of the release itself, but not of its parts.
    pub(crate) fn sizes(&self) -> usize {
        self.id.len() ^ self.mounts.len() ^ self.routes.len() ^ self.targets.len()
    }

    /// The id as a header value. Built on each call: copying the few bytes touches less memory than
    /// sharing a value would.
    pub fn header(&self) -> HeaderValue {
        HeaderValue::from_str(&self.id).unwrap_or(HeaderValue::from_static("unknown"))
    }

    /// Longest path first.
    pub fn mounts(&self) -> &[Mount] {
        &self.mounts
    }

    /// Routes refer to indices for [`Self::target`].
    pub fn routes(&self) -> &RouteTable<u32> {
        &self.routes
    }

    /// Takes an index returned by [`Self::routes`] or [`Self::function`] of this release.
    pub fn target(&self, number: u32) -> &Target<F> {
        &self.targets[number as usize]
    }

    /// Everything that a request may run in this release.
    pub fn targets(&self) -> &[Target<F>] {
        &self.targets
    }

    /// The index of the function with this name.
    pub fn function(&self, name: &str) -> Option<u32> {
        let functions = &self.targets[..self.functions as usize];
        functions.binary_search_by(|known| known.name.as_str().cmp(name)).ok().map(number)
    }
}

/// Returns the index of a target in `all`, adding it if it is missing.
fn number_of<F>(target: Target<F>, all: &mut Vec<Target<F>>) -> u32 {
    let at = all.iter().position(|known| *known == target).unwrap_or_else(|| {
        all.push(target);
        all.len() - 1
    });
    number(at)
}

/// Saturates: no app has four billion functions.
fn number(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

impl<F> Clone for Target<F> {
    fn clone(&self) -> Self {
        let Self { function, name, version, permission } = self;
        Self { function: function.clone(), name: name.clone(), version: *version, permission: *permission }
    }
}

/// Functions and trees are compared by identity: the server creates each of them once.
impl<F> PartialEq for Target<F> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.function, &other.function)
            && (&self.name, self.version, self.permission) == (&other.name, other.version, other.permission)
    }
}

impl PartialEq for Mount {
    fn eq(&self, other: &Self) -> bool {
        let Self { path, tree, single, index, fallback, error_page, clean, expires } = self;
        Arc::ptr_eq(tree, &other.tree)
            && (path, single, index) == (&other.path, &other.single, &other.index)
            && (fallback, error_page) == (&other.fallback, &other.error_page)
            && (clean, expires) == (&other.clean, &other.expires)
    }
}
