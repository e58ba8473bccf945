use axum::Json;
use axum::http::Uri;
use serde_json::Value;

use super::{FIELDS, show};
use crate::handlers::Shared;
use crate::v1::fault::V1Result;
use crate::v1::lists::{MOST, Wanted};
use crate::v1::project::Project;
use crate::v1::targets::Names;

const PAGE: i64 = 1000;

/// Newest first.
pub(crate) async fn list(project: Project, state: Shared, uri: Uri) -> V1Result<Json<Value>> {
    let wanted = Wanted::read(&uri, &project, &FIELDS)?;
    let mut objects = Vec::new();
    for app in wanted.projects(&state, &project).await? {
        let names = Names::of(&state, &app).await?;
        let mut below = None;
        while objects.len() < MOST {
            let page = state.catalog.job_list(&app, below, PAGE).await?;
            objects.extend(page.items.iter().map(|job| show(&app, &names, job)).filter(|job| wanted.takes(job)));
            below = page.next;
            if below.is_none() {
                break;
            }
        }
    }
    Ok(wanted.answer("jobs", objects))
}
