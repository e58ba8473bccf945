//! What the server reports as data, in the words of the command line: which command to type next.

mod field;
mod next;
mod view;
mod warning;

use milepost_client::api::Problem;
use milepost_model::{ChangeOutcome, Next, Warning};

use next::hint;

use crate::folders::app_option;

/// The hint of a refusal. The server's own if it is older than steps, or newer than this program
/// and names a step that this program does not know.
pub fn of_problem(problem: &Problem) -> Option<String> {
    hint(&problem.next, "").or_else(|| problem.hint.clone())
}

/// What the operator of this app can do about a problem that the gateway reports.
pub fn operator_words(next: &Next, app: &str) -> Option<String> {
    next::step(next, &app_option(app))
}

/// The outcome of a change of this app, with its warnings in these words.
pub fn outcome(app: &str, outcome: ChangeOutcome) -> ChangeOutcome {
    ChangeOutcome { warnings: warnings(app, &outcome.notices, &outcome.warnings), ..outcome }
}

/// The warnings of a write to this app. The server's own words if it is older than notices, or newer
/// than this program.
pub fn warnings(app: &str, notices: &[Warning], warnings: &[String]) -> Vec<String> {
    let option = app_option(app);
    let phrased: Option<Vec<String>> = notices.iter().map(|notice| warning::phrase(notice, &option)).collect();
    match phrased {
        Some(phrased) if !phrased.is_empty() => phrased,
        _ => warnings.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use milepost_model::refusal::{Field, View};

    use super::*;

    /// Only what an older program cannot know has no words.
    #[test]
    fn phrases_every_step() {
        for next in Next::samples() {
            let text = next::step(&next, "");
            assert_eq!(text.is_none(), next == Next::Unknown, "{next:?}");
            assert!(text.is_none_or(|text| !text.is_empty()), "{next:?}");
        }
        for view in View::samples() {
            assert_eq!(view::phrase(&view, "").is_none(), view == View::Unknown, "{view:?}");
        }
        for field in Field::samples() {
            assert_eq!(field::option(field).is_none(), field == Field::Unknown, "{field:?}");
        }
        for notice in Warning::samples() {
            assert_eq!(warning::phrase(&notice, "").is_none(), notice == Warning::Unknown, "{notice:?}");
        }
    }

    #[test]
    fn shows_the_servers_words_for_an_unknown_step() {
        let problem = serde_json::json!({
            "type": "about:blank", "title": "Conflict", "status": 409, "code": "in_use", "detail": "in use",
            "hint": "dance", "next": [{ "step": "retry" }, { "step": "dance" }], "facts": { "users": 7 },
        });
        let problem: Problem = serde_json::from_value(problem).expect("a problem of a newer server");
        assert_eq!(problem.next, [Next::Retry, Next::Unknown]);
        assert_eq!(of_problem(&problem).as_deref(), Some("dance"));
    }

    #[test]
    fn names_the_app_in_the_commands_of_a_warning() {
        let notices = [Warning::SecretNotSet { function: "hello".to_owned(), secret: "KEY".to_owned() }];
        let text = warnings("another", &notices, &[]).remove(0);
        assert!(text.contains("`milepost secret set KEY --app another`"), "{text}");
    }
}
