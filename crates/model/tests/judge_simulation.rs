//! The judge against simulated traffic: healthy candidates under many kinds of trouble must not be
//! aborted more often than `alpha`, and bad ones must be aborted soon
//! (`docs/decisions/019-the-judge.md` has the numbers).
//!
//! Seeds are fixed, so each run is the same. `MILEPOST_SIMULATIONS=1000` runs that many of each kind
//! and prints a table; use it with `--release` or patience.

#![expect(clippy::expect_used, reason = "test code: a step that fails ends the test")]

#[path = "judge_simulation/world.rs"]
mod world;

use world::{Ended, World, simulate};

/// How many runs each kind has, and whether it is the long form.
fn runs(short: u64) -> (u64, bool) {
    let asked = std::env::var("MILEPOST_SIMULATIONS").ok().and_then(|runs| runs.parse().ok());
    (asked.unwrap_or(short), asked.is_some())
}

fn healthy() -> Vec<(&'static str, World)> {
    let plain = World::default();
    vec![
        ("0.2 % fail", plain.clone()),
        ("10 % fail", World { failing: 0.10, ..plain.clone() }),
        ("30 % fail, 60 clients", World { failing: 0.30, clients: 60, skew: 1.5, rate: 5.0, ..plain.clone() }),
        ("outage of 100 % for 60 s", World { outage: Some((70.0, 130.0, 1.0)), ..plain.clone() }),
        ("outage of 30 % across a step", World { outage: Some((50.0, 80.0, 0.3)), ..plain.clone() }),
        ("40 heavy clients that fail", World { bad_clients: (40, 0.5, 30.0), clients: 2000, ..plain.clone() }),
        (
            "20 bad clients, ten steps",
            World {
                bad_clients: (20, 1.0, 10.0),
                clients: 2000,
                steps: (1..=10).map(|step| step * 5).collect(),
                ..plain.clone()
            },
        ),
        ("cold starts", World { cold: 200, ..plain.clone() }),
        ("another mix of routes", World { mix: 0.8, ..plain }),
    ]
}

#[test]
fn healthy_candidates_are_aborted_less_often_than_alpha() {
    let (runs, long) = runs(10);
    let (mut aborted, mut all) = (0, 0);
    for (kind, world) in healthy() {
        let ends: Vec<Ended> = (0..runs).map(|seed| simulate(&world, seed)).collect();
        let wrong = ends.iter().filter(|end| end.aborted).count() as u64;
        if long {
            println!(
                "{kind:32} {:5.2} % aborted, {:5.1} % promoted",
                percent(wrong, runs),
                percent(promoted(&ends), runs)
            );
            // Three standard deviations above 1 %.
            let most = runs as f64 * 0.01 + 3.0 * (runs as f64 * 0.01).sqrt();
            assert!(wrong as f64 <= most, "{kind}: {wrong} of {runs}");
        }
        aborted += wrong;
        all += runs;
    }
    let most = all as f64 * 0.01 + 3.0 * (all as f64 * 0.01).sqrt();
    assert!(aborted as f64 <= most, "{aborted} of {all} healthy candidates were aborted");
}

/// With a limit that is too low, or failures counted twice, this would abort too.
#[test]
fn a_healthy_candidate_is_promoted() {
    let (runs, _) = runs(4);
    let ends: Vec<Ended> = (0..runs).map(|seed| simulate(&World::default(), seed + 1000)).collect();
    assert!(promoted(&ends) * 10 >= runs * 9, "{} of {runs}", promoted(&ends));
}

/// A candidate that is slower, but not by as much as the plan allows, is not as good as the base.
/// Hardly any is aborted nevertheless.
#[test]
fn a_candidate_within_the_allowed_slowdown_is_promoted() {
    let (runs, _) = runs(8);
    let world = World { slower: 1.1, ..World::default() };
    let ends: Vec<Ended> = (0..runs).map(|seed| simulate(&world, seed)).collect();
    let aborted = ends.iter().filter(|end| end.aborted).count() as u64;
    assert!(aborted * 40 <= runs + 40 && promoted(&ends) * 10 >= runs * 8, "{aborted} of {runs}");
}

struct Bad {
    kind: &'static str,
    world: World,
    /// At least this share is aborted.
    share: f64,
    /// Half of them within so many candidate requests, and nine of ten.
    within: (u64, u64),
}

fn bad() -> Vec<Bad> {
    let plain = World { failing: 0.002, ..World::default() };
    let fails = |failing: f64| World { candidate_failing: failing, ..plain.clone() };
    let bad = |kind, world, share, within| Bad { kind, world, share, within };
    vec![
        bad("fails 100 %", fails(1.0), 1.0, (5, 8)),
        bad("fails 20 %", fails(0.2), 1.0, (16, 30)),
        bad("fails 20 %, 400 a second", World { rate: 400.0, clients: 50_000, ..fails(0.2) }, 1.0, (21, 35)),
        bad("fails 20 %, 2 a second", World { rate: 2.0, clients: 500, time: 600.0, ..fails(0.2) }, 1.0, (20, 38)),
        bad("fails 20 % over 2 %", World { failing: 0.02, ..fails(0.2) }, 1.0, (30, 55)),
        bad("fails 5 %", fails(0.05), 0.95, (85, 200)),
        bad("fails 2 %", fails(0.02), 0.95, (350, 800)),
        bad(
            "fails 20 % after an outage",
            World { outage: Some((5.0, 30.0, 1.0)), from: 100.0, time: 300.0, clients: 1000, ..fails(0.2) },
            0.95,
            (140, 190),
        ),
        bad("2 times slower", World { slower: 2.0, ..plain.clone() }, 0.95, (60, 100)),
        bad("1.3 times slower", World { slower: 1.3, time: 300.0, ..plain }, 0.6, (1500, 4500)),
    ]
}

#[test]
fn bad_candidates_are_aborted_soon() {
    let (runs, long) = runs(6);
    let mut wrong = Vec::new();
    for Bad { kind, world, share, within } in bad() {
        let ends: Vec<Ended> = (0..runs).map(|seed| simulate(&world, seed)).collect();
        let mut requests: Vec<u64> = ends.iter().filter(|end| end.aborted).map(|end| end.candidate_requests).collect();
        requests.sort_unstable();
        let at =
            |share: f64| requests.get((requests.len().saturating_sub(1) as f64 * share) as usize).copied().unwrap_or(0);
        let aborted = requests.len() as f64 / runs as f64;
        let found = format!(
            "{kind:32} {:5.1} % aborted after {} (half) and {} (90 %) of its requests",
            aborted * 100.0,
            at(0.5),
            at(0.9)
        );
        if long {
            println!("{found}");
        }
        // Few runs have wide quantiles.
        let slack = if runs < 200 { 2.0 } else { 1.0 };
        if aborted < share || at(0.5) as f64 > within.0 as f64 * slack || at(0.9) as f64 > within.1 as f64 * slack {
            wrong.push(found);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn promoted(ends: &[Ended]) -> u64 {
    ends.iter().filter(|end| end.promoted).count() as u64
}

fn percent(part: u64, all: u64) -> f64 {
    part as f64 * 100.0 / all as f64
}
