//! Embedded migrations, one set per engine. They run in order under a lock, each in its own
//! transaction.

use super::{Db, Engine, Tx, Val};
use crate::error::{CatalogError, Result};

struct Migration {
    number: i64,
    name: &'static str,
    sqlite: &'static str,
    postgres: &'static str,
}

const MIGRATIONS: &[Migration] = &[
    Migration {
        number: 1,
        name: "ledger",
        sqlite: include_str!("../../migrations/sqlite/0001_ledger.sql"),
        postgres: include_str!("../../migrations/postgres/0001_ledger.sql"),
    },
    Migration {
        number: 2,
        name: "deployments and builds",
        sqlite: include_str!("../../migrations/sqlite/0002_deployments_and_builds.sql"),
        postgres: include_str!("../../migrations/postgres/0002_deployments_and_builds.sql"),
    },
    Migration {
        number: 3,
        name: "executions",
        sqlite: include_str!("../../migrations/sqlite/0003_executions.sql"),
        postgres: include_str!("../../migrations/postgres/0003_executions.sql"),
    },
    Migration {
        number: 4,
        name: "fair queue",
        sqlite: include_str!("../../migrations/sqlite/0004_fair_queue.sql"),
        postgres: include_str!("../../migrations/postgres/0004_fair_queue.sql"),
    },
    Migration {
        number: 5,
        name: "installs",
        sqlite: include_str!("../../migrations/sqlite/0005_installs.sql"),
        postgres: include_str!("../../migrations/postgres/0005_installs.sql"),
    },
    Migration {
        number: 6,
        name: "begun attempts",
        sqlite: include_str!("../../migrations/sqlite/0006_begun_attempts.sql"),
        postgres: include_str!("../../migrations/postgres/0006_begun_attempts.sql"),
    },
    Migration {
        number: 7,
        name: "install trials",
        sqlite: include_str!("../../migrations/sqlite/0007_install_trials.sql"),
        postgres: include_str!("../../migrations/postgres/0007_install_trials.sql"),
    },
    Migration {
        number: 8,
        name: "release checks",
        sqlite: include_str!("../../migrations/sqlite/0008_release_checks.sql"),
        postgres: include_str!("../../migrations/postgres/0008_release_checks.sql"),
    },
    Migration {
        number: 9,
        name: "changes on live",
        sqlite: include_str!("../../migrations/sqlite/0009_changes_on_live.sql"),
        postgres: include_str!("../../migrations/postgres/0009_changes_on_live.sql"),
    },
    Migration {
        number: 10,
        name: "keyed secrets",
        sqlite: include_str!("../../migrations/sqlite/0010_keyed_secrets.sql"),
        postgres: include_str!("../../migrations/postgres/0010_keyed_secrets.sql"),
    },
    Migration {
        number: 11,
        name: "confined installs",
        sqlite: include_str!("../../migrations/sqlite/0011_confined_installs.sql"),
        postgres: include_str!("../../migrations/postgres/0011_confined_installs.sql"),
    },
    Migration {
        number: 12,
        name: "failures",
        sqlite: include_str!("../../migrations/sqlite/0012_failures.sql"),
        postgres: include_str!("../../migrations/postgres/0012_failures.sql"),
    },
    Migration {
        number: 13,
        name: "closed words",
        sqlite: include_str!("../../migrations/sqlite/0013_closed_words.sql"),
        postgres: include_str!("../../migrations/postgres/0013_closed_words.sql"),
    },
    Migration {
        number: 14,
        name: "watch",
        sqlite: include_str!("../../migrations/sqlite/0014_watch.sql"),
        postgres: include_str!("../../migrations/postgres/0014_watch.sql"),
    },
    Migration {
        number: 15,
        name: "one history",
        sqlite: include_str!("../../migrations/sqlite/0015_one_history.sql"),
        postgres: include_str!("../../migrations/postgres/0015_one_history.sql"),
    },
    Migration {
        number: 16,
        name: "rollouts",
        sqlite: include_str!("../../migrations/sqlite/0016_rollouts.sql"),
        postgres: include_str!("../../migrations/postgres/0016_rollouts.sql"),
    },
];

/// Key of the advisory lock. Arbitrary, but unlikely to be used by another program.
const LOCK: i64 = 0x006d_696c_6570_6f73;

pub(super) async fn run(db: &Db) -> Result<()> {
    for migration in MIGRATIONS {
        db.write(move |tx| Box::pin(apply(tx, migration))).await?;
    }
    let newest = MIGRATIONS.iter().map(|migration| migration.number).max().unwrap_or(0);
    let found =
        db.read(|tx| Box::pin(async { tx.count("SELECT max(number) FROM schema_migrations", &[]).await })).await?;
    if found > newest {
        return Err(CatalogError::Newer { found, newest });
    }
    Ok(())
}

async fn apply(tx: &mut Tx, migration: &Migration) -> Result<()> {
    let sqlite = tx.engine() == Engine::Sqlite;
    if !sqlite {
        // Servers that start at the same time take turns. The second waits without a timeout and
        // finds the migration done.
        tx.batch(super::postgres::UNLIMITED).await?;
        tx.query("SELECT CAST(pg_advisory_xact_lock($1) AS TEXT)", &[Val::Int(LOCK)]).await?;
    }
    // Checked first, because PostgreSQL logs a notice for every `IF NOT EXISTS` that finds
    // something.
    let begun = !sqlite
        && tx.count("SELECT count(*) FROM pg_class WHERE oid = to_regclass('schema_migrations')", &[]).await? > 0;
    if !begun {
        let table = "CREATE TABLE IF NOT EXISTS schema_migrations (number BIGINT PRIMARY KEY, name TEXT NOT NULL)";
        tx.batch(table).await?;
    }
    let done = tx.count("SELECT count(*) FROM schema_migrations WHERE number = $1", &[migration.number.into()]).await?;
    if done > 0 {
        return Ok(());
    }
    let schema = if sqlite { migration.sqlite } else { migration.postgres };
    let doing = || format!("bring the database to schema {} ({})", migration.number, migration.name);
    tx.batch(schema).await.map_err(|error| CatalogError::database(doing(), error))?;
    let params = [migration.number.into(), migration.name.into()];
    tx.execute("INSERT INTO schema_migrations (number, name) VALUES ($1, $2)", &params).await?;
    Ok(())
}
