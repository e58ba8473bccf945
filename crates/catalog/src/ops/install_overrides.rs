//! Applies the installer's overrides of the author's configuration at once.

use milepost_model::change::Change;
use milepost_model::channel::artifact;
use milepost_model::unit_put::{ConfigPut, Put};
use milepost_model::{UnitKind, UnitName, UnitPut, UnitSpec, Warning};
use serde_json::{Map, Value, json};

use crate::change::{self, ChangeInput};
use crate::error::Result;
use crate::read::changed_by_hand;
use crate::tables::installs::{self, InstallRow};
use crate::tables::{contents, units, versions};
use crate::work::Work;

/// Applies a change of overrides now instead of with the next upgrade. Removing an override
/// restores the author's value. `row` has the overrides after the change, `before` those before it.
pub(super) async fn override_now(
    work: &mut Work<'_>,
    row: &mut InstallRow,
    before: &Value,
    patch: &Value,
) -> Result<Vec<Warning>> {
    // While a rollback holds an upgrade back, the app's head may be another published version than
    // the installed one.
    let author = installs::config_at(work.tx, work.app.id, work.app.head_seq).await?;
    let now = at_once(before, patch, author.as_ref());
    if now.as_object().is_some_and(Map::is_empty) {
        return Ok(Vec::new());
    }
    let by_hand = changed_by_hand(work.tx, &work.app).await?;
    let document = match &author {
        Some(author) if by_hand.is_empty() => {
            let mut document = author.clone();
            artifact::merge(&mut document, &row.settings.overrides);
            document
        }
        // Manual changes stay until the next upgrade.
        _ => {
            let mut document = configuration(work).await?;
            artifact::merge(&mut document, &now);
            document
        }
    };
    let unit = UnitPut::Config(ConfigPut { document: Some(document), ..ConfigPut::default() });
    let name = UnitName::config();
    let put = Put { name, label: None, description: None, group: None, force: false, only: None, unit };
    let change = Change { message: "overrides".to_owned(), puts: vec![put], ..Change::default() };
    let input =
        ChangeInput { change, secrets: Default::default(), actor: work.act.actor.clone(), idempotency_key: None };
    let outcome = change::apply(work, &input).await?;
    // An override must not count as a manual change that the next upgrade overwrites.
    let held = installs::version_at(work.tx, work.app.id, work.app.head_seq).await?;
    if outcome.changed
        && by_hand.is_empty()
        && let Some((_, entry)) = held
    {
        installs::put_version(work.tx, work.app.id, work.app.head_seq, &entry, author.as_ref()).await?;
        if entry.version == row.entry.version {
            row.app_seq = work.app.head_seq;
        }
    }
    let (mut notices, mut keys) = (outcome.notices, Vec::new());
    if author.is_none() {
        taken_away(&now, "", &mut keys);
    }
    if !keys.is_empty() {
        notices.push(Warning::OverridesEnd { keys });
    }
    Ok(notices)
}

/// Returns the app's current configuration.
async fn configuration(work: &mut Work<'_>) -> Result<Value> {
    if let Some(unit) = units::find(work.tx, work.app.id, UnitKind::Config, &UnitName::config()).await?
        && let Some(version) = unit.current_version_id
        && let Some(content) = versions::get(work.tx, version).await?.content_id
        && let UnitSpec::Config(config) = contents::get(work.tx, content).await?
    {
        return Ok(config.document);
    }
    Ok(json!({}))
}

/// Computes the patch to the current configuration from a change of overrides. Removing an override
/// removes only what it had set: the rest is the author's, and stays.
fn at_once(overrides: &Value, patch: &Value, author: Option<&Value>) -> Value {
    let Some(patch) = patch.as_object() else { return patch.clone() };
    let mut now = Map::new();
    for (name, to) in patch {
        let (before, author) = (overrides.get(name), author.and_then(|author| author.get(name)));
        let to = match (to, before) {
            (Value::Null, None) => continue,
            (Value::Null, Some(before)) => without(before, author),
            (Value::Object(fields), before) => match at_once(before.unwrap_or(&Value::Null), to, author) {
                Value::Object(left) if left.is_empty() && !fields.is_empty() => continue,
                left => left,
            },
            _ => to.clone(),
        };
        now.insert(name.clone(), to);
    }
    Value::Object(now)
}

/// Returns the patch that removes an override and restores the author's values.
fn without(before: &Value, author: Option<&Value>) -> Value {
    match before.as_object() {
        Some(fields) if !fields.is_empty() => fields
            .iter()
            .map(|(name, value)| (name.clone(), without(value, author.and_then(|author| author.get(name)))))
            .collect(),
        _ => author.cloned().unwrap_or(Value::Null),
    }
}

/// Collects the paths that a patch removes.
fn taken_away(patch: &Value, path: &str, found: &mut Vec<String>) {
    for (name, value) in patch.as_object().into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        match value {
            Value::Null => found.push(path),
            _ => taken_away(value, &path, found),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removing_an_override_restores_the_authors_value() {
        let author = json!({ "mail": { "from": "author", "to": "all" }, "limit": 5 });
        let overrides = json!({ "mail": { "from": "me", "cc": "you" }, "limit": 9, "mine": true });
        let back = |patch: Value| at_once(&overrides, &patch, Some(&author));
        assert_eq!(back(json!({ "limit": null })), json!({ "limit": 5 }));
        assert_eq!(back(json!({ "mail": null })), json!({ "mail": { "from": "author", "cc": null } }));
        assert_eq!(back(json!({ "mail": { "cc": null } })), json!({ "mail": { "cc": null } }));
        assert_eq!(back(json!({ "mine": null, "other": null })), json!({ "mine": null }));
        assert_eq!(back(json!({ "limit": 7 })), json!({ "limit": 7 }));
    }
}
