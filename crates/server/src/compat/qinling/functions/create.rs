use axum::Json;
use axum::http::StatusCode;
use milepost_catalog::V1Change;
use milepost_model::change::{Change, UnitKey};
use milepost_model::unit_put::{FunctionPut, Put, PutOnly, ScalePut, UnitPut, VersionRef};
use milepost_model::{Refusal, Selector, UnitKind, UnitName};
use serde_json::{Map, Value, json};

use super::{ENTRY, check_source, code, environment, limits, most_instances, read_code, read_md5, shown, variables};
use crate::compat::qinling::fault::{Fault, V1Result};
use crate::compat::qinling::form::Form;
use crate::compat::qinling::names;
use crate::compat::qinling::project::Project;
use crate::compat::qinling::unread::Unread;
use crate::state::Shared;

const MEMORY: u64 = 33_554_432;
const CPU: u32 = 100;
const TIMEOUT_MS: u64 = 5000;

pub(crate) async fn create(
    project: Project,
    state: Shared,
    body: Unread,
) -> V1Result<(StatusCode, Json<Map<String, Value>>)> {
    let app = project.may()?;
    let Form { fields, package } = body.form().await?;
    let Some(text) = fields.text("code")? else { return Err(Fault::missing("'code'")) };
    let given = read_code(&text)?;
    check_source(given.get("source"))?;
    let md5 = read_md5(&given)?;
    let limits = limits::read(&fields)?;
    let Some(runtime_id) = fields.text("runtime_id")?.filter(|id| !id.is_empty()) else {
        return Err(Fault::bad("\"runtime_id\" must be specified."));
    };
    let runtime = names::unit(&state, &project, UnitKind::Environment, &runtime_id).await?;
    let Some(package) = package else { return Err(Fault::missing("'package'")) };
    let stored = code::store(&state, app, package, md5.as_deref()).await?;
    let (environment, spec) = environment::of(&state, &project, &runtime).await?;
    let convention = environment::convention(&spec)?;
    let instances = most_instances(&state, app).await?;
    let name = fields.short_text("name")?;
    let entry = fields.short_text("entry")?.filter(|entry| !entry.is_empty());
    let description = fields.short_text("description")?;
    let unit = super::put(&state, &project, |taken| {
        let unit = names::unit_name(&state, UnitKind::Function, name.as_deref(), taken)?;
        let package = UnitName::for_kind(UnitKind::Package, &format!("{unit}-pkg")).map_err(Refusal::from)?;
        let put = |name: &UnitName, unit| Put {
            name: name.clone(),
            label: None,
            description: None,
            group: None,
            force: false,
            only: Some(PutOnly::New),
            unit,
        };
        let function = FunctionPut {
            entrypoint: Some(entry.clone().unwrap_or_else(|| ENTRY.to_owned())),
            package: Some(VersionRef { name: package.clone(), version: Selector::Latest }),
            variables: variables(Some(convention)),
            scale: Some(ScalePut { max: Some(instances), ..ScalePut::default() }),
            memory: Some(limits.memory.unwrap_or(MEMORY)),
            cpu: Some(limits.cpu.unwrap_or(CPU)),
            timeout_ms: Some(limits.timeout_ms.unwrap_or(TIMEOUT_MS)),
            ..FunctionPut::default()
        };
        let code = put(&package, UnitPut::Package(stored.put(Some(environment.clone()))));
        let change = Change {
            message: format!("create function {unit}"),
            puts: vec![code, put(&unit, UnitPut::Function(function))],
            ..Change::default()
        };
        let facts = json!({
            "name": name,
            "description": description,
            "runtime_id": runtime.id,
            "package": package,
            "code": { "md5sum": stored.md5 },
        });
        let key = UnitKey { kind: UnitKind::Function, name: unit };
        let facts = facts.as_object().cloned().unwrap_or_default();
        Ok(V1Change { runtime: Some(runtime.id.clone()), ..V1Change::new(change, key, facts) })
    })
    .await?;
    Ok((StatusCode::CREATED, Json(shown(&state, &unit).await?)))
}
