mod judging;
mod plans;
mod sequences;
mod table;

use super::judge::{Judge, Numbers, Reason, Test, Verdict};
use super::{AbortReason, Event, Plan, Rollout, Scope};
use crate::clock::{Timestamp, from_millis};
use crate::split::Target;

const HOUR: i64 = 3_600_000;

fn at(millis: i64) -> Timestamp {
    from_millis(1_800_000_000_000 + millis)
}

fn rollout(plan: Plan) -> Rollout {
    plan.check().expect("a plan");
    Rollout::new(Scope::App, Target::Release("base".to_owned()), Target::Release("next".to_owned()), plan, at(0))
}

fn plan(json: serde_json::Value) -> Plan {
    serde_json::from_value(json).expect("a plan")
}

fn numbers() -> Box<Numbers> {
    Box::new(Judge::default().numbers(&Plan::default()))
}

fn worse() -> Verdict {
    Verdict::Worse { test: Test::Errors, numbers: numbers() }
}

fn pass() -> Verdict {
    Verdict::Pass { numbers: numbers() }
}

fn hold(reason: Reason) -> Verdict {
    let forecast = super::judge::Forecast { earliest: None, requests: 0, clients: [0, 0] };
    Verdict::Hold { reason, forecast, numbers: numbers() }
}

/// Every kind of event, for the step that a rollout is on.
fn events(step: usize) -> Vec<(&'static str, Event)> {
    vec![
        ("begin", Event::Begin),
        ("ready", Event::Ready),
        ("cannot-start", Event::CannotStart),
        ("worse", Event::Judged { step, verdict: worse() }),
        ("pass", Event::Judged { step, verdict: pass() }),
        ("time", Event::Judged { step, verdict: hold(Reason::Time) }),
        ("quiet", Event::Judged { step, verdict: hold(Reason::Quiet) }),
        ("unclear", Event::Judged { step, verdict: hold(Reason::Unclear) }),
        ("no-data", Event::Judged { step, verdict: hold(Reason::NoData) }),
        ("old-worse", Event::Judged { step: step + 7, verdict: worse() }),
        ("deadline", Event::Deadline),
        ("pause", Event::Pause),
        ("resume", Event::Resume),
        ("approve", Event::Approve),
        ("promote", Event::Promote { force: false }),
        ("force", Event::Promote { force: true }),
        ("abort", Event::Abort { reason: AbortReason::User }),
        ("rollback", Event::Abort { reason: AbortReason::Rollback }),
        ("supersede", Event::Supersede),
    ]
}
