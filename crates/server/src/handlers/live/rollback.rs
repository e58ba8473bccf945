use axum::Json;
use milepost_catalog::{Rollback, RollbackInput};
use milepost_client::api::{RollBack, RolledBack};
use milepost_model::change::UnitKey;
use milepost_model::diff::{Contents, UnitDiff};
use milepost_model::{AppName, UnitKind, UnitSpec};

use crate::auth::Caller;
use crate::content::trees;
use crate::edge::extract::{Json as Body, Path};
use crate::edge::wire;
use crate::error::ApiResult;
use crate::serving::urls::WithUrls;
use crate::state::{Shared, Store};

/// Roll live back to the previous release, or to a given one
#[utoipa::path(post, path = "/apps/{app}/rollback", tag = "live", params(("app" = String, Path, description = "Name of the app")), request_body = RollBack, responses((status = 200, body = RolledBack)))]
pub(crate) async fn live_rollback(
    caller: Caller,
    state: Shared,
    Path(app): Path<String>,
    sent: Body<RollBack>,
) -> ApiResult<Json<RolledBack>> {
    let app = caller.on(&app)?;
    let body = sent.read().await?;
    let input = RollbackInput { to: body.to, why: body.why, dry_run: body.dry_run };
    let done = state.apply(state.catalog.rollback(&app, caller.name(), input).await?).await;
    let (changes, problems) = match differences(&state.store, &app, &done).await {
        Ok(found) => found,
        Err(error) if body.dry_run => return Err(error),
        // Live has moved, which an error would deny.
        Err(error) => {
            tracing::warn!(message = %error.0, %app, "the differences of a rollback could not be read");
            (Vec::new(), vec!["live was moved, but what changed with it could not be read".to_owned()])
        }
    };
    Ok(Json(RolledBack {
        dry_run: body.dry_run,
        from: done.from.with_urls(&state.urls, &app),
        to: done.to.with_urls(&state.urls, &app),
        released_again: done.released_again,
        expired: done.expired,
        changes,
        problems,
    }))
}

/// What differs between the two releases, and what is missing in the target.
async fn differences(store: &Store, app: &AppName, done: &Rollback) -> ApiResult<(Vec<UnitDiff>, Vec<String>)> {
    let (_, after, gone) = store.catalog.app_version_contents(app, done.to.app_version.clone()).await?;
    let before = match &done.from {
        Some(from) => store.catalog.app_version_contents(app, from.app_version.clone()).await?.1,
        None => Contents::new(),
    };
    let mut changes = milepost_model::diff::diff(&before, &after);
    for change in &mut changes {
        trees::explain_if_readable(store, &mut change.reasons).await;
    }
    let problems = gone.iter().map(wire::deleted_version).chain(missing_secrets(&after)).collect();
    Ok((changes, problems))
}

/// Functions of the target that need a secret which the target does not contain.
fn missing_secrets(contents: &Contents) -> Vec<String> {
    let mut missing = Vec::new();
    for (key, (_, spec)) in contents {
        let UnitSpec::Function(function) = spec else { continue };
        for secret in &function.secrets {
            if !contents.contains_key(&UnitKey { kind: UnitKind::Secret, name: secret.clone() }) {
                missing.push(format!("{key} wants the secret {secret}, which was not set then"));
            }
        }
    }
    missing
}
