use std::collections::BTreeSet;

use axum::Json;
use axum::http::HeaderMap;
use milepost_catalog::ChangeInput;
use milepost_model::change::Change;
use milepost_model::plan::Reason;
use milepost_model::{ChangeOutcome, Digest};

use crate::auth::Caller;
use crate::checks::{self, interpreters};
use crate::content::change::{seal, trees_of};
use crate::content::{named_files, trees};
use crate::edge::extract::{Json as Body, Path};
use crate::edge::idempotency::idempotency_key;
use crate::error::ApiResult;
use crate::phrase;
use crate::serving::urls::WithUrls;
use crate::state::{Shared, Store};

/// Apply a change, or plan it with `dryRun`
#[utoipa::path(post, path = "/apps/{app}/changes", tag = "changes", params(("app" = String, Path, description = "Name of the app"), ("idempotency-key" = Option<String>, Header, description = "A change that is sent twice with the same key is applied once")), request_body = Change, responses((status = 200, body = ChangeOutcome)))]
pub(crate) async fn changes_create(
    caller: Caller,
    state: Shared,
    Path(app): Path<String>,
    headers: HeaderMap,
    sent: Body<Change>,
) -> ApiResult<Json<ChangeOutcome>> {
    let app = caller.on(&app)?;
    let change = sent.read().await?;
    let idempotency_key = idempotency_key(&headers)?;
    let dry_run = change.dry_run;
    trees::check(&state.content, trees_of(&change)).await?;
    named_files::check(&state.store, &change).await?;
    interpreters::check(&state, &app, &change).await?;
    let input = ChangeInput {
        secrets: seal(&state.keyring, &app, &change)?,
        change,
        actor: caller.name().to_owned(),
        idempotency_key,
    };
    let (checking, holder) = state.checks.asked();
    let mut outcome = state.apply(state.catalog.change_checked(&app, input, checking).await?).await;
    checks::changed(&state, &app, &mut outcome, holder).await?;
    explain(&state.store, &mut outcome, dry_run).await?;
    if outcome.changed && !dry_run {
        state.metrics.changes.inc();
    }
    outcome.release = outcome.release.with_urls(&state.urls, &app);
    Ok(Json(phrase::outcome(outcome)))
}

/// Fills in which files differ. A plan may name trees that only the client has yet, and then the
/// client compares them itself.
async fn explain(store: &Store, outcome: &mut ChangeOutcome, dry_run: bool) -> ApiResult<()> {
    let reasons = || outcome.versions.iter().flat_map(|unit| &unit.reasons);
    let unknown: BTreeSet<Digest> = if dry_run {
        let named: BTreeSet<Digest> = reasons().flat_map(trees_in).collect();
        let found = store.catalog.blob_locate(named.iter().copied().collect()).await?;
        let found: BTreeSet<Digest> = found.into_iter().map(|row| row.digest).collect();
        named.difference(&found).copied().collect()
    } else {
        BTreeSet::new()
    };
    for reason in outcome.versions.iter_mut().flat_map(|unit| &mut unit.reasons) {
        if trees_in(reason).all(|tree| !unknown.contains(&tree)) {
            trees::explain_if_readable(store, std::slice::from_mut(reason)).await;
        }
    }
    Ok(())
}

fn trees_in(reason: &Reason) -> impl Iterator<Item = Digest> {
    let sides = if let Reason::Files { before, after, .. } = reason { [*before, *after] } else { [None, None] };
    sides.into_iter().flatten()
}
