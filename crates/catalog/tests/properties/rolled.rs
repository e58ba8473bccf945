//! Random interleavings of deploys, moves, expiry and deletes with rollouts
//! (`docs/decisions/018-splits.md`).

use milepost_catalog::{CatalogError, Known, LiveTarget, NewRollout, RollbackInput, RolloutEvent};
use milepost_model::UnitKind;
use milepost_model::base::Base;
use milepost_model::change::Change;
use milepost_model::rollout::judge::{Judge, Verdict};
use milepost_model::rollout::{AbortReason, Event, Plan, RolloutView};
use milepost_model::split::{Target, Weight};
use proptest::prelude::*;
use serde_json::json;

use crate::common::*;

#[derive(Debug, Clone)]
pub enum Step {
    Deploy(u8),
    Configure(u8),
    OnLive(u8),
    Live(u8),
    Follow,
    Rollback(Option<u8>),
    Expire(u8),
    DeleteVersion(u8),
    Start { release: u8, supersede: bool },
    Event(u8),
}

pub fn sequences() -> impl Strategy<Value = Vec<Step>> {
    let any = || any::<u8>();
    let step = prop_oneof![
        3 => any().prop_map(Step::Deploy),
        3 => any().prop_map(Step::Configure),
        1 => any().prop_map(Step::OnLive),
        2 => any().prop_map(Step::Live),
        1 => Just(Step::Follow),
        1 => prop::option::of(any()).prop_map(Step::Rollback),
        2 => any().prop_map(Step::Expire),
        1 => any().prop_map(Step::DeleteVersion),
        4 => (any(), prop::bool::weighted(0.3)).prop_map(|(release, supersede)| Step::Start { release, supersede }),
        10 => any().prop_map(Step::Event),
    ];
    prop::collection::vec(step, 5..40)
}

fn event(kind: u8, step: usize) -> Event {
    let numbers = || Box::new(Judge::default().numbers(&Plan::default()));
    match kind % 12 {
        0 => Event::Begin,
        1 => Event::Ready,
        2..=4 => Event::Judged { step, verdict: Verdict::Pass { numbers: numbers() } },
        5 => Event::Judged {
            step,
            verdict: Verdict::Worse { test: milepost_model::rollout::judge::Test::Errors, numbers: numbers() },
        },
        6 => Event::Pause,
        7 => Event::Resume,
        8 => Event::Promote { force: false },
        9 => Event::Promote { force: true },
        10 => Event::Abort { reason: AbortReason::User },
        _ => Event::CannotStart,
    }
}

pub async fn rollout_invariant_12_nothing_that_settles_live_moves_it_while_a_rollout_is_open(
    t: &mut Fixture,
    steps: &Vec<Step>,
) {
    t.deploy("hello", "0").await;
    let mut before = None;
    for step in steps {
        t.clock.advance_ms(1000);
        match run(t, step).await {
            Ok(()) | Err(CatalogError::Refused(_)) => {}
            Err(error) => panic!("{step:?}: {error:?}"),
        }
        before = check(t, step, before).await;
    }
}

async fn rollouts(t: &Fixture) -> Vec<RolloutView> {
    t.catalog.rollout_list(&t.app, ALL).await.unwrap().items
}

/// Returns the open rollout with its base.
async fn check(t: &Fixture, step: &Step, before: Option<(String, String)>) -> Option<(String, String)> {
    let all = rollouts(t).await;
    let open: Vec<&RolloutView> = all.iter().filter(|rollout| rollout.rollout.is_open()).collect();
    assert!(open.len() <= 1, "after {step:?}: {open:?}");
    let split = t.catalog.serving(&t.app, Known::default()).await.unwrap().unwrap().split;
    let Some(open) = open.first() else {
        assert_eq!(split, None, "after {step:?}");
        return None;
    };
    let Target::Release(base) = &open.rollout.base else { panic!("{open:?}") };
    let Target::Release(candidate) = &open.rollout.candidate else { panic!("{open:?}") };
    assert_eq!(&t.live_id().await, base, "after {step:?}");
    let active = t.active().await;
    assert!(active.contains(base) && active.contains(candidate), "after {step:?}: {active:?}");
    let weight = split.as_ref().map_or(Weight::NONE, |split| split.arms()[1].weight);
    assert_eq!(weight, open.rollout.weight, "after {step:?}");
    if let Some((id, was)) = before.filter(|(id, _)| *id == open.id) {
        assert_eq!((&id, &was), (&open.id, base), "after {step:?}");
    }
    Some((open.id.clone(), base.clone()))
}

async fn run(t: &Fixture, step: &Step) -> Result<(), CatalogError> {
    let releases = t.catalog.release_list(&t.app, false, ALL).await.unwrap().items;
    let name = |position: &u8| releases[usize::from(*position) % releases.len()].id.clone();
    let why = String::new;
    match step {
        Step::Deploy(code) => drop(t.deploy("hello", &code.to_string()).await),
        Step::Configure(value) => drop(t.put([config("n", i64::from(*value))]).await),
        Step::OnLive(value) => {
            drop(t.send(Change { on: Base::Live, ..change([config("n", i64::from(*value))]) }).await?);
        }
        Step::Live(release) => {
            t.catalog.live_set(&t.app, "liz", LiveTarget::Release(name(release)), why()).await?;
        }
        Step::Follow => drop(t.catalog.live_set(&t.app, "liz", LiveTarget::Follow, why()).await?),
        Step::Rollback(to) => {
            let input = RollbackInput { to: to.as_ref().map(name), why: why(), dry_run: false };
            t.catalog.rollback(&t.app, "liz", input).await?;
        }
        Step::Expire(release) => drop(t.catalog.release_expire(&t.app, "ed", name(release), why()).await?),
        Step::DeleteVersion(version) => {
            t.delete(UnitKind::Function, "hello", &(version % 8 + 1).to_string()).await?;
        }
        Step::Start { release, supersede } => {
            let plan = serde_json::from_value(json!({ "steps": [5, 25, 50] })).unwrap();
            let new = NewRollout { release: name(release), plan, supersede: *supersede, why: why() };
            t.catalog.rollout_start(&t.app, "rob", new).await?;
        }
        Step::Event(kind) => {
            let Some(newest) = rollouts(t).await.into_iter().next() else { return Ok(()) };
            let event = event(*kind, newest.rollout.step);
            t.catalog.rollout_apply(&t.app, "rob", RolloutEvent { rollout: newest.id, event, why: why() }).await?;
        }
    }
    Ok(())
}
