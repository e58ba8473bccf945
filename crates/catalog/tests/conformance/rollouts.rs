//! What must always hold is in `docs/decisions/018-splits.md`.

use milepost_catalog::{CatalogError, Known, LiveTarget, NewRollout, NewTick, RollbackInput, RolloutEvent};
use milepost_model::base::Base;
use milepost_model::change::Change;
use milepost_model::release::LiveMode;
use milepost_model::rollout::judge::{Judge, Observation, Outcome, SlowLimits, Tick, Verdict};
use milepost_model::rollout::{AbortReason, Event, Plan, RolloutView, State};
use milepost_model::{Code, PlanName, UnitKind};
use serde_json::json;

use crate::common::*;

async fn release(t: &Fixture, value: i64) -> String {
    t.put([config("n", value)]).await.release.unwrap().id
}

fn plan() -> Plan {
    serde_json::from_value(json!({ "steps": [5, 25] })).unwrap()
}

async fn try_start(t: &Fixture, release: &str, supersede: bool) -> Result<RolloutView, CatalogError> {
    t.clock.advance_ms(1000);
    let new = NewRollout { release: release.to_owned(), plan: plan(), supersede, why: String::new() };
    t.catalog.rollout_start(&t.app, "rob", new).await
}

/// Two releases, and a rollout from the first to the second.
async fn start(t: &Fixture) -> (String, String, String) {
    let base = release(t, 1).await;
    t.catalog.live_set(&t.app, "liz", LiveTarget::Release(base.clone()), String::new()).await.unwrap();
    let candidate = release(t, 2).await;
    let rollout = try_start(t, &candidate, false).await.unwrap();
    assert_eq!(rollout.rollout.state, State::Pending);
    (base, candidate, rollout.id)
}

async fn apply(t: &Fixture, rollout: &str, event: Event) -> Result<RolloutView, CatalogError> {
    t.clock.advance_ms(1000);
    let event = RolloutEvent { rollout: rollout.to_owned(), event, why: "because".into() };
    t.catalog.rollout_apply(&t.app, "rob", event).await
}

async fn run(t: &Fixture, rollout: &str) {
    apply(t, rollout, Event::Begin).await.unwrap();
    apply(t, rollout, Event::Ready).await.unwrap();
}

fn pass(step: usize) -> Event {
    let numbers = Box::new(Judge::default().numbers(&Plan::default()));
    Event::Judged { step, verdict: Verdict::Pass { numbers } }
}

/// The candidate's weight in hundredths of a percent, as a gateway would read it.
async fn weight(t: &Fixture) -> Option<u16> {
    let serving = t.catalog.serving(&t.app, Known::default()).await.unwrap().unwrap();
    serving.split.map(|split| split.arms()[1].weight.hundredths())
}

async fn a_rollout_goes_through_its_steps_to_a_promotion(t: &Fixture) {
    let (base, candidate, rollout) = start(t).await;
    assert_eq!(weight(t).await, None);
    run(t, &rollout).await;
    assert_eq!((weight(t).await, t.live_id().await), (Some(500), base.clone()));
    let salt = |serving: Option<milepost_catalog::Serving>| *serving.unwrap().split.unwrap().salt();
    let first = salt(t.catalog.serving(&t.app, Known::default()).await.unwrap());
    apply(t, &rollout, pass(0)).await.unwrap();
    assert_eq!((weight(t).await, t.live_id().await), (Some(2500), base.clone()));
    assert_eq!(salt(t.catalog.serving(&t.app, Known::default()).await.unwrap()), first);
    let ended = apply(t, &rollout, pass(1)).await.unwrap();
    assert_eq!(ended.rollout.state, State::Promoted { forced: false });
    assert!(ended.ended_at.is_some());
    assert_eq!((weight(t).await, t.live_id().await), (None, candidate));
    assert_eq!(t.live().await.mode, LiveMode::Pinned, "as before it began");

    let history = t.catalog.live_history(&t.app, ALL).await.unwrap().items;
    let weights: Vec<String> = history
        .iter()
        .rev()
        .map(|step| step.split.iter().map(|arm| arm.weight.to_string()).collect::<Vec<_>>().join("/"))
        .filter(|weights| !weights.is_empty())
        .collect();
    assert_eq!(weights, ["95/5", "75/25"]);
    let events: Vec<String> = t.events().await.into_iter().map(|event| event.kind).collect();
    let rollouts: Vec<&str> = events.iter().map(String::as_str).filter(|kind| kind.starts_with("rollout.")).collect();
    assert_eq!(rollouts, ["rollout.started", "rollout.changed", "rollout.changed", "rollout.changed", "rollout.ended"]);
}

