//! Amounts of a function in manifest notation. The stored spec omits defaults; a diff shows the
//! default value that is in force.

use milepost_model::spec::{DEFAULT_CPU, DEFAULT_MEMORY, DEFAULT_TIMEOUT_MS, Scale};
use serde_json::Value;

use crate::output::amounts;

/// `memory: 128Mi (default) -> 256Mi`. `None` if the field has no special notation.
pub fn line(field: &str, before: Option<&Value>, after: Option<&Value>) -> Option<String> {
    let usual = Scale::default();
    let (name, amount, default): (&str, fn(u64) -> String, u64) = match field {
        "memory" => (field, amounts::memory, DEFAULT_MEMORY),
        "cpu" => (field, plain, DEFAULT_CPU.into()),
        "timeoutMs" => ("timeout", amounts::duration, DEFAULT_TIMEOUT_MS),
        "scale.min" => (field, plain, usual.min.into()),
        "scale.max" => (field, plain, usual.max.into()),
        "scale.concurrency" => (field, plain, usual.concurrency.into()),
        "scale.idleMs" => ("scale.idle", amounts::duration, usual.idle_ms),
        _ => return None,
    };
    let side = |value: Option<&Value>| match value {
        Some(value) => value.as_u64().map(amount),
        None => Some(format!("{} (default)", amount(default))),
    };
    Some(format!("{name}: {} -> {}", side(before)?, side(after)?))
}

fn plain(number: u64) -> String {
    number.to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn shows_amounts_in_manifest_notation_and_defaults_by_value() {
        let shown = |field, before: Value, after: Option<Value>| line(field, Some(&before), after.as_ref());
        assert_eq!(line("memory", None, Some(&json!(268_435_456))).unwrap(), "memory: 128Mi (default) -> 256Mi");
        assert_eq!(shown("timeoutMs", json!(1500), Some(json!(30_000))).unwrap(), "timeout: 1500ms -> 30s");
        assert_eq!(shown("scale.max", json!(3), None).unwrap(), "scale.max: 3 -> 8 (default)");
        assert_eq!(shown("scale.idleMs", json!(60_000), None).unwrap(), "scale.idle: 1m -> 2m (default)");
        assert_eq!(shown("entrypoint", json!("a"), None), None);
        assert_eq!(shown("memory", json!("a lot"), None), None, "a value that is not a number is shown as stored");
    }
}
