//! Inputs and results are passed on unchanged.

use reqwest::Method;
use serde_json::json;

use crate::stage::Stage;

#[test]
fn numbers_of_any_size_and_the_order_of_members_survive() {
    let stage = Stage::new(&[]);
    let function =
        stage.function(&stage.python(), "def main(**kwargs):\n    kwargs.pop('context', None)\n    return kwargs\n");
    let input = r#"{"z": 123456789012345678901234567890, "a": {"y": 0.1, "b": []}}"#;
    let body = json!({ "function_id": function, "input": input });
    let ended = stage.json(Method::POST, "/v1/executions", &body, 201);
    assert_eq!((&ended["status"], &ended["input"]), (&json!("success"), &json!(input)));
    let result = ended["result"].as_str().unwrap();
    assert!(result.starts_with(&format!("{{\"output\": {input}, \"duration\": ")), "{result}");
    // Text that only looks like an object stays text.
    let body = json!({ "function_id": function, "input": "{nonsense", "sync": false });
    assert_eq!(stage.json(Method::POST, "/v1/executions", &body, 201)["input"], "{nonsense");
}

/// Sleeps and allocates memory as its input says.
const GREEDY: &str = "
import time

def main(seconds=0, mebibytes=0, **kwargs):
    time.sleep(seconds)
    return len(b'x' * (mebibytes << 20))
";

#[test]
fn an_old_version_keeps_its_timeout_and_its_memory() {
    let stage = Stage::new(&[]);
    let function = stage.function(&stage.python(), GREEDY);
    let path = format!("/v1/functions/{function}");
    for (timeout, memory) in [(1, 33_554_432), (60, 134_217_728)] {
        stage.json(Method::PUT, &path, &json!({ "timeout": timeout, "memory_size": memory }), 200);
        stage.publish(&function);
    }
    let run = |version: i64, input: &str| {
        let body = json!({ "function_id": function, "function_version": version, "input": input });
        let ended = stage.json(Method::POST, "/v1/executions", &body, 201);
        (ended["status"].as_str().unwrap().to_owned(), ended["result"].as_str().unwrap().to_owned())
    };
    let (status, result) = run(1, r#"{"seconds": 3}"#);
    assert!(status == "failed" && result.contains("Function execution timeout."), "{status}: {result}");
    let (status, result) = run(1, r#"{"mebibytes": 60}"#);
    assert!(status == "failed" && result.contains("too much resource consumption"), "{status}: {result}");
    for version in [2, 0] {
        for input in [r#"{"seconds": 3}"#, r#"{"mebibytes": 60}"#] {
            let (status, result) = run(version, input);
            assert_eq!(status, "success", "version {version}, {input}: {result}");
        }
    }
}
