use serde_json::{Value, json};

use super::plan;
use crate::refusal::Refusal;
use crate::rollout::Plan;
use crate::rollout::plan::{Span, Sticky};

#[test]
fn the_manifest_of_the_guide_is_a_plan_and_mostly_the_default() {
    let written = plan(json!({
        "steps": [5, { "weight": 25, "for": "10m", "approve": true }, "50%"],
        "for": "5m", "min": 150, "clients": 10, "quiet": "hold", "deadline": "24h", "sticky": "visitor", "override": "token",
        "judge": { "errors": "abort", "slow": "abort", "alpha": 0.01, "slowdown": 1.25, "floor": "20ms", "harm": "1%" },
    }));
    written.check().expect("a plan");
    assert_eq!(written.time_of(0).to_string(), "5m");
    assert_eq!(written.time_of(1).to_string(), "10m");
    assert!(written.steps[1].approve && written.is_last(2) && !written.is_last(1));
    let plain = plan(json!({ "steps": [5, 25, 50] }));
    assert_eq!(plain, Plan::default());
    assert_eq!(plan(json!({})), Plan::default());
    let stored = serde_json::to_value(&written).expect("JSON");
    assert_eq!(plan(stored), written);
}

#[test]
fn refuses_plans_that_cannot_be_carried_out() {
    for (json, expected) in [
        (json!({ "steps": [] }), "a rollout has 1 to 50 steps, not 0"),
        (json!({ "steps": [25, 5] }), "step 2 falls from 25 % to 5 %"),
        (json!({ "steps": [25, 25] }), "step 2 falls from 25 % to 25 %"),
        (json!({ "steps": [0, 25] }), "step 1 has a weight of 0 %, which is not between 0 and 100"),
        (json!({ "steps": [25, 100] }), "step 2 has a weight of 100 %, which is not between 0 and 100"),
        (json!({ "for": "9h" }), "the steps last at least 1d3h, which does not fit in the deadline of 1d"),
        (json!({ "for": "999ms" }), "step 1 lasts 999ms, which is shorter than 1s"),
        (json!({ "steps": ["0.05"] }), "step 1 with 0.05 % never has the 10 clients that it needs"),
        (json!({ "steps": ["99.95"] }), "step 1 with 99.95 % never has the 10 clients that it needs"),
        (json!({ "clients": 0 }), "`clients` is 0, which is not from 1 to 5000"),
        (json!({ "judge": { "alpha": 0 } }), "`alpha` is 0, which is not from above 0 to 0.2"),
        (json!({ "judge": { "alpha": 1 } }), "`alpha` is 1, which is not from above 0 to 0.2"),
        (json!({ "judge": { "slowdown": 1 } }), "`slowdown` is 1, which is not from 1.01 to 100"),
        (json!({ "judge": { "harm": "51%" } }), "`harm` is 51%, which is not from 0% to 50%"),
        (json!({ "judge": { "floor": "2m" } }), "`floor` is 2m, which is not from 0s to 1m"),
    ] {
        let error = plan(json.clone()).check().expect_err(&json.to_string());
        assert_eq!(error.to_string(), expected, "{json}");
        assert_eq!(Refusal::from(error).message, expected);
    }
    let mut nan = Plan::default();
    nan.judge.slowdown = f64::NAN;
    assert!(nan.check().is_err());
    nan = Plan::default();
    nan.judge.alpha = f64::NAN;
    assert!(nan.check().is_err());
}

#[test]
fn refuses_values_that_are_no_plan() {
    let wrong = |json: Value| serde_json::from_value::<Plan>(json).expect_err("refused").to_string();
    for json in [
        json!({ "step": [5] }),
        json!({ "steps": 5 }),
        json!({ "steps": [5.001] }),
        json!({ "steps": [-5] }),
        json!({ "steps": [101] }),
        json!({ "steps": [{ "weight": 5, "until": "5m" }] }),
        json!({ "steps": [{ "for": "5m" }] }),
        json!({ "for": "5" }),
        json!({ "for": "m" }),
        json!({ "for": "5m5m" }),
        json!({ "for": "5s1m" }),
        json!({ "for": "99999999999999999999d" }),
        json!({ "for": "367d" }),
        json!({ "quiet": "abort" }),
        json!({ "override": "everyone" }),
        json!({ "sticky": "cookie:" }),
        json!({ "sticky": "cookie:a b" }),
        json!({ "sticky": "session" }),
        json!({ "judge": { "errors": "no" } }),
        json!({ "judge": { "harm": "1 in 100" } }),
    ] {
        wrong(json);
    }
    assert!(wrong(json!({ "steps": [{ "weight": 5, "until": "5m" }] })).contains("unknown field `until`"));
    assert!(wrong(json!({ "for": "5 minutes" })).contains("write it like `5m`"));
}

#[test]
fn spans_and_keys_are_printed_as_they_are_read() {
    for text in ["5m", "1h30m", "20ms", "24h", "7d", "1d2h3m4s5ms", "0s"] {
        let span: Span = text.parse().expect(text);
        assert_eq!(span.to_string().parse::<Span>(), Ok(span), "{text}");
    }
    assert_eq!("24h".parse::<Span>().expect("a day").to_string(), "1d");
    for text in ["visitor", "none", "cookie:session", "header:x-user"] {
        assert_eq!(text.parse::<Sticky>().expect(text).to_string(), text);
    }
    assert_eq!("header:X-User".parse::<Sticky>().expect("a header").to_string(), "header:x-user");
}
