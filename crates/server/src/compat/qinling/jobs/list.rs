use axum::Json;
use axum::http::Uri;
use serde_json::Value;

use super::{FIELDS, show};
use crate::compat::qinling::fault::V1Result;
use crate::compat::qinling::lists::{Found, Wanted};
use crate::compat::qinling::project::Project;
use crate::compat::qinling::targets::Names;
use crate::state::Shared;

const PAGE: i64 = 200;

/// Oldest first. Large inputs are omitted, as in all lists.
pub(crate) async fn list(project: Project, state: Shared, uri: Uri) -> V1Result<Json<Value>> {
    let wanted = Wanted::read(&uri, &project, &FIELDS)?;
    let mut found = Found::new(&wanted);
    for app in wanted.projects(&state, &project).await? {
        let names = Names::of(&state, &app).await?;
        let mut below = None;
        while !found.is_full() {
            let page = state.catalog.v1_job_list(&app, below, PAGE).await?;
            found.add(page.items.iter().map(|job| (job.created_at, show(&app, &names, job))));
            below = page.next;
            if below.is_none() {
                break;
            }
        }
    }
    Ok(found.answer("jobs"))
}
