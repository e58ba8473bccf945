//! Invariants 2, 3 and 6 for requests. Any history of deploys, pointer moves, expiries and deletes
//! is published to the directory, view by view, and every response at every kind of address must
//! match a model without views. Concurrent readers must get responses that were right at some
//! moment of their request, from a single release.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use milepost_gateway::FileTree;
use milepost_gateway::view::{AppView, ReleaseView, Target};
use milepost_model::spec::FunctionPermission;
use proptest::prelude::*;
use tokio::runtime::Runtime;

use crate::model::{APPS, App, Asked, CODES, Content, SITES, State, Step, TAGS, Told, any_step};
use crate::support::*;

const READERS: usize = 2;
const FUNCTIONS: usize = 3;
/// `/file`, `/f`, and for each code a path that only this code has.
const PATHS: usize = 2 + CODES;
/// How many releases of an app are requested by id.
const ASKED_IDS: usize = 6;

/// A response without the parts that differ between releases of the same content.
type Same = (Vec<(String, String)>, Bytes);

struct Stage {
    world: World,
    runtime: Runtime,
    sites: Vec<Arc<FileTree>>,
    /// The functions of each code. Routes lead to one of them, a different one in each code.
    codes: Vec<Vec<Target<Fake>>>,
    contents: BTreeMap<String, Content>,
    /// The first response of each content at each path.
    first: Mutex<BTreeMap<(usize, Content), Same>>,
}

impl Stage {
    fn new(states: &[State]) -> Self {
        let world = World::new();
        let sites = (0..SITES).map(|site| world.memory.tree(&[("file", &format!("site {site}"))])).collect();
        let function = |code: usize, at: usize| {
            let text = if at == code % FUNCTIONS { format!("code {code}") } else { "no route leads here".to_owned() };
            let function = Arc::new(Fake::Answer(Box::new(move || http::Response::new(full(text.clone())))));
            let version = code as i64 + 1;
            Target { function, name: format!("f{at}").into(), version, permission: FunctionPermission::Public }
        };
        let codes = (0..CODES).map(|code| (0..FUNCTIONS).map(|at| function(code, at)).collect()).collect();
        let releases = states.iter().flat_map(|state| state.apps.values()).flat_map(|app| &app.releases);
        let contents = releases.map(|release| (release.id.clone(), release.content)).collect();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        Self { world, runtime: runtime.expect("a runtime"), sites, codes, contents, first: Mutex::default() }
    }

    /// The view that the server would build for the app.
    fn view(&self, name: &str, app: &App, event: usize) -> Arc<AppView<Fake>> {
        let mut all: Vec<Arc<ReleaseView<Fake>>> = Vec::new();
        for release in &app.releases {
            let Content { site, code } = release.content;
            let functions = self.codes[code].clone();
            let target = &functions[code % FUNCTIONS];
            let routes = vec![route("GET", "/f", target), route("GET", &format!("/only-{code}"), target)];
            let mounts = vec![mount("/", self.sites[site].clone())];
            let made = ReleaseView::new(release.id.as_str(), mounts, functions.clone(), routes).sharing(&all);
            all.push(Arc::new(made));
        }
        let mut named: Vec<(&str, Arc<ReleaseView<Fake>>)> = Vec::new();
        let mut expired = Vec::new();
        for (release, made) in app.releases.iter().zip(&all) {
            match &release.expired {
                Some(at) => expired.push((release.id.as_str(), at.parse().expect("a time"))),
                None => named.push((&release.id, made.clone())),
            }
        }
        named.extend(app.tags.iter().map(|(tag, at)| (*tag, all[*at].clone())));
        Arc::new(AppView {
            app: name.into(),
            order: event as i64,
            unready: Box::default(),
            live: app.live().map(|at| all[at].clone()),
            latest: app.latest().map(|at| all[at].clone()),
            releases: named.into_iter().collect(),
            expired: Arc::new(expired.into_iter().collect()),
        })
    }

