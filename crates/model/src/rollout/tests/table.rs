//! Each state with each event. A `-` is an event that does not fit.

use serde_json::json;

use super::{at, events, plan, rollout};
use crate::rollout::{Event, Rollout, State};

const HEADS: &str = "begin    ready    cannot-start worse    pass     time     quiet    unclear  no-data  \
                     old-worse deadline pause   resume   approve  promote  force    abort    rollback supersede";

/// The first of two steps needs an approval. The deadline has passed in every state.
const TABLE: &str = "
pending           checking -        aborted/0 -        -        -        -        -        -        - paused/0 paused/0 -        -        -        promoted/100 aborted/0 aborted/0 superseded/0
checking          -        running/10 aborted/0 -      -        -        -        -        -        - paused/0 paused/0 -        -        -        promoted/100 aborted/0 aborted/0 superseded/0
running           -        -        -        aborted/0 waiting/10 running/10 holding/10 holding/10 holding/10 - paused/10 paused/10 -   -        -        promoted/100 aborted/0 aborted/0 superseded/0
holding           -        -        -        aborted/0 waiting/10 running/10 holding/10 holding/10 holding/10 - paused/10 paused/10 -   -        -        promoted/100 aborted/0 aborted/0 superseded/0
waiting           -        -        -        aborted/0 waiting/10 waiting/10 waiting/10 waiting/10 waiting/10 - paused/10 paused/10 -   running/50 -      promoted/100 aborted/0 aborted/0 superseded/0
paused-pending    -        -        aborted/0 -        -        -        -        -        -        - -        -        pending/0 -       -        promoted/100 aborted/0 aborted/0 superseded/0
paused-checking   -        -        aborted/0 -        -        -        -        -        -        - -        -        checking/0 -      -        promoted/100 aborted/0 aborted/0 superseded/0
paused-running    -        -        -        aborted/0 paused/10 paused/10 paused/10 paused/10 paused/10 - -   -        running/10 -      -        promoted/100 aborted/0 aborted/0 superseded/0
paused-waiting    -        -        -        aborted/0 paused/10 paused/10 paused/10 paused/10 paused/10 - -   -        waiting/10 -      -        promoted/100 aborted/0 aborted/0 superseded/0
last-running      -        -        -        aborted/0 promoted/100 running/50 holding/50 holding/50 holding/50 - paused/50 paused/50 - -        -        promoted/100 aborted/0 aborted/0 superseded/0
last-paused-passed - -     -        aborted/0 paused/50 paused/50 paused/50 paused/50 paused/50 - -   -        running/50 -      promoted/100 promoted/100 aborted/0 aborted/0 superseded/0
promoted          - - - - - - - - - - - - - - - - - - -
aborted           - - - - - - - - - - - - - - - - - - -
superseded        - - - - - - - - - - - - - - - - - - -
";

fn one(name: &str, step: usize) -> Event {
    events(step).into_iter().find(|(kind, _)| *kind == name).expect(name).1
}

fn reach(path: &[&str]) -> Rollout {
    let two_steps = plan(json!({ "steps": [{ "weight": 10, "approve": true }, 50], "deadline": "24h" }));
    path.iter().fold(rollout(two_steps), |now, name| {
        now.apply(&one(name, now.step), at(1000)).unwrap_or_else(|stale| panic!("{name}: {stale}")).rollout
    })
}

fn state(name: &str) -> Rollout {
    let path: &[&str] = match name {
        "pending" => &[],
        "checking" => &["begin"],
        "running" => &["begin", "ready"],
        "holding" => &["begin", "ready", "no-data"],
        "waiting" => &["begin", "ready", "pass"],
        "paused-pending" => &["pause"],
        "paused-checking" => &["begin", "pause"],
        "paused-running" => &["begin", "ready", "pause"],
        "paused-waiting" => &["begin", "ready", "pass", "pause"],
        "last-running" => &["begin", "ready", "pass", "approve"],
        "last-paused-passed" => &["begin", "ready", "pass", "approve", "pause", "pass"],
        "promoted" => &["begin", "ready", "pass", "approve", "pass"],
        "aborted" => &["abort"],
        "superseded" => &["begin", "supersede"],
        other => panic!("{other}"),
    };
    reach(path)
}

#[test]
fn every_cell() {
    let heads: Vec<&str> = HEADS.split_whitespace().collect();
    assert_eq!(heads, events(0).into_iter().map(|(name, _)| name).collect::<Vec<_>>());
    let mut wrong = Vec::new();
    for row in TABLE.trim().lines() {
        let (name, cells) = row.split_once(' ').expect("a name and cells");
        let cells: Vec<&str> = cells.split_whitespace().collect();
        assert_eq!(cells.len(), heads.len(), "{name}");
        let before = state(name);
        for (head, cell) in heads.iter().zip(cells) {
            let found = match before.apply(&one(head, before.step), before.deadline) {
                Ok(applied) => format!("{}/{}", applied.rollout.state.as_str(), applied.rollout.weight),
                Err(_) => "-".to_owned(),
            };
            // A state without traffic is written without its weight where that says nothing.
            if found != cell && found != format!("{cell}/0") {
                wrong.push(format!("{name} + {head}: {found}, not {cell}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_deadline_that_has_not_come_changes_nothing() {
    let running = state("running");
    assert!(running.apply(&Event::Deadline, at(1001)).is_err());
    assert_eq!(running.due(at(1001)), None);
    assert_eq!(running.due(running.deadline), Some(Event::Deadline));
    let paused = running.apply(&Event::Deadline, running.deadline).expect("paused").rollout;
    assert_eq!(paused.due(paused.deadline), None);
    let resumed = paused.apply(&Event::Resume, paused.deadline).expect("resumed").rollout;
    assert_eq!(resumed.due(paused.deadline), None, "a resumed rollout has its deadline again");
}

#[test]
fn a_forced_promotion_says_so_only_if_it_was_needed() {
    for (from, forced) in [("running", true), ("last-running", true), ("last-paused-passed", false)] {
        let promoted = state(from).apply(&Event::Promote { force: true }, at(0)).expect("promoted").rollout;
        assert_eq!(promoted.state, State::Promoted { forced }, "{from}");
    }
}