async fn a_promotion_lets_live_follow_again_only_at_the_candidate(t: &Fixture) {
    let mut older = release(t, 1).await;
    for (value, later, mode) in [(2, false, LiveMode::Following), (4, true, LiveMode::Pinned)] {
        let base = release(t, value).await;
        assert_eq!((t.live_id().await, t.live().await.mode), (base.clone(), LiveMode::Following));
        // Live follows what is newest, so only a newer candidate of an open rollout is not live yet.
        try_start(t, &older, false).await.unwrap();
        let candidate = release(t, value + 1).await;
        assert_eq!((t.live_id().await, t.live().await.mode), (base.clone(), LiveMode::Pinned));
        let rollout = try_start(t, &candidate, true).await.unwrap().id;
        run(t, &rollout).await;
        if later {
            release(t, 9).await;
        }
        let ended = apply(t, &rollout, Event::Promote { force: true }).await.unwrap();
        assert_eq!(ended.rollout.state, State::Promoted { forced: true });
        assert_eq!((t.live_id().await, t.live().await.mode), (candidate, mode), "later: {later}");
        older = base;
    }
}

async fn an_abort_is_one_move_back_in_every_open_state(t: &Fixture) {
    let (base, candidate, first) = start(t).await;
    let paths: [&[Event]; 5] = [
        &[],
        &[Event::Begin],
        &[Event::Begin, Event::Ready],
        &[Event::Begin, Event::Ready, pass(0)],
        &[Event::Begin, Event::Ready, Event::Pause],
    ];
    let mut rollout = first;
    for path in paths {
        for event in path {
            apply(t, &rollout, event.clone()).await.unwrap();
        }
        let aborted = apply(t, &rollout, Event::Abort { reason: AbortReason::User }).await.unwrap();
        assert_eq!(aborted.rollout.state, State::Aborted { reason: AbortReason::User });
        assert_eq!((weight(t).await, t.live_id().await), (None, base.clone()));
        assert_eq!(t.live().await.mode, LiveMode::Pinned);
        let before = t.events().await.len();
        for event in
            [Event::Resume, Event::Promote { force: true }, Event::Abort { reason: AbortReason::User }, pass(0)]
        {
            assert_eq!(refused(apply(t, &rollout, event).await).message, "the rollout has ended");
        }
        assert_eq!(t.events().await.len(), before, "nothing changed");
        rollout = try_start(t, &candidate, false).await.unwrap().id;
    }
}

async fn invariant_12_nothing_that_settles_live_moves_it(t: &Fixture) {
    let base = release(t, 1).await;
    let candidate = release(t, 2).await;
    t.catalog.live_set(&t.app, "liz", LiveTarget::Release(base.clone()), String::new()).await.unwrap();
    let rollout = try_start(t, &candidate, false).await.unwrap().id;
    run(t, &rollout).await;
    let plain = release(t, 3).await;
    assert_eq!((t.live_id().await, weight(t).await), (base.clone(), Some(500)));
    t.catalog.release_expire(&t.app, "ed", plain.clone(), String::new()).await.unwrap();
    assert_eq!((t.live_id().await, weight(t).await), (base.clone(), Some(500)));
    for target in [LiveTarget::Release(candidate.clone()), LiveTarget::Forced(candidate.clone()), LiveTarget::Follow] {
        let refusal = refused(t.catalog.live_set(&t.app, "liz", target, String::new()).await);
        assert_eq!((refusal.code, refusal.facts.users[0].name.as_str()), (Code::InUse, rollout.as_str()));
    }
    let on_live = Change { on: Base::Live, ..change([config("n", 7)]) };
    assert_eq!(refused(t.send(on_live).await).code, Code::InUse);
    assert_eq!((t.live_id().await, weight(t).await), (base, Some(500)));
}

async fn base_and_candidate_are_kept(t: &Fixture) {
    t.set_plan(PlanName::Free).await;
    t.deploy("hello", "one").await;
    let base = t.live_id().await;
    let candidate = t.deploy("hello", "two").await.release.unwrap().id;
    t.catalog.live_set(&t.app, "liz", LiveTarget::Release(base.clone()), String::new()).await.unwrap();
    let rollout = try_start(t, &candidate, false).await.unwrap().id;
    run(t, &rollout).await;
    for value in 0..12 {
        release(t, value).await;
    }
    let active = t.active().await;
    assert!(active.contains(&base) && active.contains(&candidate), "{active:?}");
    for id in [&base, &candidate] {
        let refusal = refused(t.catalog.release_expire(&t.app, "ed", id.clone(), String::new()).await);
        assert!(refusal.facts.users.iter().any(|user| user.name == rollout), "{refusal:?}");
    }
    for version in ["1", "2"] {
        assert_eq!(refused(t.delete(UnitKind::Function, "hello", version).await).code, Code::InUse, "{version}");
    }
}

