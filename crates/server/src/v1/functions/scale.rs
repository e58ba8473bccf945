//! Instances of a version on this node, for those who want to set their number by hand.

use std::sync::Arc;

use milepost_catalog::V1Unit;
use milepost_model::{AppName, Permission, Selector, UnitKind, UnitName};
use milepost_runtime::Function;

use crate::serving::bind_alone;
use crate::state::State;
use crate::v1::fault::{Fault, V1Result};
use crate::v1::fields::Fields;
use crate::v1::names;
use crate::v1::project::Project;

/// What is to be scaled: a version of a function, by its number in the ledger.
pub(crate) struct Scaled {
    pub unit: V1Unit,
    pub number: i64,
}

/// The head, or a published version. Only for administrators, of whichever project they see.
pub(crate) async fn find(state: &State, project: &Project, id: &str, version: Option<&str>) -> V1Result<Scaled> {
    project.may(Permission::Administer)?;
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

/// With what executions of the version run: as the live release has it if it does, else with the app as it is now.
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

/// How many, 1 when nothing is said.
pub(crate) fn count(fields: &Fields) -> V1Result<usize> {
    let count = fields.int("count")?.unwrap_or(1);
    match usize::try_from(count) {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(Fault::bad(format!(
            "Invalid input for field/attribute count. Value: '{count}'. Value should be greater or equal to 1."
        ))),
    }
}

/// Everything that runs of a function that is gone.
pub(crate) fn let_go_all(state: &State, app: &AppName, function: &UnitName) {
    for pool in state.plane.runtime.status(app) {
        if pool.function == *function {
            state.plane.runtime.let_go(app, function, pool.number, usize::MAX, 0);
        }
    }
}