    /// Returns where a response came from, after checking that all of it came from there.
    fn ask(&self, asked: &Asked, turn: usize) -> Result<Told, TestCaseError> {
        let path = turn % PATHS;
        let (host, token) = match asked {
            Asked::Label(label) => (format!("{label}.localhost"), None),
            Asked::Two(app, name) => (format!("{app}.{name}.localhost"), None),
            Asked::Call(app, release) => ("cart.localhost".to_owned(), Some(format!("call:{app}:{release}"))),
            Asked::Elsewhere(host) => ((*host).to_owned(), None),
        };
        let host = match turn % 3 {
            0 => host,
            1 => format!("{}:8080", host.to_uppercase()),
            _ => format!("{host}."),
        };
        let url = match path {
            0 => format!("{host}/file"),
            1 => format!("{host}/f"),
            only => format!("{host}/only-{}", only - 2),
        };
        let mut headers = vec![("accept", "application/json")];
        headers.extend(token.as_deref().map(|token| ("milepost-call", token)));
        let got = match token {
            Some(_) => self.runtime.block_on(self.world.get_inside(&url, &headers)),
            None => self.runtime.block_on(self.world.get_with(&url, &headers)),
        };
        let release = got.header("milepost-release").to_owned();
        if release.is_empty() || got.status() == 410 {
            return without_release(&got);
        }
        let Some(content) = self.contents.get(&release) else {
            return Err(TestCaseError::fail(format!("{url}: there was never a release `{release}`")));
        };
        if path >= 2 && path - 2 != content.code {
            let problem = got.json();
            prop_assert_eq!(
                (got.status(), problem["code"].as_str()),
                (404, Some("not_found")),
                "{} in {}",
                url,
                release
            );
            return Ok(Told::Release(release));
        }
        let (text, version) = match path {
            0 => (format!("site {}", content.site), String::new()),
            _ => (format!("code {}", content.code), (content.code + 1).to_string()),
        };
        prop_assert_eq!((got.status(), got.text()), (200, &*text), "{} is a mix: {} has {:?}", url, release, content);
        prop_assert_eq!(got.header("milepost-version"), version, "{} is a mix", url);
        let same = without_names(&got);
        let mut first = self.first.lock().expect("no panic");
        let known = first.entry((path, *content)).or_insert_with(|| same.clone());
        prop_assert_eq!(&*known, &same, "{} in {}: the same content is answered in two ways", url, release);
        Ok(Told::Release(release))
    }
}

/// A response that no release gave.
fn without_release(got: &Got) -> Result<Told, TestCaseError> {
    let problem = got.json();
    let detail = problem["detail"].as_str().unwrap_or_default();
    if let Some((_, at)) = detail.split_once("expired at ") {
        prop_assert_eq!((got.status(), problem["code"].as_str()), (410, Some("release_expired")));
        return Ok(Told::Expired(at.trim_end_matches('.').to_owned()));
    }
    prop_assert_eq!(got.status(), 404, "{}", problem);
    Ok(Told::Nothing(problem["code"].as_str().unwrap_or_default().to_owned()))
}

fn without_names(got: &Got) -> Same {
    let named = |name: &http::HeaderName| ["milepost-release", "milepost-request-id"].contains(&name.as_str());
    let headers = got.headers.iter().filter(|(name, _)| !named(name));
    let headers = headers.map(|(name, value)| (name.to_string(), value.to_str().expect("text").to_owned()));
    (headers.collect(), got.body.clone())
}

/// Every kind of address, for releases that exist, existed, will exist or never do.
fn addresses(states: &[State]) -> Vec<Asked> {
    let mut all = vec![
        Asked::Label("nobody".to_owned()),
        Asked::Label("beta--nobody".to_owned()),
        Asked::Two("nobody", "live".to_owned()),
        Asked::Two("shop", "nothing".to_owned()),
        Asked::Elsewhere("localhost"),
        Asked::Elsewhere("a.b.c.localhost"),
        Asked::Elsewhere("shop.example.com"),
    ];
    for app in APPS {
        all.push(Asked::Label(app.to_owned()));
        let ids: BTreeSet<&str> = states
            .iter()
            .flat_map(|state| state.apps.get(app))
            .flat_map(|app| app.releases.iter().map(|release| &*release.id))
            .collect();
        let step = ids.len().div_ceil(ASKED_IDS).max(1);
        for id in ids.iter().step_by(step) {
            all.push(Asked::Call(app, (*id).to_owned()));
        }
        for name in ["live", "latest"].into_iter().chain(TAGS).chain(ids.into_iter().step_by(step)) {
            all.push(Asked::Two(app, name.to_owned()));
            all.push(Asked::Label(format!("{name}--{app}")));
        }
    }
    all
}

