//! Versions with everything that serving them needs.

use milepost_model::UnitSpec;

use crate::db::{Tx, Val, placeholders};
use crate::error::{CatalogError, Result};
use crate::read::ServingVersion;

/// Leaves out deleted versions, which have no content.
pub(crate) async fn get_many(tx: &mut Tx, ids: &[i64]) -> Result<Vec<ServingVersion>> {
    let sql = format!(
        "SELECT v.id, u.kind, u.name, v.number, v.uid, v.digest, c.body, c.sealed FROM versions v \
         JOIN units u ON u.id = v.unit_id JOIN contents c ON c.id = v.content_id WHERE v.id IN ({})",
        placeholders(ids.len(), 1)
    );
    let params: Vec<Val> = ids.iter().map(|id| (*id).into()).collect();
    let rows = tx.query(&sql, &params).await?;
    let mut found = Vec::with_capacity(rows.len());
    for row in &rows {
        let (id, kind) = (row.int(0)?, row.word(1, "units.kind")?);
        let spec = UnitSpec::from_json(kind, &row.text(6)?)
            .map_err(|error| CatalogError::inconsistent(format!("version {id}: {error}")))?;
        found.push(ServingVersion {
            id,
            kind,
            name: row.parse(2)?,
            number: row.int(3)?,
            uid: row.text(4)?,
            digest: row.digest(5)?,
            spec,
            sealed: row.opt_bytes(7)?,
            pins: Vec::new(),
        });
    }
    Ok(found)
}
