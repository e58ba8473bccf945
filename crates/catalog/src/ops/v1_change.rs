//! What v1 says about functions and environments beside what the ledger knows, and changes that come with it.

use std::collections::BTreeMap;
use std::sync::Arc;

use milepost_model::change::{Change, UnitKey};
use milepost_model::{AppName, UnitKind};
use serde_json::{Value, json};

use super::v1::seen;
use super::v1_delete::refuse_jobs;
use crate::change::{self, ChangeInput};
use crate::db::Ending;
use crate::error::Result;
use crate::needs::Needed;
use crate::tables::units;
use crate::tables::v1::{self, V1Unit};
use crate::{Catalog, uuids};

/// What v1 does to a function or an environment.
#[derive(Debug, Clone)]
pub struct V1Change {
    pub change: Change,
    /// The unit that it is about.
    pub key: UnitKey,
    /// What v1 says about it from now on.
    pub facts: Value,
    /// Refuse while jobs of the function may go on.
    pub unless_jobs: bool,
}

impl Catalog {
    /// Applies a change, if there is something to put, and keeps what v1 says about the unit, in one transaction.
    pub async fn v1_change(&self, app: &AppName, actor: &str, wanted: V1Change) -> Result<V1Unit> {
        let ids = Arc::clone(&self.ids);
        let actor_name = actor.to_owned();
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                let V1Change { change, key, mut facts, unless_jobs } = wanted;
                if unless_jobs {
                    let unit = units::get_present(work.tx, &work.app, key.kind, &key.name).await?;
                    refuse_jobs(work, Needed::Function(unit.id), "function").await?;
                }
                if !change.puts.is_empty() {
                    let secrets = BTreeMap::new();
                    let input = ChangeInput { change, secrets, actor: actor_name, idempotency_key: None };
                    let outcome = change::apply(work, &input).await?;
                    let package = outcome.versions.iter().find(|unit| unit.kind == UnitKind::Package);
                    if let (Some(code), Some(package)) = (facts.get_mut("code"), package) {
                        code["package"] = json!(package.number);
                    }
                }
                let (_, mut row) = seen(work, &key, &uuids::v4(&*ids)).await?;
                // What is said when the unit is made is no change of it.
                let first = row.unit.facts == json!({});
                if let (Some(facts), Some(kept)) = (facts.as_object_mut(), row.unit.facts.get("following")) {
                    facts.insert("following".to_owned(), kept.clone());
                }
                row.unit.facts = facts;
                row.unit.updated_at = if first { row.unit.updated_at } else { Some(work.act.at) };
                v1::save_unit(work.tx, &row).await?;
                Ok(row.unit)
            })
        })
        .await
    }

    /// Keeps what v1 says about a unit beside what the ledger knows, instead of what it said before.
    pub async fn v1_set_facts(&self, app: &AppName, key: UnitKey, facts: Value) -> Result<V1Unit> {
        let ids = Arc::clone(&self.ids);
        self.work(app, "v1", Ending::Commit, move |work| {
            Box::pin(async move {
                let (_, mut row) = seen(work, &key, &uuids::v4(&*ids)).await?;
                if row.unit.facts != facts {
                    // What is said when the unit is made is no change of it.
                    let first = row.unit.facts == json!({});
                    row.unit.facts = facts;
                    row.unit.updated_at = if first { row.unit.updated_at } else { Some(work.act.at) };
                    v1::save_unit(work.tx, &row).await?;
                }
                Ok(row.unit)
            })
        })
        .await
    }
}