/// Whether one request may have to look at two apps. It does so one after the other, so its
/// response may not have been right at any single moment.
fn is_about_two_apps(asked: &Asked) -> bool {
    let Asked::Label(label) = asked else { return false };
    let splits = label.match_indices("--").map(|(at, _)| &label[at + 2..]);
    std::iter::once(label.as_str()).chain(splits).filter(|app| APPS.contains(app)).count() > 1
}

/// The progress of the history: what must be visible, and what may be.
#[derive(Default)]
struct Progress {
    done: AtomicUsize,
    begun: AtomicUsize,
    over: AtomicBool,
}

/// Sends requests until the history is over. The moments at which the responses were right never go
/// back.
fn read(stage: &Stage, states: &[State], addresses: &[Asked], progress: &Progress) -> Result<usize, TestCaseError> {
    let (mut seen, mut turn) = (0, 0);
    loop {
        let last = progress.over.load(Ordering::SeqCst);
        for asked in addresses.iter().filter(|asked| !is_about_two_apps(asked)) {
            let from = progress.done.load(Ordering::SeqCst).max(seen);
            let told = stage.ask(asked, turn)?;
            let to = progress.begun.load(Ordering::SeqCst);
            let right = (from..=to).find(|at| states[*at].tells(asked) == told);
            prop_assert!(right.is_some(), "{asked:?}: {told:?} was right at no moment of {from}..={to}");
            seen = right.unwrap_or(seen);
            turn += 1;
        }
        if last {
            return Ok(turn);
        }
    }
}

/// Publishes the change of a step as the server does: the database first.
fn publish(stage: &Stage, name: &str, [before, after]: [&State; 2], number: usize) -> Result<(), TestCaseError> {
    let directory = stage.world.gateway.directory();
    let mut database = stage.world.memory.apps.lock().expect("no panic");
    match after.apps.get(name) {
        Some(app) => {
            let view = stage.view(name, app, number);
            database.insert(name.to_owned(), view.clone());
            drop(database);
            prop_assert!(directory.publish(view));
        }
        None if before.apps.contains_key(name) => {
            database.remove(name);
            drop(database);
            prop_assert!(directory.remove(name, number as i64));
        }
        None => {}
    }
    Ok(())
}

fn run(steps: &[Step]) -> Result<(), TestCaseError> {
    let mut states = vec![State::default()];
    for (step, number) in steps.iter().zip(1..) {
        states.push(states[number - 1].after(step, number));
    }
    let (states, addresses) = (&states[..], addresses(&states));
    let stage = Stage::new(states);
    let progress = Progress::default();
    let write = || {
        // The last replaced view of each app.
        let mut older: BTreeMap<&str, Arc<AppView<Fake>>> = BTreeMap::new();
        let directory = stage.world.gateway.directory();
        for (step, number) in steps.iter().zip(1..) {
            let name = step.app();
            progress.begun.store(number, Ordering::SeqCst);
            if matches!(step, Step::Late(_)) {
                if let Some(view) = older.get(name) {
                    prop_assert!(!directory.publish(view.clone()), "an older view replaced a newer one");
                }
            } else {
                older.extend(directory.get(name).map(|view| (name, view)));
                publish(&stage, name, [&states[number - 1], &states[number]], number)?;
            }
            progress.done.store(number, Ordering::SeqCst);
            for (asked, at) in addresses.iter().zip(number..) {
                for turn in [at, at + 1] {
                    prop_assert_eq!(
                        stage.ask(asked, turn)?,
                        states[number].tells(asked),
                        "{:?} after {}",
                        asked,
                        number
                    );
                }
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let readers: Vec<_> =
            (0..READERS).map(|_| scope.spawn(|| read(&stage, states, &addresses, &progress))).collect();
        let written = write();
        progress.over.store(true, Ordering::SeqCst);
        for reader in readers {
            let asked = reader.join().expect("a reader does not panic")?;
            prop_assert!(asked > 0);
        }
        written
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Invariant 2: live, latest and tags always lead to a release. Invariant 3: a release serves
    /// its own content, and serves the same when it is created again. Invariant 6: concurrent
    /// requests do not fail.
    #[test]
    fn every_address_leads_to_one_whole_release(
        steps in proptest::collection::vec(any_step(), 1..40),
    ) {
        run(&steps)?;
    }
}
