use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

use super::{at, plan};
use crate::rollout::Plan;
use crate::rollout::judge::{
    ClosedTick, Judge, Observation, Outcome, Reason, SlowLimits, StoredTick, Test, Tick, Verdict,
};
use crate::split::{BucketSet, Weight};

/// Buckets below this are the candidate's.
const CANDIDATES: u16 = 2500;

fn closed(tick: Tick, seconds: i64) -> ClosedTick {
    ClosedTick {
        ended: at(seconds * 1000),
        weight: Weight::from_hundredths(CANDIDATES).expect("a weight"),
        candidates: (0..CANDIDATES).collect(),
        tick,
    }
}

fn request(bucket: u16, outcome: Outcome, micros: u64) -> Observation<'static> {
    Observation { bucket, arm: usize::from(bucket < CANDIDATES), outcome, cold: false, route: "/", micros }
}

/// `requests` from each of `clients` clients, a quarter of them on the candidate.
fn healthy(clients: u16, requests: u64, limits: &SlowLimits) -> Tick {
    let mut tick = Tick::default();
    for client in 0..clients {
        for _ in 0..requests {
            tick.record(request(client * (10_000 / clients), Outcome::Answered, 50_000), limits);
        }
    }
    tick
}

fn judged(ticks: &[ClosedTick], plan: &Plan) -> Verdict {
    let mut judge = Judge::default();
    for tick in ticks {
        judge.add(tick, &plan.sticky);
    }
    judge.verdict(plan, 0, at(0), ticks.last().map_or(at(0), |tick| tick.ended))
}

