//! The database accepts the words and numbers that the code writes, and no others.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use milepost_model::build::BuildState;
use milepost_model::check::CheckState;
use milepost_model::execution::{AttemptEnd, CauseKind, ExecutionStatus};
use milepost_model::install::InstallMode;
use milepost_model::job::JobState;
use milepost_model::pointer::Step;
use milepost_model::release::{LiveMode, ReleaseState};
use milepost_model::spec::PinRole;
use milepost_model::{PlanName, Role, SystemClock, UnitKind};

use super::{Db, Ending, Engine, Row, Val, placeholders};
use crate::tables::versions::VersionState;
use crate::words::Word;

/// A column that holds one of these words.
fn words() -> Vec<(&'static str, &'static str, Vec<&'static str>)> {
    fn all<W: Word>() -> Vec<&'static str> {
        W::ALL.iter().map(|word| word.word()).collect()
    }
    vec![
        ("apps", "plan", all::<PlanName>()),
        ("apps", "live_mode", all::<LiveMode>()),
        ("rollouts", "live_mode", all::<LiveMode>()),
        ("contents", "kind", all::<UnitKind>()),
        ("units", "kind", all::<UnitKind>()),
        ("versions", "state", all::<VersionState>()),
        ("version_pins", "role", all::<PinRole>()),
        ("releases", "state", all::<ReleaseState>()),
        ("releases", "check_state", all::<CheckState>()),
        ("pointer_moves", "kind", vec!["live", "latest", "tag", "alias"]),
        ("pointer_moves", "step", all::<Step>()),
        ("tokens", "role", all::<Role>()),
        ("builds", "state", all::<BuildState>()),
        ("executions", "status", all::<ExecutionStatus>()),
        ("executions", "cause", all::<CauseKind>()),
        ("execution_attempts", "ending", all::<AttemptEnd>()),
        ("jobs", "state", all::<JobState>()),
        ("installs", "mode", all::<InstallMode>()),
        ("v1_ids", "kind", vec!["function", "environment"]),
    ]
}

/// A column that holds a number, and one that it does not accept beside 1, which all of them do.
const NUMBERS: [(&str, &str, i64); 32] = [
    ("rollouts", "open", 2),
    ("apps", "head_seq", -1),
    ("apps", "event_seq", -1),
    ("units", "last_number", -1),
    ("versions", "number", 0),
    ("app_versions", "seq", 0),
    ("memberships", "from_seq", 0),
    ("memberships", "until_seq", 1),
    ("events", "seq", 0),
    ("tokens", "app_id", -1),
    ("packs", "size", -1),
    ("blobs", "size", -1),
    ("blobs", "is_directory", 2),
    ("blobs", "pack_offset", -1),
    ("nodes", "keys_secrets", 2),
    ("executions", "sync", 2),
    ("executions", "cancel", -1),
    ("executions", "attempt", -1),
    ("execution_attempts", "number", 0),
    ("jobs", "remaining", -1),
    ("jobs", "fired", -1),
    ("installs", "rollback_pin", 2),
    ("installs", "confined", 2),
    ("installs", "serial", -1),
    ("installs", "trial_seq", -1),
    ("v1_ids", "last_number", -1),
    ("v1_ids", "executions", -1),
    ("v1_versions", "number", 0),
    ("v1_versions", "executions", -1),
    ("blobs", "is_directory", -1),
    ("versions", "number", i64::MIN),
    ("packs", "size", i64::MIN),
];

/// The columns of a table that a row must have, with a value that fits each.
async fn row(db: &Db, table: &'static str) -> BTreeMap<String, Val> {
    let sql = match db.engine() {
        Engine::Sqlite => "SELECT name, lower(type) FROM pragma_table_info($1) WHERE \"notnull\" = 1 OR pk > 0",
        Engine::Postgres => {
            "SELECT column_name::text, data_type::text FROM information_schema.columns \
             WHERE table_schema = 'public' AND table_name = $1 AND is_nullable = 'NO'"
        }
    };
    let columns = db.read(move |tx| Box::pin(async move { tx.query(sql, &[table.into()]).await })).await.unwrap();
    let of_words = words();
    let value = |column: &str, kind: &str| -> Val {
        let known = of_words.iter().find(|(of, name, _)| (*of, *name) == (table, column));
        match (known, kind) {
            (Some((_, _, words)), _) => words[0].into(),
            (None, "text") => "x".into(),
            (None, "blob" | "bytea") => vec![7_u8; 32].into(),
            (None, _) => 1_i64.into(),
        }
    };
    let pair = |row: &Row| {
        let (column, kind) = (row.text(0).unwrap(), row.text(1).unwrap());
        let value = value(&column, &kind);
        (column, value)
    };
    columns.iter().map(pair).collect()
}

