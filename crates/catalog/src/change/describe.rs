use milepost_model::UnitKind;
use milepost_model::change::{UnitAction, UnitKey, UnitOutcome};

/// Returns the default message of a change: `create function a; remove function b`.
pub(super) fn describe(outcomes: &[UnitOutcome]) -> String {
    /// Maximum number of names per verb.
    const NAMED: usize = 3;
    let changed: Vec<&UnitOutcome> =
        outcomes.iter().filter(|outcome| outcome.action != UnitAction::Unchanged).collect();
    // Omits packages if functions changed: a function and its package read as one thing.
    let functions = changed.iter().any(|outcome| outcome.kind == UnitKind::Function);
    let told = |outcome: &&&UnitOutcome| !functions || outcome.kind == UnitKind::Function;
    let verb = |outcome: &UnitOutcome| match outcome.action {
        UnitAction::Removed => "remove",
        UnitAction::Created => "create",
        _ => "update",
    };
    let mut parts = Vec::new();
    for wanted in ["create", "update", "remove"] {
        let named: Vec<&&UnitOutcome> = changed.iter().filter(told).filter(|outcome| verb(outcome) == wanted).collect();
        if named.is_empty() {
            continue;
        }
        let names = named.iter().take(NAMED).map(|outcome| UnitKey { kind: outcome.kind, name: outcome.name.clone() });
        let names: Vec<String> = names.map(|key| key.to_string()).collect();
        let more = named.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        parts.push(format!("{wanted} {}{more}", names.join(", ")));
    }
    parts.join("; ")
}
