//! The version that a new execution runs, found in one round trip.

use milepost_model::execution::ExecutedVersion;
use milepost_model::{AppName, PlanName, Selector, UnitName};

use crate::db::Tx;
use crate::error::Result;

pub(crate) struct Found {
    pub app_id: i64,
    pub plan: PlanName,
    pub unit_id: i64,
    pub version_id: i64,
    pub version: ExecutedVersion,
}

/// Finds an active version by the common selectors and locks it against deletion. Returns `None`
/// if there is none, or if the selector needs more than one lookup.
pub(crate) async fn find(
    tx: &mut Tx,
    app: &AppName,
    function: &UnitName,
    selector: &Selector,
) -> Result<Option<Found>> {
    let mut params = vec![app.as_str().into(), function.as_str().into()];
    let condition = match selector {
        // While a rollout is open, latest means the version of its base.
        Selector::Latest => {
            "v.id = u.current_version_id \
             AND NOT EXISTS (SELECT 1 FROM rollouts o WHERE o.app_id = a.id AND o.open = 1)"
        }
        Selector::Number(number) => {
            params.push((*number).into());
            "v.unit_id = u.id AND v.number = $3"
        }
        Selector::Alias(alias) => {
            params.push(alias.as_str().into());
            "v.id = (SELECT x.version_id FROM aliases x WHERE x.unit_id = u.id AND x.name = $3)"
        }
        Selector::Word(_) | Selector::Digest(_) => return Ok(None),
    };
    let sql = format!(
        "SELECT a.id, u.id, v.id, v.number, v.uid, v.digest, a.plan FROM apps a JOIN units u ON u.app_id = a.id JOIN versions v ON {condition} \
         WHERE a.name = $1 AND a.deleted_at IS NULL AND u.kind = 'function' AND u.name = $2 \
         AND u.current_version_id IS NOT NULL AND v.state = 'active'{}",
        tx.for_use_of_v()
    );
    let row = tx.query_opt(&sql, &params).await?;
    row.map(|row| {
        let version = ExecutedVersion { number: row.int(3)?, uid: row.text(4)?, digest: row.digest(5)? };
        let plan = row.word(6, "apps.plan")?;
        Ok(Found { app_id: row.int(0)?, plan, unit_id: row.int(1)?, version_id: row.int(2)?, version })
    })
    .transpose()
}