/// Tries to insert a row, and returns the errors of the database, all of them in one text.
async fn insert(db: &Db, table: &'static str, row: BTreeMap<String, Val>) -> String {
    let columns: Vec<&str> = row.keys().map(String::as_str).collect();
    let values = placeholders(columns.len(), 1);
    let sql = format!("INSERT INTO {table} ({}) VALUES ({values})", columns.join(", "));
    let params: Vec<Val> = row.into_values().collect();
    let inserted = db.run(move |tx| Box::pin(async move { tx.execute(&sql, &params).await }), Ending::Forget);
    let Err(error) = inserted.await else { return String::new() };
    let causes = std::iter::successors(Some(&error as &dyn Error), |error| (*error).source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn is_check(error: &str) -> bool {
    error.to_lowercase().contains("check constraint")
}

async fn check_refusals(db: &Db) {
    let not_known = words().into_iter().flat_map(|(table, column, words)| {
        // Another case, a word of another column, an empty text and a prefix are other words.
        let wrong = [words[0].to_uppercase(), "nonsense".into(), String::new(), words[0][..2].into()];
        wrong.map(|wrong| (table, column, Val::from(wrong)))
    });
    let numbers = NUMBERS.into_iter().map(|(table, column, wrong)| (table, column, Val::from(wrong)));
    for (table, column, wrong) in not_known.chain(numbers) {
        let mut row = row(db, table).await;
        let error = insert(db, table, row.clone()).await;
        assert!(!is_check(&error), "{table} accepts the values that the code writes: {error}");
        row.insert(column.to_owned(), wrong.clone());
        let error = insert(db, table, row).await;
        let constraint = format!("{table}_{column}");
        assert!(is_check(&error) && error.contains(&constraint), "{table}.{column} = {wrong:?}: {error}");
    }
}

async fn check_words(db: &Db) {
    for (table, column, words) in words() {
        for word in words {
            let mut row = row(db, table).await;
            row.insert(column.to_owned(), word.into());
            let error = insert(db, table, row).await;
            assert!(!is_check(&error), "{table}.{column} accepts `{word}`: {error}");
        }
    }
}

/// The texts of all constraints, by name.
async fn constraints(db: &Db) -> BTreeMap<String, String> {
    let sql = match db.engine() {
        Engine::Sqlite => "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND sql IS NOT NULL",
        Engine::Postgres => {
            "SELECT conname::text, pg_get_constraintdef(oid) FROM pg_constraint \
             WHERE contype = 'c' AND connamespace = 'public'::regnamespace"
        }
    };
    let rows = db.read(move |tx| Box::pin(async move { tx.query(sql, &[]).await })).await.unwrap();
    let rows = rows.iter().map(|row| (row.text(0).unwrap(), row.text(1).unwrap()));
    match db.engine() {
        Engine::Postgres => rows.collect(),
        Engine::Sqlite => rows
            .flat_map(|(_, sql)| {
                let each = sql.split("CONSTRAINT ").skip(1).map(|rest| rest.split_once(' ').unwrap());
                each.map(|(name, rest)| (name.to_owned(), rest.to_owned())).collect::<Vec<_>>()
            })
            .collect(),
    }
}

async fn check_sets(db: &Db) {
    let found = constraints(db).await;
    let of_words = words();
    for (table, column, words) in &of_words {
        let text = &found[&format!("{table}_{column}")];
        let quoted: BTreeSet<&str> = text.split('\'').skip(1).step_by(2).collect();
        assert_eq!(quoted, words.iter().copied().collect(), "{table}.{column}: {text}");
    }
    let tested = of_words.iter().map(|(table, column, _)| (*table, *column));
    let tested = tested.chain(NUMBERS.iter().map(|(table, column, _)| (*table, *column)));
    let tested: BTreeSet<String> = tested.map(|(table, column)| format!("{table}_{column}")).collect();
    assert_eq!(found.into_keys().collect::<BTreeSet<_>>(), tested, "each constraint is tested");
}

async fn check(db: &Db) {
    check_refusals(db).await;
    check_words(db).await;
    check_sets(db).await;
}

#[tokio::test]
async fn words_and_numbers_are_checked_by_the_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("catalog.db");
    check(&Db::open(path.to_str().unwrap(), None, Arc::new(SystemClock)).await.unwrap()).await;
}

mod postgres {
    use super::*;

    #[tokio::test]
    async fn words_and_numbers_are_checked_by_the_database() {
        let database = milepost_testkit::postgres::database();
        check(&Db::open(&database.url, None, Arc::new(SystemClock)).await.unwrap()).await;
    }
}

/// A column that is read as a word has a constraint, so that a row with another word is refused
/// when it is written and not when it is read.
#[test]
fn every_column_that_is_read_as_a_word_has_a_constraint() {
    let known: BTreeSet<String> = words().iter().map(|(table, column, _)| format!("{table}.{column}")).collect();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tables")];
    let mut read = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(path).unwrap();
            let calls = text.split(".word(").skip(1).filter_map(|rest| rest.split_once('"')?.1.split_once('"'));
            read.extend(calls.map(|(column, _)| column.to_owned()).filter(|column| column.contains('.')));
        }
    }
    assert!(read.len() > 10, "the search finds them: {read:?}");
    assert_eq!(read.difference(&known).collect::<Vec<_>>(), Vec::<&String>::new());
}
