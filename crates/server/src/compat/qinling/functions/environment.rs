//! Lets a function use a runtime of another project, through an equal environment in its own app.

use milepost_catalog::{V1Change, V1Unit};
use milepost_model::change::{Change, UnitKey};
use milepost_model::spec::{EnvironmentSpec, Runtime};
use milepost_model::unit_put::{Put, UnitPut};
use milepost_model::{UnitKind, UnitName};
use serde_json::json;

use crate::compat::qinling::fault::{Fault, V1Result};
use crate::compat::qinling::names;
use crate::compat::qinling::project::Project;
use crate::compat::qinling::runtimes::{COPY_OF, spec_of};
use crate::state::State;

/// Returns the name of the runtime's environment in the project's app, and its spec.
pub(crate) async fn of(state: &State, project: &Project, runtime: &V1Unit) -> V1Result<(UnitName, EnvironmentSpec)> {
    let spec = spec_of(state, runtime).await?;
    if runtime.app == project.name {
        return Ok((runtime.name.clone(), spec));
    }
    let own = state.catalog.v1_units(&project.name, UnitKind::Environment).await?;
    let copy = own.into_iter().find(|unit| unit.facts[COPY_OF] == runtime.id.as_str());
    let made = super::put(state, project, |taken| {
        let name = match &copy {
            Some(copy) => copy.name.clone(),
            None => names::unit_name(state, UnitKind::Environment, Some(runtime.name.as_str()), taken)?,
        };
        let put = Put {
            name: name.clone(),
            label: None,
            description: None,
            group: None,
            force: false,
            only: copy.is_none().then_some(milepost_model::unit_put::PutOnly::New),
            unit: UnitPut::Environment(spec.clone()),
        };
        let change = Change { message: format!("use runtime {name}"), puts: vec![put], ..Change::default() };
        let key = UnitKey { kind: UnitKind::Environment, name };
        let facts = [(COPY_OF.to_owned(), json!(runtime.id))].into_iter().collect();
        Ok(V1Change::new(change, key, facts))
    })
    .await?;
    Ok((made.name, spec))
}

/// The calling convention of v1, so that the worker does not have to guess.
pub(crate) fn convention(spec: &EnvironmentSpec) -> V1Result<&'static str> {
    match spec.runtime {
        Runtime::Python => Ok("arguments"),
        Runtime::Node => Ok("input"),
        Runtime::Binary | Runtime::Wasm => {
            Err(Fault::bad("Functions of this interface run on runtimes of Python and Node.js."))
        }
    }
}
