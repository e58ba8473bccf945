//! Builds the gateway's views from the catalog. Immutable parts are reused between views.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use milepost_catalog::{Known, Position, Serving, ServingAlias, ServingRelease, ServingVersion};
use milepost_gateway::view::{AppView, Expires, Mount, NameMap, ReleaseView, Target};
use milepost_gateway::{FileTree, Route, RouteRewrite};
use milepost_model::spec::{PinRole, RouteSpec, StaticSpec};
use milepost_model::{AliasName, AppName, Digest, TagName, Timestamp, UnitKind, UnitName, UnitSpec};
use milepost_runtime::Function;

use super::bind::{Members, Versions, bind, is_served};
use super::file_trees::FileTrees;
use crate::error::ApiError;
use crate::state::Store;

/// State of one app that is kept between two views.
#[derive(Default)]
pub(crate) struct AppMemory {
    versions: Versions,
    /// By app version.
    members: HashMap<i64, Arc<Members>>,
    /// By binding key, so that views share functions just as pools share instances.
    functions: HashMap<Digest, Arc<Function>>,
    releases: HashMap<String, Built>,
    expired: Arc<NameMap<Timestamp>>,
    newest_release: i64,
    /// Where in the app's history the last read was.
    position: Option<Position>,
    /// The last view. A pointer keeps the release that it has there until its new one is loaded.
    shown: Option<Arc<AppView<Function>>>,
}

struct Built {
    view: Arc<ReleaseView<Function>>,
    /// Where the followed aliases pointed. If one moves, the view is outdated.
    followed: Vec<Followed>,
}

/// An alias that a route follows, and the version it pointed to.
#[derive(Clone)]
struct Followed {
    function: UnitName,
    alias: AliasName,
    version: Option<i64>,
}

/// A view, and the functions to keep warm for it.
pub(crate) struct NewView {
    pub view: Arc<AppView<Function>>,
    /// Functions of live, and functions of tagged releases that ask for warm instances, each with
    /// the number of instances. Other functions of tagged releases are left out, so that the
    /// runtime notices when live leaves them and keeps them for a rollback.
    pub warm: Vec<(Arc<Function>, u32)>,
    /// The packages of live and of all tagged releases.
    pub packages: HashSet<Digest>,
    /// What this view is up to date with, unless there was a problem.
    pub position: Position,
    /// Why some releases are not loaded.
    pub problem: Option<ApiError>,
}

impl AppMemory {
    pub(crate) fn known(&self) -> Known {
        Known {
            position: self.position,
            app_versions: self.members.keys().copied().collect(),
            versions: self.versions.keys().copied().collect(),
            active: self.releases.keys().cloned().collect(),
            newest_release: self.newest_release,
        }
    }

    pub(crate) fn position(&self) -> Option<Position> {
        self.position
    }

    /// Builds a view. Files that are not in memory are waited for only briefly: releases that lack
    /// them are left out, and the view has a problem. `order` rises with each read.
    pub(crate) async fn build(
        &mut self,
        mut serving: Serving,
        order: i64,
        store: &Store,
        trees: &FileTrees,
    ) -> NewView {
        // Set together with what was read, also if some of it cannot be shown yet.
        self.position = Some(serving.position);
        self.newest_release = serving.newest_release;
        self.versions
            .extend(std::mem::take(&mut serving.versions).into_iter().map(|(id, version)| (id, Arc::new(version))));
        for (number, ids) in std::mem::take(&mut serving.members) {
            self.members.insert(number, Arc::new(Members::new(&ids, &self.versions)));
        }
        if !serving.expired.is_empty() {
            let before = self.expired.iter().map(|(id, at)| (id.clone(), *at));
            let since = std::mem::take(&mut serving.expired).into_iter().map(|(id, at)| (id.into(), at));
            self.expired = Arc::new(before.chain(since).collect());
        }
        let mut built = HashMap::with_capacity(serving.releases.len());
        let mut stale = Vec::new();
        for release in &serving.releases {
            match self.releases.remove(&release.id).filter(|known| is_current(known, &serving.aliases)) {
                Some(known) => drop(built.insert(release.id.clone(), known)),
                None => stale.push(release),
            }
        }
        let roots: HashSet<Digest> = stale.iter().flat_map(|release| self.trees_of(release)).collect();
        let (trees, problem) = trees.get_many(store, roots).await;
        for release in stale {
            if let Some((view, followed)) = self.release(&serving.app, release, &serving.aliases, &trees) {
                let view = Arc::new(view.sharing(built.values().map(|other: &Built| &other.view)));
                built.insert(release.id.clone(), Built { view, followed });
            }
        }
        self.releases = built;
        self.forget(&serving.releases, &serving.aliases);
        let made = self.view(&serving, order);
        self.shown = Some(Arc::clone(&made.view));
        NewView { problem: problem.map(ApiError), ..made }
    }