async fn a_rollback_is_an_abort(t: &Fixture) {
    let (base, candidate, rollout) = start(t).await;
    run(t, &rollout).await;
    let back = |dry_run| RollbackInput { to: None, why: String::new(), dry_run };
    let planned = t.catalog.rollback(&t.app, "liz", back(true)).await.unwrap();
    assert_eq!((planned.to.id, weight(t).await), (base.clone(), Some(500)), "a dry run changes nothing");
    t.catalog.rollback(&t.app, "liz", back(false)).await.unwrap();
    assert_eq!((weight(t).await, t.live_id().await), (None, base.clone()));
    let ended = t.catalog.rollout_get(&t.app, rollout).await.unwrap();
    assert_eq!(ended.rollout.state, State::Aborted { reason: AbortReason::Rollback });

    // To another release than the base: an abort, and then the move.
    let rollout = try_start(t, &candidate, false).await.unwrap().id;
    run(t, &rollout).await;
    let to = RollbackInput { to: Some(candidate.clone()), why: String::new(), dry_run: false };
    t.catalog.rollback(&t.app, "liz", to).await.unwrap();
    assert_eq!((weight(t).await, t.live_id().await), (None, candidate));
}

async fn a_newer_candidate_supersedes_and_the_base_stays(t: &Fixture) {
    let (base, candidate, first) = start(t).await;
    run(t, &first).await;
    let newer = release(t, 3).await;
    assert_eq!(refused(try_start(t, &newer, false).await).facts.users[0].name, first);
    let second = try_start(t, &newer, true).await.unwrap();
    assert_eq!(t.catalog.rollout_get(&t.app, first).await.unwrap().rollout.state, State::Superseded);
    assert_eq!((weight(t).await, t.live_id().await), (None, base));
    run(t, &second.id).await;
    assert_eq!(weight(t).await, Some(500));
    // The former candidate is no longer protected.
    t.catalog.release_expire(&t.app, "ed", candidate, String::new()).await.unwrap();
    let listed = t.catalog.rollout_list(&t.app, ALL).await.unwrap().items;
    assert_eq!(listed.iter().map(|rollout| rollout.rollout.is_open()).collect::<Vec<_>>(), [true, false]);
}

async fn executions_and_jobs_on_latest_run_the_base(t: &Fixture) {
    t.deploy("hello", "one").await;
    let base = t.live_id().await;
    t.job(new_job("hello", "latest", "*/5 * * * *")).await;
    let candidate = t.deploy("hello", "two").await.release.unwrap().id;
    t.deploy("other", "new").await;
    t.catalog.live_set(&t.app, "liz", LiveTarget::Release(base), String::new()).await.unwrap();
    let rollout = try_start(t, &candidate, false).await.unwrap().id;
    run(t, &rollout).await;
    t.accept("hello", "latest").await;
    t.accept("hello", "2").await;
    t.accept("other", "latest").await;
    t.clock.advance_ms(5 * 60_000);
    assert_eq!(t.catalog.fire_due(100).await.unwrap().executions, 1);
    assert_eq!(t.ran().await, [Some(1), Some(2), Some(1), Some(1)]);
    apply(t, &rollout, Event::Promote { force: true }).await.unwrap();
    t.accept("hello", "latest").await;
    assert_eq!(t.ran().await.last(), Some(&Some(2)));
}

fn seen(bucket: u16) -> Tick {
    let mut tick = Tick::default();
    let seen = Observation { bucket, arm: 0, outcome: Outcome::Failed, cold: false, route: "/", micros: 5 };
    tick.record(seen, &SlowLimits::default());
    tick
}

