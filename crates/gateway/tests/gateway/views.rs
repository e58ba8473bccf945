use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use milepost_gateway::view::{AppView, ReleaseView, Target};
use milepost_model::spec::FunctionPermission;
use proptest::prelude::*;
use tokio::runtime::Runtime;

use crate::support::*;

const RESOLVERS: usize = 2;

/// A snapshot of the app that the server read.
#[derive(Debug, Clone)]
struct Step {
    live: usize,
    latest: usize,
    /// Whether the release `now-and-then` is active.
    sometimes: bool,
    /// The release that the tag `stable` points to.
    stable: usize,
    /// An outdated view that is published too late.
    late: bool,
}

const ALWAYS: [&str; 3] = ["r-one", "r-two", "r-three"];
const FUNCTIONS: i64 = 3;
const SOMETIMES: &str = "now-and-then";
/// Makes the order of a late view lower than that of any other.
const LATE_BY: i64 = 1_000_000;

fn any_step() -> impl Strategy<Value = Step> {
    (0..ALWAYS.len(), 0..ALWAYS.len(), any::<bool>(), 0..ALWAYS.len(), prop::bool::weighted(0.2))
        .prop_map(|(live, latest, sometimes, stable, late)| Step { live, latest, sometimes, stable, late })
}

/// Every part identifies its view: the version of its functions, their responses and their paths. A
/// route refers to a different function in each view, so that a route of one view does not fit the
/// functions of the next.
fn view(step: &Step, number: i64) -> Arc<AppView<Fake>> {
    let release = |id: &'static str| {
        let function = |at: i64| {
            let told = if at == number % FUNCTIONS { id } else { "nobody-routes-here" };
            let answer = Fake::Answer(Box::new(move || http::Response::new(full(format!("{number} {told}")))));
            let (function, name) = (Arc::new(answer), format!("f{at}").into());
            Target { function, name, version: number, permission: FunctionPermission::Public }
        };
        let functions: Vec<Target<Fake>> = (0..FUNCTIONS).map(function).collect();
        let target = &functions[(number % FUNCTIONS) as usize];
        let routes = vec![route("GET", "/f", target), route("GET", &format!("/only-{number}"), target)];
        Arc::new(ReleaseView::new(id, Vec::new(), functions, routes))
    };
    let always = ALWAYS.map(release);
    let mut named: Vec<(&str, Arc<ReleaseView<Fake>>)> = ALWAYS.into_iter().zip(always.clone()).collect();
    named.push(("stable", always[step.stable].clone()));
    if step.sometimes {
        named.push((SOMETIMES, release(SOMETIMES)));
    }
    Arc::new(AppView {
        app: "shop".into(),
        order: if step.late { number - LATE_BY } else { number },
        unready: Box::default(),
        live: Some(always[step.live].clone()),
        latest: Some(always[step.latest].clone()),
        releases: named.into_iter().collect(),
        expired: Arc::default(),
    })
}

/// A world for requests from several threads.
struct Threaded {
    inner: World,
    runtime: Runtime,
}

/// Returns the view and the release of a response. `None`: the release does not exist.
fn ask(world: &Threaded, host: &str, path: &str) -> Result<Option<(i64, String)>, TestCaseError> {
    let got = world.runtime.block_on(world.inner.get(&format!("{host}.localhost{path}")));
    if got.status() == 404 {
        return Ok(None);
    }
    prop_assert_eq!(got.status(), 200, "{}{}", host, path);
    let (number, id) = got.text().split_once(' ').expect("a number and an id");
    prop_assert_eq!(got.header("milepost-release"), id, "the head and the body are of two releases");
    prop_assert_eq!(got.header("milepost-version"), number, "the head and the body are of two views");
    Ok(Some((number.parse().expect("a number"), id.to_owned())))
}

/// The release that a step serves at a host.
type Expected = fn(&Step) -> Option<&'static str>;