    /// The roots of the static items of a release.
    fn trees_of(&self, release: &ServingRelease) -> Vec<Digest> {
        let Some(members) = self.members.get(&release.app_version) else { return Vec::new() };
        let specs = members.of_kind(UnitKind::Static).map(|version| &version.spec);
        specs.filter_map(|spec| if let UnitSpec::Static(spec) = spec { Some(spec.tree) } else { None }).collect()
    }

    /// Drops everything that no active release needs.
    fn forget(&mut self, releases: &[ServingRelease], aliases: &[ServingAlias]) {
        let active: HashSet<i64> = releases.iter().map(|release| release.app_version).collect();
        self.members.retain(|number, _| active.contains(number));
        let mut needed: HashSet<i64> = aliases.iter().map(|alias| alias.version).collect();
        needed.extend(self.members.values().flat_map(|members| members.ids()));
        let pins: Vec<i64> = needed
            .iter()
            .filter_map(|id| self.versions.get(id))
            .flat_map(|version| &version.pins)
            .map(|(_, id)| *id)
            .collect();
        needed.extend(&pins);
        // A pinned target is a function, which has pins itself.
        let further: Vec<i64> = pins
            .iter()
            .filter_map(|id| self.versions.get(id))
            .flat_map(|version| &version.pins)
            .map(|(_, id)| *id)
            .collect();
        needed.extend(further);
        self.versions.retain(|id, _| needed.contains(id));
        self.functions.retain(|_, function| Arc::strong_count(function) > 1);
    }

    fn view(&self, serving: &Serving, order: i64) -> NewView {
        let mut unready = Vec::new();
        // The release that a name leads to. Until it is loaded, the one that the name led to before.
        let mut shown = |name: &str, id: &str, before: Option<&Arc<ReleaseView<Function>>>| {
            let loaded = self.releases.get(id).map(|built| &built.view);
            if loaded.is_none() && before.is_none() {
                unready.push(name.into());
            }
            loaded.or(before).cloned()
        };
        let before = self.shown.as_deref();
        let live = serving.live.as_deref();
        let live = live.and_then(|id| shown("live", id, before.and_then(|view| view.live.as_ref())));
        let latest = serving.latest.as_deref();
        let latest = latest.and_then(|id| shown("latest", id, before.and_then(|view| view.latest.as_ref())));
        let mut by_name = Vec::new();
        for release in &serving.releases {
            let names = [release.id.as_str()].into_iter().chain(release.tags.iter().map(TagName::as_str));
            for name in names {
                let before = before.and_then(|view| view.releases.get(name));
                by_name.extend(shown(name, &release.id, before).map(|release| (name, release)));
            }
        }
        let mut named: HashMap<Digest, Arc<Function>> = HashMap::new();
        let mut packages = HashSet::new();
        let mut name = |built: &Built, is_live: bool| {
            let functions = || built.view.targets().iter().map(|at| &at.function);
            packages.extend(functions().map(|function| function.package));
            let kept = functions().filter(|function| is_live || function.scale.min > 0);
            named.extend(kept.map(|function| (function.key, Arc::clone(function))));
        };
        for release in serving.releases.iter().filter(|release| !release.tags.is_empty()) {
            if let Some(built) = self.releases.get(&release.id) {
                name(built, false);
            }
        }
        if let Some(live) = live.as_ref().and_then(|live| self.releases.get(live.id.as_str())) {
            name(live, true);
        }
        let view = AppView {
            app: serving.app.as_str().into(),
            order,
            live,
            latest,
            releases: by_name.into_iter().collect(),
            expired: Arc::clone(&self.expired),
            unready: unready.into(),
        };
        let warm = named.into_values().map(|function| (Arc::clone(&function), function.scale.min)).collect();
        NewView { view: Arc::new(view), warm, packages, position: serving.position, problem: None }
    }