fn reason(verdict: &Verdict) -> Reason {
    match verdict {
        Verdict::Hold { reason, .. } => *reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_step_holds_until_its_time_its_requests_and_its_clients_are_there() {
    let plan = plan(json!({ "steps": [25], "for": "60s" }));
    let limits = SlowLimits::default();
    let early = judged(&[closed(healthy(400, 1, &limits), 10)], &plan);
    let Verdict::Hold { reason: Reason::Time, forecast, .. } = &early else { panic!("{early:?}") };
    assert_eq!((forecast.requests, forecast.clients, forecast.earliest), (50, [0, 0], Some(at(60_000))));
    assert_eq!(reason(&judged(&[closed(Tick::default(), 60)], &plan)), Reason::Quiet);
    assert_eq!(reason(&judged(&[closed(healthy(32, 20, &limits), 60)], &plan)), Reason::NoData, "nine clients");
    let slow = judged(&[closed(healthy(400, 1, &limits), 60)], &plan);
    let Verdict::Hold { reason: Reason::NoData, forecast, .. } = &slow else { panic!("{slow:?}") };
    assert_eq!((forecast.requests, forecast.earliest), (50, Some(at(90_000))), "at this pace");
    assert!(matches!(judged(&[closed(healthy(400, 2, &limits), 60)], &plan), Verdict::Pass { .. }));
}

#[test]
fn no_traffic_promotes_only_if_the_plan_says_so() {
    let promote = plan(json!({ "steps": [25], "for": "60s", "quiet": "promote" }));
    assert_eq!(reason(&judged(&[closed(Tick::default(), 59)], &promote)), Reason::Time);
    assert!(matches!(judged(&[closed(Tick::default(), 60)], &promote), Verdict::Pass { .. }));
    let one = healthy(4, 1, &SlowLimits::default());
    assert_eq!(reason(&judged(&[closed(one, 60)], &promote)), Reason::NoData, "a little traffic is not none");
}

fn failing(buckets: impl Iterator<Item = u16>) -> Tick {
    let mut tick = healthy(400, 1, &SlowLimits::default());
    for bucket in buckets {
        tick.record(request(bucket, Outcome::Failed, 1000), &SlowLimits::default());
    }
    tick
}

#[test]
fn an_outage_of_both_arms_holds_and_one_of_the_candidate_is_worse() {
    let plan = plan(json!({ "steps": [25], "for": "60s" }));
    let everyone = (0..400).map(|client| client * 25);
    let verdict = judged(&[closed(failing(everyone.clone()), 60)], &plan);
    assert_eq!(reason(&verdict), Reason::NoData, "nobody was answered");
    let candidate = everyone.filter(|bucket| *bucket < CANDIDATES);
    let verdict = judged(&[closed(failing(candidate.take(8)), 10)], &plan);
    let Verdict::Worse { test: Test::Errors, numbers } = &verdict else { panic!("{verdict:?}") };
    assert!(numbers.errors.evidence >= numbers.errors.limit);
    assert_eq!((numbers.errors.tried, numbers.errors.struck), ([300, 100], [0, 8]));
}

#[test]
fn one_failing_client_is_never_enough_and_two_are_unclear() {
    let plan = plan(json!({ "steps": [25], "for": "60s" }));
    let verdict = |failing_clients: &[u16]| {
        let tick = || failing(failing_clients.iter().copied());
        judged(&(1..100).map(|index| closed(tick(), index * 10)).collect::<Vec<_>>(), &plan)
    };
    assert!(matches!(verdict(&[25]), Verdict::Pass { .. }));
    assert_eq!(reason(&verdict(&[25, 50])), Reason::Unclear);
}

#[test]
fn what_the_plan_ignores_or_holds_does_not_abort() {
    let candidate = || closed(failing((0..100).map(|client| client * 25)), 60);
    for (errors, expected) in [("hold", Some(Reason::Unclear)), ("ignore", None)] {
        let plan = plan(json!({ "steps": [25], "for": "60s", "min": 1, "judge": { "errors": errors } }));
        let verdict = judged(&[closed(healthy(400, 1, &SlowLimits::default()), 50), candidate()], &plan);
        match expected {
            Some(expected) => assert_eq!(reason(&verdict), expected),
            None => assert!(matches!(verdict, Verdict::Pass { .. }), "{verdict:?}"),
        }
    }
}

#[test]
fn a_round_ends_when_most_of_the_base_was_struck_and_the_limit_rises() {
    let plan = plan(json!({ "steps": [25], "for": "60s" }));
    let everyone = || failing((0..400).map(|client| client * 25));
    let rounds = |seconds: &[i64]| {
        let ticks: Vec<ClosedTick> = seconds.iter().map(|second| closed(everyone(), *second)).collect();
        let numbers = judged(&ticks, &plan).numbers().errors.clone();
        (numbers.round, numbers.limit > 2000.0)
    };
    assert_eq!(rounds(&[10, 69]), (1, false), "a round is not shorter than a minute");
    assert_eq!(rounds(&[10, 70]), (2, true));
    assert_eq!(rounds(&[10, 70, 130]), (3, true));
}

/// The candidate answers after 100 ms and the base after 50: slow, if its route is known.
#[test]
fn a_candidate_is_slow_only_on_routes_whose_base_is_known() {
    let plan = plan(json!({ "steps": [25], "for": "60s" }));
    let mut judge = Judge::default();
    let mut verdict = None;
    for second in 1..=20 {
        let limits = judge.slow_limits(&plan);
        let mut tick = Tick::default();
        // Other clients in each tick: each counts once.
        for client in 0..400 {
            let bucket = client * 25 + second as u16;
            let micros = if bucket < CANDIDATES { 100_000 } else { 50_000 };
            tick.record(request(bucket, Outcome::Answered, micros), &limits);
        }
        assert_eq!(tick.timed.is_empty(), second == 1);
        judge.add(&closed(tick, second), &plan.sticky);
        verdict = Some(judge.verdict(&plan, 0, at(0), at(second * 1000)));
    }
    assert!(matches!(verdict, Some(Verdict::Worse { test: Test::Slow, .. })), "{verdict:?}");
}

#[test]
fn cold_starts_are_not_slow() {
    let plan = plan(json!({ "steps": [25], "for": "60s", "min": 1 }));
    let mut judge = Judge::default();
    for second in 1..=30 {
        let mut tick = Tick::default();
        for client in 0..400 {
            let bucket = client * 25 + second as u16 % 25;
            let cold = bucket < CANDIDATES;
            let micros = if cold { 3_000_000 } else { 50_000 };
            tick.record(Observation { cold, ..request(bucket, Outcome::Answered, micros) }, &judge.slow_limits(&plan));
        }
        judge.add(&closed(tick, second * 3), &plan.sticky);
    }
    let verdict = judge.verdict(&plan, 0, at(0), at(90_000));
    assert!(matches!(verdict, Verdict::Pass { .. }), "{verdict:?}");
    assert_eq!(verdict.numbers().cold, [0, 3000]);
}

#[test]
fn with_requests_as_units_each_failure_counts() {
    let plan = plan(json!({ "steps": [25], "for": "60s", "sticky": "none" }));
    let mut fails = healthy(400, 1, &SlowLimits::default());
    for bucket in [1, 2, 3, 4, 5, 6, 7] {
        fails.record(request(bucket, Outcome::Failed, 1000), &SlowLimits::default());
    }
    let verdict = judged(&[closed(fails, 10)], &plan);
    let Verdict::Worse { test: Test::Errors, numbers } = &verdict else { panic!("{verdict:?}") };
    assert_eq!((numbers.errors.tried, numbers.errors.struck), ([300, 107], [0, 7]));
}

fn node() -> impl Strategy<Value = Tick> {
    vec((0_u16..10_000, 0_u8..20, 1_u64..5_000_000), 0..60).prop_map(|requests| {
        let mut warm = Judge::default();
        warm.add(&closed(healthy(400, 1, &SlowLimits::default()), 1), &Plan::default().sticky);
        let limits = warm.slow_limits(&Plan::default());
        let mut tick = Tick::default();
        for (bucket, kind, micros) in requests {
            let outcome = match kind {
                0 => Outcome::Failed,
                1 => Outcome::Refused,
                _ => Outcome::Answered,
            };
            tick.record(Observation { cold: kind == 2, ..request(bucket, outcome, micros) }, &limits);
        }
        tick
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn invariant_6_the_verdict_depends_on_the_ticks_only_in_any_order_of_nodes(
        ticks in vec(vec(node(), 1..4), 1..6),
        turns in vec(0_usize..4, 6),
    ) {
        let plan = plan(json!({ "steps": [25], "for": "20s", "min": 10, "clients": 1 }));
        let fold = |turn: &dyn Fn(usize) -> usize| {
            let mut judge = Judge::default();
            let mut verdicts = Vec::new();
            for (index, nodes) in ticks.iter().enumerate() {
                let mut nodes = nodes.clone();
                let by = turn(index) % nodes.len();
                nodes.rotate_left(by);
                let merged = nodes.iter().fold(Tick::default(), |mut all, node| { all.merge(node); all });
                let seconds = index as i64 * 10 + 10;
                judge.add(&closed(merged, seconds), &plan.sticky);
                verdicts.push(judge.verdict(&plan, 0, at(0), at(seconds * 1000)));
            }
            (judge, verdicts)
        };
        prop_assert_eq!(fold(&|_| 0), fold(&|index| turns[index]));
    }

    #[test]
    fn a_stored_tick_is_read_back(tick in node()) {
        let stored = StoredTick::from(&tick);
        prop_assert_eq!(Tick::try_from(&stored), Ok(tick));
        let cut = StoredTick { counts: stored.counts[1..].to_owned(), ..stored.clone() };
        prop_assert!(Tick::try_from(&cut).is_err());
        let empty = StoredTick { slow: Vec::new(), ..stored };
        prop_assert!(Tick::try_from(&empty).is_err());
    }

    #[test]
    fn a_tick_may_be_merged_in_parts(a in node(), b in node(), c in node()) {
        let merge = |parts: &[&Tick]| parts.iter().fold(Tick::default(), |mut all, part| { all.merge(part); all });
        let whole = merge(&[&a, &b, &c]);
        prop_assert_eq!(&merge(&[&c, &merge(&[&b, &a])]), &whole);
        let seen: BucketSet = a.seen.iter().chain(b.seen.iter()).chain(c.seen.iter()).collect();
        prop_assert_eq!(whole.seen, seen);
    }
}
