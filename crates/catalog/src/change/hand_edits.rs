//! Finds the manual changes since its last deploy that a folder would undo.

use milepost_model::UnitSpec;
use milepost_model::base::HandEdit;
use milepost_model::event::EventKind;
use milepost_model::plan::{Reason, reasons};

use crate::error::Result;
use crate::tables::units::{self, UnitRow};
use crate::tables::versions::{self, VersionRow};
use crate::tables::{contents, events};
use crate::work::Work;

/// For a unit that gets another version. `before` is the unit with the version that was made by
/// hand. Returns `None` if all manual changes stay.
pub(super) async fn updated(work: &mut Work<'_>, before: &UnitRow, deployment: i64) -> Result<Option<HandEdit>> {
    let Some((by_hand, edited)) = present(work, before).await? else { return Ok(None) };
    let after = units::find_by_id(work.tx, before.id).await?;
    let Some((_, new)) = present(work, &after).await? else { return Ok(None) };
    let mut undone = reasons(&edited, &new);
    if let Some(declared) = versions::last_declared(work.tx, before.id, deployment, by_hand.number).await?
        && let Some(content) = declared.content_id
    {
        let edits = reasons(&contents::get(work.tx, content).await?, &edited);
        undone.retain(|reason| edits.iter().any(|edit| overlap(&place(edit), &place(reason))));
    }
    Ok((!undone.is_empty()).then(|| edit(before, by_hand, undone)))
}

/// For a unit that the folder no longer declares.
pub(super) async fn removed(work: &mut Work<'_>, before: &UnitRow) -> Result<Option<HandEdit>> {
    Ok(present(work, before).await?.map(|(by_hand, _)| edit(before, by_hand, Vec::new())))
}

/// For a unit that the folder puts again. Returns `None` if no user removed it: the folder dropped
/// it, or was deployed without it since, or a change on live left it out.
pub(super) async fn made_again(work: &mut Work<'_>, unit: &UnitRow, deployment: &str) -> Result<Option<HandEdit>> {
    let (app, subject) = (work.app.id, unit.key().to_string());
    let Some(event) = events::last_about(work.tx, app, EventKind::UnitRemoved, &subject).await? else {
        return Ok(None);
    };
    let left_out = event.after.is_some_and(|after| !after["why"].is_null());
    if left_out || events::deployed_since(work.tx, app, event.id, deployment).await? {
        return Ok(None);
    }
    Ok(Some(HandEdit {
        kind: unit.kind,
        name: unit.name.clone(),
        number: unit.last_number,
        removed: true,
        by: event.actor,
        at: event.at,
        undone: Vec::new(),
    }))
}

fn edit(unit: &UnitRow, by_hand: VersionRow, undone: Vec<Reason>) -> HandEdit {
    let VersionRow { number, created_by: by, created_at: at, .. } = by_hand;
    HandEdit { kind: unit.kind, name: unit.name.clone(), number, removed: false, by, at, undone }
}

async fn present(work: &mut Work<'_>, unit: &UnitRow) -> Result<Option<(VersionRow, UnitSpec)>> {
    let Some(id) = unit.current_version_id else { return Ok(None) };
    let version = versions::get(work.tx, id).await?;
    let Some(content) = version.content_id else { return Ok(None) };
    let spec = contents::get(work.tx, content).await?;
    Ok(Some((version, spec)))
}

/// Returns the part of a unit that a reason is about. The package that a function is pinned to
/// stands for its code.
fn place(reason: &Reason) -> String {
    match reason {
        Reason::Field { field, .. } | Reason::Files { field, .. } => field.clone(),
        Reason::Pinned { kind, .. } => format!("version of its {kind}"),
        Reason::New | Reason::Asked | Reason::Secret => String::new(),
    }
}

/// Reports whether one path equals the other or is inside it.
fn overlap(one: &str, other: &str) -> bool {
    let within = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    within(one, other) || within(other, one)
}

#[cfg(test)]
mod tests {
    use super::overlap;

    #[test]
    fn fields_overlap_only_themselves_and_their_parts() {
        assert!(overlap("mail", "mail") && overlap("mail.from", "mail") && overlap("mail", "mail.from"));
        assert!(!overlap("mail", "mails") && !overlap("mail.from", "mail.to"));
    }
}
