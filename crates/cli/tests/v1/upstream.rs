//! Behaviour of the original server that scripts rely on: times of jobs, order of lists, concurrent
//! calls.

use std::time::Duration;

use milepost_testkit::eventually_blocking;
use reqwest::Method;
use serde_json::{Value, json};

use crate::stage::Stage;

const MAIN: &str = "def main(**kwargs):\n    return 1\n";
const SLOW: &str = "import time\n\ndef main(**kwargs):\n    time.sleep(1)\n    return 1\n";

fn job(stage: &Stage, function: &str, more: &Value) -> Value {
    let mut body = json!({ "function_id": function });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    stage.json(Method::POST, "/v1/jobs", &body, 201)
}

#[test]
fn a_job_with_a_pattern_fires_at_times_of_the_pattern_from_its_first_time_on() {
    let stage = Stage::new(&["--executions", "0"]);
    let function = stage.function(&stage.python(), MAIN);
    for (pattern, first, expected) in [
        ("0 0 1 1 *", "2090-06-01T12:00:30", "2091-01-01T00:00:00Z"),
        ("*/10 * * * *", "2090-06-01T06:19:54", "2090-06-01T06:20:00Z"),
        ("*/10 * * * *", "2090-06-01T06:20:00", "2090-06-01T06:20:00Z"),
        ("@hourly", "2090-06-01T06:20:00", "2090-06-01T07:00:00Z"),
        ("0 3 * * * 30", "2090-06-01T03:00:00", "2090-06-01T03:00:30Z"),
    ] {
        let made = job(&stage, &function, &json!({ "pattern": pattern, "first_execution_time": first, "count": 1 }));
        assert_eq!((&made["first_execution_time"], &made["next_execution_time"]), (&json!(expected), &json!(expected)));
        assert_eq!(made["pattern"], json!(pattern));
        // A new pattern does not keep the first time of the old one.
        let path = format!("/v1/jobs/{}", made["id"].as_str().unwrap());
        let changed = stage.json(Method::PUT, &path, &json!({ "pattern": "30 4 * * *" }), 200);
        let next = changed["next_execution_time"].as_str().unwrap();
        assert!(next.ends_with("T04:30:00Z") && next < "2090", "{changed}");
        for state in ["paused", "cancelled"] {
            let stopped = stage.json(Method::PUT, &path, &json!({ "status": state }), 200);
            assert_eq!(stopped["next_execution_time"], json!(next), "{state}");
            assert_eq!(stopped["first_execution_time"], json!(expected));
        }
    }
    let wrong =
        stage.request(Method::POST, "/v1/jobs").json(&json!({ "function_id": function, "pattern": "@every 5m" }));
    stage.refused(wrong, 400, "The specified pattern is not valid: @every 5m");
}

#[test]
fn lists_begin_with_the_oldest() {
    let stage = Stage::new(&["--executions", "0"]);
    let function = stage.function(&stage.python(), MAIN);
    for (path, list, body) in [
        ("/v1/executions", "executions", json!({ "function_id": function, "sync": false })),
        ("/v1/jobs", "jobs", json!({ "function_id": function, "pattern": "0 3 * * *" })),
        ("/v1/webhooks", "webhooks", json!({ "function_id": function })),
    ] {
        let made: Vec<Value> = (0..5).map(|_| stage.json(Method::POST, path, &body, 201)["id"].clone()).collect();
        let listed = stage.json(Method::GET, path, &json!({}), 200);
        let listed: Vec<Value> = listed[list].as_array().unwrap().iter().map(|one| one["id"].clone()).collect();
        assert_eq!(listed, made, "{list}");
    }
}

#[test]
fn an_execution_is_cancelled_with_its_status() {
    // Nothing is executed here, so queued executions stay queued.
    let stage = Stage::new(&["--executions", "0"]);
    let function = stage.function(&stage.python(), MAIN);
    let queued = stage.json(Method::POST, "/v1/executions", &json!({ "function_id": function, "sync": false }), 201);
    let path = format!("/v1/executions/{}", queued["id"].as_str().unwrap());
    let wrong = stage.request(Method::PUT, &path).json(&json!({ "status": "success" }));
    stage.refused(wrong, 400, "Only the status of an execution can be changed, and only to cancelled.");
    let kept = stage.json(Method::DELETE, &path, &json!({}), 403);
    assert!(kept["faultstring"].as_str().unwrap().contains("setting its status to cancelled"), "{kept}");
    let cancelled = stage.json(Method::PUT, &path, &json!({ "status": "cancelled" }), 200);
    assert_eq!(cancelled["status"], "failed", "{cancelled}");
    stage.json(Method::DELETE, &path, &json!({}), 204);
}