fn hosts() -> [(&'static str, Expected); 5] {
    [
        ("shop", |step| Some(ALWAYS[step.live])),
        ("shop.latest", |step| Some(ALWAYS[step.latest])),
        ("stable--shop", |step| Some(ALWAYS[step.stable])),
        ("shop.r-two", |_| Some("r-two")),
        ("shop.now-and-then", |step| step.sometimes.then_some(SOMETIMES)),
    ]
}

/// The progress of the swaps: the newest view that must be seen, and the newest that may be.
#[derive(Default)]
struct Swaps {
    done: AtomicI64,
    begun: AtomicI64,
    over: AtomicBool,
}

/// Sends requests until the swaps are over, and compares each response with the views that were
/// current meanwhile.
fn resolve(world: &Threaded, steps: &[Step], swaps: &Swaps) -> Result<usize, TestCaseError> {
    let mut asked = 0;
    let mut seen = 0;
    loop {
        let last = swaps.over.load(Ordering::SeqCst);
        for (host, expected) in hosts() {
            let from = swaps.done.load(Ordering::SeqCst);
            let answer = ask(world, host, "/f")?;
            let to = swaps.begun.load(Ordering::SeqCst);
            let mut current = steps.iter().zip(0..).filter(|(step, at)| (from..=to).contains(at) && !step.late);
            match answer {
                Some((number, id)) => {
                    prop_assert!((from..=to).contains(&number), "{host}: view {number}, not one of {from}..={to}");
                    prop_assert!(number >= seen, "{host}: view {number} after {seen}");
                    prop_assert_eq!(Some(&*id), expected(&steps[number as usize]), "{} in view {}", host, number);
                    seen = number;
                }
                None => prop_assert!(
                    current.any(|(step, _)| expected(step).is_none()),
                    "{host} failed, and has a release in each of {from}..={to}"
                ),
            }
            asked += 1;
        }
        if last {
            return Ok(asked);
        }
    }
}

fn run(steps: &[Step]) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let world = Threaded { inner: World::new(), runtime: runtime.expect("a runtime") };
    let directory = world.inner.gateway.directory();
    prop_assert!(directory.publish(view(&steps[0], 0)));
    let swaps = Swaps::default();
    std::thread::scope(|scope| {
        let resolvers: Vec<_> = (0..RESOLVERS).map(|_| scope.spawn(|| resolve(&world, steps, &swaps))).collect();
        let mut swapped = Ok(());
        for (step, number) in steps.iter().zip(0..).skip(1) {
            swapped = swap(&world, step, number, &swaps);
            if swapped.is_err() {
                break;
            }
        }
        swaps.over.store(true, Ordering::SeqCst);
        for resolver in resolvers {
            let asked = resolver.join().expect("a resolver does not panic")?;
            prop_assert!(asked > 0);
        }
        swapped
    })
}

/// After a swap, the next request sees every part of the new view.
fn swap(world: &Threaded, step: &Step, number: i64, swaps: &Swaps) -> Result<(), TestCaseError> {
    let directory = world.inner.gateway.directory();
    if step.late {
        prop_assert!(!directory.publish(view(step, number)), "an older view replaced a newer one");
        return Ok(());
    }
    swaps.begun.store(number, Ordering::SeqCst);
    prop_assert!(directory.publish(view(step, number)));
    swaps.done.store(number, Ordering::SeqCst);
    for (host, expected) in hosts() {
        let wanted = expected(step).map(|id| (number, id.to_owned()));
        prop_assert_eq!(ask(world, host, "/f")?, wanted.clone(), "{}", host);
        prop_assert_eq!(ask(world, host, &format!("/only-{number}"))?, wanted, "{}", host);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Invariants 2, 3 and 6: a request is served by a single view and release, whatever is swapped
    /// meanwhile.
    #[test]
    fn request_sees_one_view_and_the_next_request_the_new_one(
        first in any_step(),
        more in proptest::collection::vec(any_step(), 1..40),
    ) {
        let steps: Vec<Step> = std::iter::once(Step { late: false, ..first }).chain(more).collect();
        run(&steps)?;
    }
}
