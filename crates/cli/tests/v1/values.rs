//! Inputs and results are texts that nobody changes on their way.

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