#[test]
fn a_running_execution_is_cancelled() {
    let stage = Stage::new(&[]);
    let function = stage.function(&stage.python(), "import time\n\ndef main(**kwargs):\n    time.sleep(60)\n");
    let begun = stage.json(Method::POST, "/v1/executions", &json!({ "function_id": function, "sync": false }), 201);
    let path = format!("/v1/executions/{}", begun["id"].as_str().unwrap());
    let shown = || stage.json(Method::GET, &path, &json!({}), 200);
    eventually_blocking(Duration::from_secs(20), || shown()["status"] == "running");
    stage.json(Method::PUT, &path, &json!({ "status": "cancelled" }), 200);
    eventually_blocking(Duration::from_secs(20), || shown()["status"] == "failed");
}

#[test]
fn a_function_scales_above_the_usual_instances() {
    let stage = Stage::new(&[]);
    let function = stage.function(&stage.python(), SLOW);
    let function = format!("/v1/functions/{function}");
    stage.json(Method::POST, &format!("{function}/scale_up"), &json!({ "count": 10 }), 202);
    let workers = || {
        let found = stage.json(Method::GET, &format!("{function}/workers"), &json!({}), 200);
        found["workers"].as_array().unwrap().len()
    };
    eventually_blocking(Duration::from_secs(60), || workers() == 10);
    let body = json!({ "function_id": function.rsplit('/').next() });
    let call = || stage.request(Method::POST, "/v1/executions").json(&body);
    for (status, answer) in stage.send_all((0..10).map(|_| call()).collect()) {
        assert_eq!((status, &answer["status"]), (201, &json!("success")), "{answer}");
    }
}

#[test]
fn calls_above_the_plans_concurrency_wait_briefly() {
    let stage = Stage::new(&[]);
    let function = stage.function(&stage.python(), SLOW);
    stage.env.run(&["plan", "set", "free"]);
    let call = || stage.request(Method::POST, "/v1/executions").json(&json!({ "function_id": function }));
    let answers = stage.send_all((0..6).map(|_| call()).collect());
    assert!(answers.iter().all(|(status, answer)| *status == 201 && answer["status"] == "success"), "{answers:?}");
    // A function that asked for more instances than the smaller plan allows can still be published
    // and edited.
    assert_eq!((stage.publish(&function), stage.publish(&function)), (1, 2));
    stage.json(Method::PUT, &format!("/v1/functions/{function}"), &json!({ "timeout": 30 }), 200);
}

#[test]
fn refusals_name_no_command_of_another_interface() {
    let stage = Stage::new(&["--executions", "0"]);
    let function = stage.function(&stage.python(), MAIN);
    let alias = json!({ "name": "a", "function_id": function });
    stage.json(Method::POST, "/v1/aliases", &alias, 201);
    stage.json(Method::POST, "/v1/jobs", &json!({ "function_alias": "a", "pattern": "0 3 * * *" }), 201);
    let execution = stage.json(Method::POST, "/v1/executions", &json!({ "function_id": function, "sync": false }), 201);
    let execution = format!("/v1/executions/{}", execution["id"].as_str().unwrap());
    let made = |name: &str| {
        let body = json!({ "name": name, "function_id": function });
        stage.request(Method::POST, "/v1/aliases").json(&body)
    };
    let long = "x".repeat(64);
    for (request, expected) in [
        (stage.request(Method::DELETE, "/v1/aliases/a"), 403),
        (stage.request(Method::DELETE, &execution), 403),
        (made("latest"), 400),
        (made("live"), 400),
        (made("two words"), 400),
        (made(&long), 400),
        (made("a"), 409),
    ] {
        let (status, answer) = stage.send(request);
        let words = answer["faultstring"].as_str().unwrap();
        assert_eq!(status, expected, "{answer}");
        assert!(!words.contains("milepost ") && !words.contains("`--"), "{words}");
    }
}
