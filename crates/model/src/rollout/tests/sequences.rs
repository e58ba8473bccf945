//! What must always hold, over any sequence of events (`docs/decisions/018-splits.md`).

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

use super::{HOUR, at, events, plan, rollout};
use crate::rollout::judge::Verdict;
use crate::rollout::{AbortReason, Event, Plan, Rollout, Shift, State};
use crate::split::Weight;

fn plans() -> impl Strategy<Value = Plan> {
    vec((1_u16..=99, any::<bool>()), 1..5).prop_map(|mut steps| {
        steps.sort_by_key(|(weight, _)| *weight);
        steps.dedup_by_key(|(weight, _)| *weight);
        let steps: Vec<_> =
            steps.iter().map(|(weight, approve)| json!({ "weight": weight, "approve": approve })).collect();
        plan(json!({ "steps": steps }))
    })
}

/// Indices into the kinds of events, with the time that passes before each.
fn sequences() -> impl Strategy<Value = Vec<(usize, i64)>> {
    vec((0..events(0).len(), prop_oneof![9 => 0_i64..60_000, 1 => 0..30 * HOUR]), 0..40)
}

/// Runs a sequence and shows each event to `look`: before, event, outcome.
fn run(
    plan: Plan,
    sequence: &[(usize, i64)],
    mut look: impl FnMut(&Rollout, &Event, Result<&super::super::Applied, ()>),
) -> Rollout {
    let mut now = rollout(plan);
    let mut time = 0;
    for (kind, wait) in sequence {
        time += wait;
        let (_, event) = events(now.step).swap_remove(*kind);
        match now.apply(&event, at(time)) {
            Ok(applied) => {
                look(&now, &event, Ok(&applied));
                now = applied.rollout;
            }
            Err(_) => look(&now, &event, Err(())),
        }
    }
    now
}

proptest! {
    #[test]
    fn invariant_4_from_any_open_state_abort_is_one_store(plan in plans(), sequence in sequences()) {
        let end = run(plan, &sequence, |_, _, _| ());
        for reason in [AbortReason::User, AbortReason::Rollback] {
            match end.apply(&Event::Abort { reason }, at(0)) {
                Ok(applied) => {
                    prop_assert!(end.is_open());
                    prop_assert_eq!(applied.shift, Some(Shift::AllBase));
                    prop_assert_eq!(applied.rollout.weight, Weight::NONE);
                    prop_assert_eq!(applied.rollout.state, State::Aborted { reason });
                }
                Err(_) => prop_assert!(!end.is_open()),
            }
        }
    }

    #[test]
    fn invariant_5_no_unforced_promotion_without_an_evaluated_last_step(plan in plans(), sequence in sequences()) {
        let last = plan.steps.len() - 1;
        let (mut passed, mut failed) = (None, None);
        run(plan, &sequence, |before, event, outcome| {
            let Ok(applied) = outcome else { return };
            if let Event::Judged { step, verdict: Verdict::Pass { .. } } = event {
                passed = Some(*step);
            }
            let after = &applied.rollout;
            if after.step != before.step {
                // A step is left only after it passed.
                if passed != Some(before.step) {
                    failed.get_or_insert(format!("{before:?} left its step by {event:?}"));
                }
            }
            match after.state {
                State::Promoted { forced: false } if passed != Some(last) || after.step != last => {
                    failed.get_or_insert(format!("{before:?} was promoted by {event:?}"));
                }
                State::Promoted { forced: true } if *event != (Event::Promote { force: true }) => {
                    failed.get_or_insert(format!("{event:?} forced"));
                }
                _ => {}
            }
        });
        prop_assert_eq!(failed, None);
    }

    #[test]
    fn invariant_11_every_transition_is_recorded_with_its_numbers(plan in plans(), sequence in sequences()) {
        let mut failed = None;
        let mut fail = |what: String| { failed.get_or_insert(what); };
        run(plan, &sequence, |before, event, outcome| {
            let Ok(applied) = outcome else { return };
            let after = &applied.rollout;
            match &applied.record {
                None if after != before || applied.shift.is_some() => fail(format!("{event:?} is not recorded")),
                Some(_) if after == before => fail(format!("{event:?} is recorded and did nothing")),
                Some(record) => {
                    let told = (&record.from.state, record.from.weight, &record.to.state, record.to.weight);
                    if told != (&before.state, before.weight, &after.state, after.weight) {
                        fail(format!("{event:?} is recorded as {record:?}"));
                    }
                    if matches!(event, Event::Judged { .. }) != record.verdict.is_some() {
                        fail(format!("{event:?} has the numbers {:?}", record.verdict));
                    }
                    let stored = serde_json::to_string(record).expect("JSON");
                    if serde_json::from_str::<super::super::Record>(&stored).ok().as_ref() != Some(record) {
                        fail(format!("{stored} is not read back"));
                    }
                }
                None => {}
            }
        });
        prop_assert_eq!(failed, None);
    }

    #[test]
    fn closed_states_never_reopen_and_weights_agree_with_states(plan in plans(), sequence in sequences()) {
        let mut failed = None;
        let end = run(plan.clone(), &sequence, |before, event, outcome| {
            let fits = match outcome {
                Err(()) => true,
                Ok(_) if !before.is_open() => false,
                Ok(applied) => {
                    let after = &applied.rollout;
                    let step = plan.steps[after.step].weight;
                    match after.state {
                        State::Promoted { .. } => after.weight == Weight::ALL,
                        State::Aborted { .. } | State::Superseded | State::Pending | State::Checking => after.weight == Weight::NONE,
                        State::Running | State::Holding { .. } | State::Waiting => after.weight == step,
                        State::Paused { .. } => after.weight == step || after.weight == Weight::NONE,
                    }
                }
            };
            if !fits {
                failed.get_or_insert(format!("{before:?} and {event:?}: {outcome:?}"));
            }
        });
        prop_assert_eq!(failed, None);
        let stored = serde_json::to_string(&end).expect("JSON");
        prop_assert_eq!(serde_json::from_str::<Rollout>(&stored).expect("a rollout"), end);
    }
}