    /// `None` if a tree is missing.
    fn release(
        &mut self,
        app: &AppName,
        release: &ServingRelease,
        aliases: &[ServingAlias],
        trees: &HashMap<Digest, Arc<FileTree>>,
    ) -> Option<(ReleaseView<Function>, Vec<Followed>)> {
        let members = self.members.get(&release.app_version).cloned().unwrap_or_default();
        let functions: Vec<Target<Function>> =
            members.of_kind(UnitKind::Function).filter_map(|version| self.target(app, version, &members)).collect();
        let mut followed = Vec::new();
        let mut routes = Vec::new();
        for version in members.of_kind(UnitKind::Route) {
            let UnitSpec::Route(spec) = &version.spec else { continue };
            let target = match self.route_target(version, spec, aliases, &mut followed) {
                // The version in this release.
                RouteTo::Member => functions.iter().find(|known| known.name == spec.target.function.as_str()).cloned(),
                RouteTo::Version(version) => self.target(app, &version, &members),
                RouteTo::Nothing => None,
            };
            // A route without its function responds as if the route did not exist.
            routes.extend(target.map(|target| route(spec, target)));
        }
        let mut mounts = Vec::new();
        for version in members.of_kind(UnitKind::Static) {
            let UnitSpec::Static(spec) = &version.spec else { continue };
            mounts.push(mount(spec, Arc::clone(trees.get(&spec.tree)?)));
        }
        Some((ReleaseView::new(release.id.as_str(), mounts, functions, routes), followed))
    }

    fn route_target(
        &self,
        version: &ServingVersion,
        spec: &RouteSpec,
        aliases: &[ServingAlias],
        followed: &mut Vec<Followed>,
    ) -> RouteTo {
        if let Some(alias) = &spec.target.alias {
            let at = points_at(aliases, &spec.target.function, alias);
            followed.push(Followed { function: spec.target.function.clone(), alias: alias.clone(), version: at });
            return at
                .and_then(|id| self.versions.get(&id))
                .map_or(RouteTo::Nothing, |version| RouteTo::Version(Arc::clone(version)));
        }
        match version.pins.iter().find(|(role, _)| *role == PinRole::Target) {
            Some((_, id)) => {
                self.versions.get(id).map_or(RouteTo::Nothing, |version| RouteTo::Version(Arc::clone(version)))
            }
            None => RouteTo::Member,
        }
    }

    fn target(&mut self, app: &AppName, version: &ServingVersion, members: &Members) -> Option<Target<Function>> {
        let UnitSpec::Function(spec) = &version.spec else { return None };
        let function = bind(app, version, members, &self.versions)?;
        if !is_served(function.runtime) {
            return None;
        }
        let function = Arc::clone(self.functions.entry(function.key).or_insert_with(|| Arc::new(function)));
        let name = version.name.as_str().into();
        Some(Target { function, name, version: version.number, permission: spec.permission })
    }
}

enum RouteTo {
    Member,
    Version(Arc<ServingVersion>),
    Nothing,
}

fn points_at(aliases: &[ServingAlias], function: &UnitName, alias: &AliasName) -> Option<i64> {
    aliases.iter().find(|known| known.function == *function && known.name == *alias).map(|known| known.version)
}

fn is_current(built: &Built, aliases: &[ServingAlias]) -> bool {
    built.followed.iter().all(|followed| points_at(aliases, &followed.function, &followed.alias) == followed.version)
}

fn route(spec: &RouteSpec, target: Target<Function>) -> Route<Target<Function>> {
    Route {
        methods: spec.methods.clone(),
        path: spec.path.as_str().into(),
        prefix: spec.prefix,
        rewrite: RouteRewrite { strip: spec.strip, fission: spec.fission },
        host: spec.host.as_str().into(),
        target,
    }
}

fn mount(spec: &StaticSpec, tree: Arc<FileTree>) -> Mount {
    let single = spec.file.then(|| tree.iter().next().map(|(path, _)| path.into())).flatten();
    Mount {
        path: spec.path.as_str().into(),
        tree,
        single,
        index: spec.index.as_str().into(),
        fallback: spec.fallback.as_deref().map(Into::into),
        error_page: spec.error_page.as_deref().map(Into::into),
        clean: spec.clean,
        expires: spec.expires_ms.map(|ms| Expires::after(Duration::from_millis(ms))),
    }
}
