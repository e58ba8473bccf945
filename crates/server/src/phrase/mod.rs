//! Refusals and warnings in the neutral words of the REST API. Clients that have words of their own
//! use the data (`docs/decisions/014-errors-are-data.md`).

mod field;
mod next;
mod users;
mod view;
mod warning;

use milepost_model::refusal::{Facts, Part};
use milepost_model::{ChangeOutcome, Next, Refusal, Warning};

use next::step;
use users::line as user;

/// All steps on one line. None if there is none.
pub(crate) fn hint(refusal: &Refusal) -> Option<String> {
    let steps: Vec<String> = refusal.next.iter().filter_map(step).collect();
    (!steps.is_empty()).then(|| steps.join("; "))
}

/// The gateway's hints for operators, if the front end has no words of its own.
pub(crate) fn operator_words(next: &Next, _app: &str) -> Option<String> {
    step(next)
}

/// The facts, one line each.
pub(crate) fn blockers(facts: &Facts) -> Vec<String> {
    let Facts { users, missing, deleted, candidates, parts, limit: _, failing: _ } = facts;
    let mut lines: Vec<String> = users.iter().map(user).collect();
    lines.extend_from_slice(missing);
    lines.extend(deleted.iter().map(|version| format!("{version} was deleted")));
    lines.extend_from_slice(candidates);
    lines.extend(parts.iter().map(|Part { name, why }| match name.as_str() {
        "" => why.clone(),
        name => format!("{name}: {why}"),
    }));
    lines
}

pub(crate) fn warnings(notices: &[Warning]) -> Vec<String> {
    notices.iter().filter_map(warning::phrase).collect()
}

/// Fills in the words for the notices. An outcome that an older Milepost stored keeps its own.
pub(crate) fn outcome(mut outcome: ChangeOutcome) -> ChangeOutcome {
    outcome.warnings.extend(warnings(&outcome.notices));
    outcome
}

#[cfg(test)]
mod tests {
    use milepost_model::refusal::{Field, Use, User, UserKind, View};

    use super::*;

    /// A command of one front end would not help the users of the others.
    fn check(text: Option<String>, of: &dyn std::fmt::Debug) {
        let text = text.unwrap_or_default();
        assert!(!text.is_empty(), "{of:?}");
        assert!(!text.contains("milepost ") && !text.contains("`--"), "{text}");
    }

    #[test]
    fn has_neutral_words_for_everything() {
        for next in Next::samples().iter().filter(|next| **next != Next::Unknown) {
            check(step(next), next);
        }
        for view in View::samples().iter().filter(|view| **view != View::Unknown) {
            check(view::phrase(view), view);
        }
        for field in Field::samples().into_iter().filter(|field| *field != Field::Unknown) {
            check(field::name(field).map(str::to_owned), &field);
        }
        for notice in Warning::samples().iter().filter(|notice| **notice != Warning::Unknown) {
            check(warning::phrase(notice), notice);
        }
    }

    #[test]
    fn has_a_line_for_every_user() {
        for kind in UserKind::samples() {
            for how in Use::samples() {
                check(Some(user(&User::new(kind, "a", how, "b"))), &(kind, how));
            }
        }
    }
}
