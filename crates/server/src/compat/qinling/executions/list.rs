use axum::Json;
use axum::http::Uri;
use milepost_model::execution::{ExecutionFilter, ExecutionStatus};
use serde_json::Value;

use super::{FIELDS, show};
use crate::compat::qinling::fault::V1Result;
use crate::compat::qinling::lists::{Found, Wanted};
use crate::compat::qinling::project::Project;
use crate::compat::qinling::targets::Names;
use crate::state::Shared;

const PAGE: i64 = 200;

/// Oldest first. Large inputs and results are omitted, as in all lists.
pub(crate) async fn list(project: Project, state: Shared, uri: Uri) -> V1Result<Json<Value>> {
    let wanted = Wanted::read(&uri, &project, &FIELDS)?;
    let mut found = Found::new(&wanted);
    for app in wanted.projects(&state, &project).await? {
        let names = Names::of(&state, &app).await?;
        // The filters that the database supports. The others are applied here.
        let mut filter = ExecutionFilter::default();
        if let Some(id) = wanted.exactly("function_id") {
            let Some(function) = names.function_named(id) else { continue };
            filter.function = Some(function.clone());
        }
        filter.status = match wanted.exactly("status") {
            Some("success") => Some(ExecutionStatus::Success),
            Some("error") => Some(ExecutionStatus::Error),
            _ => None,
        };
        let mut below = None;
        while !found.is_full() {
            let page = state.catalog.execution_list(&app, filter.clone(), below, PAGE).await?;
            found.add(page.items.iter().map(|execution| (execution.created_at, show(&app, &names, execution))));
            below = page.next;
            if below.is_none() {
                break;
            }
        }
    }
    Ok(found.answer("executions"))
}
