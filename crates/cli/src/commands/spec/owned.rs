//! The units of a deployment that the app has now.

use milepost_model::change::Deployment;
use milepost_model::snapshot::Unit;

use crate::commands::shared;
use crate::context::Context;
use crate::failure::Result;

pub async fn units(context: &Context<'_>, deployment: &Deployment) -> Result<Vec<Unit>> {
    let mut units = shared::all_units(context).await?;
    units.retain(|unit| unit.deployment.as_ref().is_some_and(|owner| owner.id == deployment.id));
    Ok(units)
}
