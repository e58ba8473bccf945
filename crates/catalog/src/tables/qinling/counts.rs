//! Execution counts of functions and their published versions, as v1 counts them: on the function
//! for its newest code, otherwise on the version.

use std::collections::{BTreeMap, BTreeSet};

use milepost_model::Selector;

use crate::db::{Engine, Tx, Val, placeholders, typed_placeholders};
use crate::error::Result;

/// Rows per statement.
const CHUNK: usize = 200;

/// What an execution is counted on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Counted {
    /// The function: its newest code was selected.
    Function(i64),
    /// The version, if it is published.
    Version(i64),
    /// The version, or the function if the version is not published: an alias may follow the newest
    /// code.
    Alias { version_id: i64, unit_id: i64 },
}

impl Counted {
    pub fn of(unit_id: i64, version_id: i64, selector: &Selector) -> Self {
        match selector {
            Selector::Latest => Self::Function(unit_id),
            Selector::Alias(_) => Self::Alias { version_id, unit_id },
            _ => Self::Version(version_id),
        }
    }

    fn version_id(self) -> Option<i64> {
        match self {
            Self::Function(_) => None,
            Self::Version(id) | Self::Alias { version_id: id, .. } => Some(id),
        }
    }

    fn unit_id(self) -> Option<i64> {
        match self {
            Self::Version(_) => None,
            Self::Function(id) | Self::Alias { unit_id: id, .. } => Some(id),
        }
    }
}

pub(crate) async fn add(tx: &mut Tx, counted: Counted) -> Result<()> {
    if let Some(id) = counted.version_id() {
        let sql = "UPDATE v1_versions SET executions = executions + 1 WHERE version_id = $1";
        if tx.execute(sql, &[id.into()]).await? > 0 {
            return Ok(());
        }
    }
    if let Some(id) = counted.unit_id() {
        tx.execute("UPDATE v1_ids SET executions = executions + 1 WHERE unit_id = $1", &[id.into()]).await?;
    }
    Ok(())
}

/// Counts of many executions, written at once.
pub(crate) struct Counts {
    /// Versions that are published.
    published: BTreeSet<i64>,
    versions: BTreeMap<i64, i64>,
    functions: BTreeMap<i64, i64>,
}

impl Counts {
    /// Locks the counters until the transaction ends. Call this before locking versions, the order
    /// in which removing a function or deleting a version takes them. It locks `v1_versions` before
    /// `v1_ids`, as removing a function does.
    pub async fn hold(tx: &mut Tx, counted: &[Counted]) -> Result<Self> {
        let ids = |of: fn(Counted) -> Option<i64>| -> Vec<i64> {
            counted.iter().filter_map(|one| of(*one)).collect::<BTreeSet<_>>().into_iter().collect()
        };
        let published = hold(tx, "v1_versions", "version_id", &ids(Counted::version_id)).await?;
        if tx.engine() == Engine::Postgres {
            hold(tx, "v1_ids", "unit_id", &ids(Counted::unit_id)).await?;
        }
        Ok(Self { published, versions: BTreeMap::new(), functions: BTreeMap::new() })
    }

    pub fn note(&mut self, counted: Counted) {
        match (counted.version_id().filter(|id| self.published.contains(id)), counted.unit_id()) {
            (Some(version_id), _) => *self.versions.entry(version_id).or_default() += 1,
            (None, Some(unit_id)) => *self.functions.entry(unit_id).or_default() += 1,
            (None, None) => {}
        }
    }

    pub async fn write(self, tx: &mut Tx) -> Result<()> {
        write(tx, "v1_versions", "version_id", self.versions).await?;
        write(tx, "v1_ids", "unit_id", self.functions).await
    }
}

async fn hold(tx: &mut Tx, table: &str, column: &str, ids: &[i64]) -> Result<BTreeSet<i64>> {
    let mut found = BTreeSet::new();
    for chunk in ids.chunks(CHUNK) {
        let (list, lock) = (placeholders(chunk.len(), 1), tx.for_update());
        let sql = format!("SELECT {column} FROM {table} WHERE {column} IN ({list}) ORDER BY {column}{lock}");
        let params: Vec<Val> = chunk.iter().map(|id| (*id).into()).collect();
        for row in tx.query(&sql, &params).await? {
            found.insert(row.int(0)?);
        }
    }
    Ok(found)
}

async fn write(tx: &mut Tx, table: &str, column: &str, counts: BTreeMap<i64, i64>) -> Result<()> {
    let counts: Vec<(i64, i64)> = counts.into_iter().collect();
    for chunk in counts.chunks(CHUNK) {
        let sql = format!(
            "UPDATE {table} SET executions = executions + w.column2 FROM (VALUES {}) AS w WHERE {table}.{column} = w.column1",
            typed_placeholders(chunk.len(), &["BIGINT", "BIGINT"])
        );
        let params: Vec<Val> = chunk.iter().flat_map(|(id, more)| [(*id).into(), (*more).into()]).collect();
        tx.execute(&sql, &params).await?;
    }
    Ok(())
}
