//! Units that earlier programs stored stay readable, also those that no new change may put.

use milepost_model::spec::{EnvironmentSpec, RouteSpec, Runtime};

#[test]
fn wasm_environments_are_readable_but_cannot_be_new() {
    let stored: EnvironmentSpec = serde_json::from_str(r#"{"runtime":"wasm"}"#).unwrap();
    assert!(!stored.runtime.runs());
    assert_eq!(serde_json::to_string(&stored).unwrap(), r#"{"runtime":"wasm"}"#);
    assert!("wasm".parse::<Runtime>().unwrap_err().to_string().contains("do not run yet"));
}

#[test]
fn routes_from_before_prefixes_could_be_stripped_pass_the_whole_path() {
    let stored = r#"{"function":"f","path":"/api","prefix":true}"#;
    let stored: RouteSpec = serde_json::from_str(stored).unwrap();
    assert!(stored.prefix && !stored.strip && !stored.fission);
}
