//! Converts catalog results to response bodies.

use milepost_catalog::{PageOf, TokenRow};
use milepost_client::api::{App, Page, Token};
use milepost_model::change::UnitKey;
use milepost_model::diff::{Contents, UnitDiff, UnitDiffKind};
use milepost_model::plan::{self, Whole};
use milepost_model::{Refusal, UnitKind, UnitName};

use crate::edge::cursor;
use crate::serving::urls::{Urls, WithUrls};
use crate::state::Store;

pub(crate) fn app(app: milepost_catalog::App, urls: &Urls) -> App {
    App {
        live: app.live.with_urls(urls, &app.name),
        name: app.name,
        plan: app.plan,
        created_at: app.created_at,
        created_by: app.created_by,
        head: app.head,
        stored_bytes: app.stored_bytes,
    }
}

pub(crate) fn token(row: TokenRow, token: Option<String>) -> Token {
    Token {
        name: row.name,
        role: row.role,
        app: row.app,
        created_at: row.created_at,
        created_by: row.created_by,
        token,
    }
}

pub(crate) fn page<T, P: ToString>(list: &str, store: &Store, found: PageOf<T, P>) -> Page<T> {
    Page { items: found.items, next: found.next.map(|at| cursor::write(list, &at, store.catalog.now())) }
}

pub(crate) fn function(name: &str) -> Result<UnitName, Refusal> {
    Ok(UnitName::for_kind(UnitKind::Function, name)?)
}

pub(crate) fn deleted_version((key, number): &(UnitKey, i64)) -> String {
    format!("{key} version {number} was deleted")
}

/// The differences, including all files of added and removed units.
pub(crate) fn whole_diff(before: &Contents, after: &Contents) -> Vec<UnitDiff> {
    let mut changes = milepost_model::diff::diff(before, after);
    for change in &mut changes {
        let (contents, whole) = match change.change {
            UnitDiffKind::Added => (after, Whole::Added),
            UnitDiffKind::Removed => (before, Whole::Removed),
            UnitDiffKind::Changed | UnitDiffKind::Renumbered => continue,
        };
        let key = UnitKey { kind: change.kind, name: change.name.clone() };
        if let Some((_, spec)) = contents.get(&key) {
            change.reasons.extend(plan::all_files(spec, whole));
        }
    }
    changes
}
