use axum::Json;
use axum::http::{HeaderMap, Uri};
use serde_json::Value;

use super::{FIELDS, show};
use crate::compat::qinling::fault::V1Result;
use crate::compat::qinling::lists::{Found, Wanted};
use crate::compat::qinling::project::Project;
use crate::compat::qinling::targets::Names;
use crate::state::Shared;

const PAGE: i64 = 1000;

/// Oldest first.
pub(crate) async fn list(project: Project, state: Shared, headers: HeaderMap, uri: Uri) -> V1Result<Json<Value>> {
    project.may()?;
    let wanted = Wanted::read(&uri, &project, &FIELDS)?;
    let mut found = Found::new(&wanted);
    for app in wanted.projects(&state, &project).await? {
        let names = Names::of(&state, &app).await?;
        let mut after = None;
        while !found.is_full() {
            let page = state.catalog.webhook_list(&app, after, PAGE).await?;
            found.add(page.items.iter().map(|webhook| (webhook.created_at, show(&app, &names, webhook, &headers))));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
    }
    Ok(found.answer("webhooks"))
}
