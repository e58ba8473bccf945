use milepost_model::{Digest, Role, Timestamp};

use crate::db::{Row, Tx};
use crate::error::Result;

#[derive(Debug, Clone)]
pub struct TokenRow {
    pub name: String,
    pub role: Role,
    /// The app that the token is limited to; `None` for all apps.
    pub app: Option<String>,
    pub created_at: Timestamp,
    pub created_by: String,
}

const SELECT: &str = "SELECT t.name, t.role, a.name, t.created_at, t.created_by, t.app_id FROM tokens t \
                      LEFT JOIN apps a ON a.id = t.app_id AND a.deleted_at IS NULL";

fn read(row: &Row) -> Result<TokenRow> {
    Ok(TokenRow {
        name: row.text(0)?,
        role: row.word(1, "tokens.role")?,
        // A token of a deleted app must match no app rather than every app.
        app: if row.int(5)? == 0 { None } else { Some(row.opt_text(2)?.unwrap_or_default()) },
        created_at: row.time(3)?,
        created_by: row.text(4)?,
    })
}

pub(crate) async fn find_by_hash(tx: &mut Tx, hash: &Digest) -> Result<Option<TokenRow>> {
    tx.query_opt(&format!("{SELECT} WHERE t.hash = $1"), &[hash.into()]).await?.as_ref().map(read).transpose()
}

pub(crate) async fn list(tx: &mut Tx) -> Result<Vec<TokenRow>> {
    tx.query(&format!("{SELECT} ORDER BY t.name"), &[]).await?.iter().map(read).collect()
}

/// Returns every token with its hash.
pub(crate) async fn table(tx: &mut Tx) -> Result<Vec<(Digest, TokenRow)>> {
    let sql = SELECT.replacen(" FROM ", ", t.hash FROM ", 1);
    tx.query(&sql, &[]).await?.iter().map(|row| Ok((row.digest(6)?, read(row)?))).collect()
}

pub(crate) async fn insert(tx: &mut Tx, hash: &Digest, app_id: Option<i64>, token: &TokenRow) -> Result<bool> {
    let sql = "INSERT INTO tokens (name, hash, role, app_id, created_at, created_by) VALUES ($1, $2, $3, $4, $5, $6) \
               ON CONFLICT DO NOTHING";
    let params = [
        token.name.as_str().into(),
        hash.into(),
        token.role.as_str().into(),
        app_id.unwrap_or(0).into(),
        token.created_at.into(),
        token.created_by.as_str().into(),
    ];
    Ok(tx.execute(sql, &params).await? == 1)
}

pub(crate) async fn delete(tx: &mut Tx, name: &str) -> Result<bool> {
    Ok(tx.execute("DELETE FROM tokens WHERE name = $1", &[name.into()]).await? == 1)
}
