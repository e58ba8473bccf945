//! The facts and steps of a refusal in a short form, for comparisons.

use milepost_model::refusal::{Use, User, UserKind};
use milepost_model::{Next, Refusal};

pub trait RefusalFacts {
    /// One line for each fact.
    fn lines(&self) -> Vec<String>;
    /// The existing names that are close to the unknown one.
    fn close_names(&self) -> &[String];
}

impl RefusalFacts for Refusal {
    fn lines(&self) -> Vec<String> {
        let facts = &self.facts;
        let mut lines: Vec<String> = facts.users.iter().map(line).collect();
        lines.extend_from_slice(&facts.missing);
        lines.extend(facts.deleted.iter().map(|version| format!("{version} was deleted")));
        lines.extend_from_slice(&facts.candidates);
        lines.extend(facts.parts.iter().map(|part| format!("{}: {}", part.name, part.why)));
        lines
    }

    fn close_names(&self) -> &[String] {
        match self.next.as_slice() {
            [Next::DidYouMean { names }] => names,
            other => panic!("no close names: {other:?}"),
        }
    }
}

fn line(user: &User) -> String {
    let kind = match user.kind {
        UserKind::Unit => String::new(),
        kind => format!("{kind:?}").to_lowercase(),
    };
    let how = match user.how {
        Use::PointsAt => "points at",
        Use::PinnedTo => "is pinned to",
        Use::Follows => "follows",
        Use::Needs => "needs",
        Use::Holds => "holds",
        Use::Owns => "owns",
        Use::Runs => "runs",
        Use::TakesLive => "takes live",
        Use::Protects => "protects",
        Use::Names => "names",
        Use::Unknown => "?",
    };
    let more = if user.more > 0 { format!("and {} more", user.more) } else { String::new() };
    let place = if user.release.is_empty() { String::new() } else { format!("in release {}", user.release) };
    let because = if user.because.is_empty() { String::new() } else { format!("({})", user.because.join(", ")) };
    let parts = [kind.as_str(), &user.name, &more, &place, &because, how, &user.of];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<&str>>().join(" ")
}
