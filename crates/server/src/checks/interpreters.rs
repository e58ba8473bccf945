//! Checks that the interpreters environments ask for are installed. Only this node is checked: all
//! nodes on one database are assumed to be alike.

use milepost_model::change::{Change, UnitKey};
use milepost_model::spec::{EnvironmentSpec, Runtime};
use milepost_model::{AppName, Code, Refusal, Selector, UnitKind, UnitPut};

use crate::error::ApiResult;
use crate::state::State;

/// Rejects new environments whose interpreter is not installed. An environment that the app already
/// has may stay unchanged.
pub(crate) async fn check(state: &State, app: &AppName, change: &Change) -> ApiResult<()> {
    for put in &change.puts {
        let UnitPut::Environment(spec) = &put.unit else { continue };
        let Some(lacks) = lacking(state, spec).await else { continue };
        let key = UnitKey { kind: UnitKind::Environment, name: put.name.clone() };
        let present = state.catalog.version_get(app, key, Selector::Latest).await;
        let same = present.is_ok_and(|version| serde_json::to_value(spec).is_ok_and(|spec| spec == version.spec));
        if !same {
            return Err(refusal(put.name.as_str(), spec, &lacks).into());
        }
    }
    Ok(())
}

/// Returns why an environment's interpreter cannot be used here.
pub(crate) async fn lacking(state: &State, spec: &EnvironmentSpec) -> Option<String> {
    state.plane.runtime.lacks_interpreter(spec.runtime, &spec.interpreter).await
}

fn refusal(name: &str, spec: &EnvironmentSpec, lacks: &str) -> Refusal {
    let hint = match spec.runtime {
        Runtime::Python => {
            "install it on the server, or choose another one: `python` means the newest one that is installed"
        }
        Runtime::Node => {
            "install it on the server, or choose another one: `node` means the newest one that is installed"
        }
        Runtime::Binary | Runtime::Wasm => "programs that run once per request are started by a Python interpreter",
    };
    Refusal::new(Code::InvalidSpec, format!("environment `{name}` cannot run: {lacks}")).correct(hint)
}