async fn ticks_are_judged_by_one_holder_and_count_once(t: &Fixture) {
    let (_, _, rollout) = start(t).await;
    run(t, &rollout).await;
    let record = async |node: &str, number: i64, step: usize, bucket: u16| {
        let new = NewTick {
            rollout: rollout.clone(),
            node: node.to_owned(),
            number,
            step,
            ended_at: t.catalog.now(),
            tick: Box::new(seen(bucket)),
        };
        t.catalog.rollout_tick(&t.app, new).await.unwrap()
    };
    let judged = async |holder: &str, after: i64| {
        t.catalog.rollout_ticks(&t.app, rollout.clone(), holder, after).await.unwrap().map(|ticks| {
            let buckets = |tick: &Tick| tick.failed.iter().collect::<Vec<_>>();
            ticks.iter().map(|tick| (tick.number, tick.step, buckets(&tick.tick))).collect::<Vec<_>>()
        })
    };
    assert_eq!(judged("one", 0).await, None, "nobody has the lease yet");
    let taken = [(t.app.clone(), rollout.clone())];
    assert_eq!(t.catalog.rollouts_judge("one", 60_000).await.unwrap(), taken);
    assert_eq!(t.catalog.rollouts_judge("two", 60_000).await.unwrap(), []);
    assert_eq!(t.catalog.rollouts_judge("one", 60_000).await.unwrap(), taken, "renewed");
    for (node, number, step, bucket) in [("a", 1, 0, 1), ("b", 1, 0, 2), ("a", 1, 0, 99), ("b", 2, 1, 3)] {
        assert!(record(node, number, step, bucket).await);
    }
    let first = vec![(1, 0, vec![1, 2]), (1, 1, vec![3])];
    assert_eq!(judged("one", 0).await, Some(first.clone()));
    record("a", 2, 0, 4).await;
    assert_eq!(judged("one", 1).await, Some(vec![(2, 0, vec![4])]), "what comes late joins the next");
    assert_eq!(judged("two", 0).await, None);

    // Another node goes on from what was recorded.
    assert_eq!(t.catalog.rollouts_judge("one", -1).await.unwrap(), taken, "given up");
    assert_eq!(t.catalog.rollouts_judge("two", 60_000).await.unwrap(), taken);
    assert_eq!(judged("two", 0).await, Some([first, vec![(2, 0, vec![4])]].concat()));
    apply(t, &rollout, Event::Abort { reason: AbortReason::User }).await.unwrap();
    assert!(!record("a", 3, 0, 5).await);
    assert_eq!(judged("two", 0).await, None);
}

async fn rollouts_that_cannot_be_are_refused(t: &Fixture) {
    let (base, candidate, rollout) = start(t).await;
    assert_eq!(refused(try_start(t, "nothing", false).await).code, Code::ReleaseNotFound);
    assert_eq!(refused(t.catalog.rollout_get(&t.app, "nothing".into()).await).code, Code::RolloutNotFound);
    assert_eq!(refused(apply(t, &rollout, Event::Approve).await).message, "the rollout does not wait for an approval");
    assert_eq!(
        refused(apply(t, &rollout, Event::Promote { force: false }).await).message,
        "the judge has not passed the last step"
    );
    apply(t, &rollout, Event::Abort { reason: AbortReason::User }).await.unwrap();
    assert_eq!(refused(try_start(t, &base, false).await).message, format!("release `{base}` is live already"));
    t.catalog.release_expire(&t.app, "ed", candidate.clone(), String::new()).await.unwrap();
    assert_eq!(refused(try_start(t, &candidate, false).await).code, Code::ReleaseExpired);
    let mut falls = plan();
    falls.steps.reverse();
    let new = NewRollout { release: candidate, plan: falls, supersede: false, why: String::new() };
    let refusal = refused(t.catalog.rollout_start(&t.app, "rob", new).await);
    assert_eq!(refusal.message, "step 2 falls from 25 % to 5 %");
}

async fn an_app_with_an_open_rollout_can_be_deleted(t: &Fixture) {
    let (_, _, rollout) = start(t).await;
    run(t, &rollout).await;
    t.catalog.app_delete(&t.app, "dan").await.unwrap();
    assert_eq!(t.number("SELECT count(*) FROM rollouts WHERE open = 1").await, 0);
    assert!(t.catalog.serving(&t.app, Known::default()).await.unwrap().is_none());
    t.catalog.app_create(&t.app, PlanName::Standard, "ann").await.unwrap();
    release(t, 1).await;
    assert_eq!(weight(t).await, None);
}

on_both_engines! {
    a_rollout_goes_through_its_steps_to_a_promotion,
    a_promotion_lets_live_follow_again_only_at_the_candidate,
    an_abort_is_one_move_back_in_every_open_state,
    invariant_12_nothing_that_settles_live_moves_it,
    base_and_candidate_are_kept,
    a_rollback_is_an_abort,
    a_newer_candidate_supersedes_and_the_base_stays,
    executions_and_jobs_on_latest_run_the_base,
    rollouts_that_cannot_be_are_refused,
    ticks_are_judged_by_one_holder_and_count_once,
    an_app_with_an_open_rollout_can_be_deleted,
}
