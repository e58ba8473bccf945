//! Manual scaling of a version's instances on this node.

use std::sync::Arc;

use milepost_catalog::V1Unit;
use milepost_model::{AppName, Selector, UnitKind, UnitName};
use milepost_runtime::Function;

use crate::compat::qinling::fault::{Fault, V1Result};
use crate::compat::qinling::fields::Fields;
use crate::compat::qinling::names;
use crate::compat::qinling::project::Project;
use crate::serving::bind_alone;
use crate::state::State;

/// The function version to scale, by its catalog number.
pub(crate) struct Scaled {
    pub unit: V1Unit,
    pub number: i64,
}

/// Finds the head or a published version. Administrators only, for all projects they can see.
pub(crate) async fn find(state: &State, project: &Project, id: &str, version: Option<&str>) -> V1Result<Scaled> {
    project.may()?;
    let unit = names::unit(state, project, UnitKind::Function, id).await?;
    let number = match version {
        None => {
            let serving = state.catalog.serving_function(&unit.app, unit.name.clone(), Selector::Latest).await?;
            bind_alone(serving)?.number
        }
        Some(version) => {
            let number = names::version(version)?;
            let found = state.catalog.v1_version(&unit.app, unit.name.clone(), number.clone()).await?;
            found.ok_or_else(|| Fault::unknown_version(id, &number))?.version
        }
    };
    Ok(Scaled { unit, number })
}

/// The binding that executions of the version use: that of the live release if it contains the
/// version, otherwise the current state of the app.
pub(crate) async fn binding(state: &State, scaled: &Scaled) -> V1Result<Arc<Function>> {
    let name = scaled.unit.name.clone();
    let selector = Selector::Number(scaled.number);
    let alone = bind_alone(state.catalog.serving_function(&scaled.unit.app, name, selector).await?)?;
    let view = state.views.of(&scaled.unit.app).await?;
    let live = view.as_ref().and_then(|view| view.live.as_ref());
    let held = live.and_then(|live| {
        let same = |function: &Function| function.name == alone.name && function.number == alone.number;
        live.targets().iter().find(|target| same(&target.function)).map(|target| Arc::clone(&target.function))
    });
    Ok(held.unwrap_or_else(|| Arc::new(alone)))
}

/// The requested count. Defaults to 1.
pub(crate) fn count(fields: &Fields) -> V1Result<usize> {
    let count = fields.int("count")?.unwrap_or(1);
    match usize::try_from(count) {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(Fault::bad(format!(
            "Invalid input for field/attribute count. Value: '{count}'. Value should be greater or equal to 1."
        ))),
    }
}

/// Stops all instances of a deleted function.
pub(crate) fn let_go_all(state: &State, app: &AppName, function: &UnitName) {
    for pool in state.plane.runtime.status(app) {
        if pool.function == *function {
            state.plane.runtime.let_go(app, function, pool.number, usize::MAX, 0);
        }
    }
}
