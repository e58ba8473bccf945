//! What a deployment made and the app still has.

use milepost_client::ClientError;
use milepost_model::change::Deployment;
use milepost_model::snapshot::Unit;

use crate::context::Context;
use crate::failure::Result;

/// Every unit of the app; none when there is no such app.
pub async fn all_units(context: &Context<'_>) -> Result<Vec<Unit>> {
    let mut found = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let page = match context.client.unit_list(&context.app, None, 1000, cursor.as_deref()).await {
            Err(ClientError::Refused(problem)) if problem.code == "app_not_found" => return Ok(found),
            page => page?,
        };
        found.extend(page.items);
        cursor = page.next;
        if cursor.is_none() {
            return Ok(found);
        }
    }
}

pub async fn units(context: &Context<'_>, deployment: &Deployment) -> Result<Vec<Unit>> {
    let mut units = all_units(context).await?;
    units.retain(|unit| unit.deployment.as_ref().is_some_and(|owner| owner.id == deployment.id));
    Ok(units)
}
