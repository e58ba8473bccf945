use milepost_model::pointer::Step;
use milepost_model::{AliasName, Timestamp};

use crate::db::{Row, Tx};
use crate::error::Result;
use crate::words::Word as _;

/// The pointer that a move belongs to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Pointer<'a> {
    Live,
    Latest,
    Tag(&'a str),
    Alias { unit_id: i64, name: &'a str },
}

impl<'a> Pointer<'a> {
    fn key(self) -> (&'static str, i64, &'a str) {
        match self {
            Self::Live => ("live", 0, ""),
            Self::Latest => ("latest", 0, ""),
            Self::Tag(name) => ("tag", 0, name),
            Self::Alias { unit_id, name } => ("alias", unit_id, name),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct MoveRow {
    pub id: i64,
    pub from_id: Option<i64>,
    pub to_id: Option<i64>,
    pub step: Step,
    pub at: Timestamp,
    pub by: String,
    pub why: String,
    /// What stood beside live afterwards.
    pub to_split_id: Option<i64>,
}

fn read(row: &Row) -> Result<MoveRow> {
    Ok(MoveRow {
        id: row.int(0)?,
        from_id: row.opt_int(1)?,
        to_id: row.opt_int(2)?,
        step: row.word(3, "pointer_moves.step")?,
        at: row.time(4)?,
        by: row.text(5)?,
        why: row.text(6)?,
        to_split_id: row.opt_int(7)?,
    })
}

pub(crate) struct NewMove<'a> {
    pub from_id: Option<i64>,
    pub to_id: Option<i64>,
    pub step: Step,
    pub at: Timestamp,
    pub by: &'a str,
    pub why: &'a str,
}

pub(crate) async fn insert(tx: &mut Tx, app_id: i64, pointer: Pointer<'_>, new: &NewMove<'_>) -> Result<()> {
    let (kind, unit_id, name) = pointer.key();
    let sql = "INSERT INTO pointer_moves (app_id, kind, unit_id, name, from_id, to_id, step, moved_at, moved_by, why) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    let params = [
        app_id.into(),
        kind.into(),
        unit_id.into(),
        name.into(),
        new.from_id.into(),
        new.to_id.into(),
        new.step.word().into(),
        new.at.into(),
        new.by.into(),
        new.why.into(),
    ];
    tx.exactly_one(sql, &params).await
}

/// Records on a move what stood beside live before and after it.
pub(crate) async fn insert_split(
    tx: &mut Tx,
    app_id: i64,
    new: &NewMove<'_>,
    (from, to): (Option<i64>, Option<i64>),
) -> Result<()> {
    let (kind, unit_id, name) = Pointer::Live.key();
    let sql = "INSERT INTO pointer_moves (app_id, kind, unit_id, name, from_id, to_id, step, moved_at, moved_by, why, \
               from_split_id, to_split_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
    let params = [
        app_id.into(),
        kind.into(),
        unit_id.into(),
        name.into(),
        new.from_id.into(),
        new.to_id.into(),
        new.step.word().into(),
        new.at.into(),
        new.by.into(),
        new.why.into(),
        from.into(),
        to.into(),
    ];
    tx.exactly_one(sql, &params).await
}

const COLUMNS: &str = "id, from_id, to_id, step, moved_at, moved_by, why, to_split_id";

/// Newest first, with ids below `below`.
pub(crate) async fn list(
    tx: &mut Tx,
    app_id: i64,
    pointer: Pointer<'_>,
    below: Option<i64>,
    limit: i64,
) -> Result<Vec<MoveRow>> {
    let (kind, unit_id, name) = pointer.key();
    let sql = format!(
        "SELECT {COLUMNS} FROM pointer_moves WHERE app_id = $1 AND kind = $2 AND unit_id = $3 AND name = $4 AND id < $5 \
         ORDER BY id DESC LIMIT $6"
    );
    let params =
        [app_id.into(), kind.into(), unit_id.into(), name.into(), below.unwrap_or(i64::MAX).into(), limit.into()];
    tx.query(&sql, &params).await?.iter().map(read).collect()
}

/// Returns the last move at or before a moment. Moves of one pointer are recorded in the order of
/// their times. Skips entries that only record that live was pinned or unpinned in place.
pub(crate) async fn at(tx: &mut Tx, app_id: i64, pointer: Pointer<'_>, moment: Timestamp) -> Result<Option<MoveRow>> {
    let (kind, unit_id, name) = pointer.key();
    let sql = format!(
        "SELECT {COLUMNS} FROM pointer_moves WHERE app_id = $1 AND kind = $2 AND unit_id = $3 AND name = $4 AND moved_at <= $5 \
         AND (from_id IS NULL OR to_id IS NULL OR from_id <> to_id) ORDER BY id DESC LIMIT 1"
    );
    let params = [app_id.into(), kind.into(), unit_id.into(), name.into(), moment.into()];
    tx.query_opt(&sql, &params).await?.as_ref().map(read).transpose()
}

/// Returns the names of all aliases that a function ever had.
pub(crate) async fn alias_names(tx: &mut Tx, app_id: i64, unit_id: i64) -> Result<Vec<AliasName>> {
    let sql =
        "SELECT DISTINCT name FROM pointer_moves WHERE app_id = $1 AND kind = 'alias' AND unit_id = $2 ORDER BY name";
    tx.query(sql, &[app_id.into(), unit_id.into()]).await?.iter().map(|row| row.parse(0)).collect()
}
