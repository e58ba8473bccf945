use axum::Json;
use milepost_catalog::V1Change;
use milepost_model::change::{Change, UnitKey};
use milepost_model::spec::Scale;
use milepost_model::unit_put::{FunctionPut, Put, PutOnly, ScalePut, UnitPut, VersionRef};
use milepost_model::{Selector, UnitKind, UnitName};
use serde_json::{Map, Value, json};

use super::{CONVENTION, code, head, limits, most_instances, read_code, read_md5, shown, variables};
use crate::compat::qinling::fault::{Fault, V1Result};
use crate::compat::qinling::form::Form;
use crate::compat::qinling::names;
use crate::compat::qinling::names::Path;
use crate::compat::qinling::project::Project;
use crate::compat::qinling::unread::Unread;
use crate::state::Shared;

/// Updates the newest version. Published versions do not change.
pub(crate) async fn update(
    project: Project,
    state: Shared,
    Path(id): Path<String>,
    body: Unread,
) -> V1Result<Json<Map<String, Value>>> {
    let app = project.may()?;
    let Form { fields, package } = body.form().await?;
    let unit = names::own_unit(&state, &project, UnitKind::Function, &id).await?;
    let limits = limits::read(&fields)?;
    let given = fields.text("code")?.map(|text| read_code(&text)).transpose()?.unwrap_or_default();
    // The client sends the members of `code` as separate fields.
    let source = given.get("source").and_then(Value::as_str).map(str::to_owned).or(fields.text("source")?);
    if source.is_some_and(|source| source != "package") {
        return Err(Fault::bad("The function code type can not be changed."));
    }
    let md5 = read_md5(&given)?.or(fields.text("md5sum")?);
    let entry = fields.short_text("entry")?.filter(|entry| !entry.is_empty());
    // A new name, description or timeout does not affect what jobs run.
    let unless_jobs = package.is_some() || entry.is_some() || limits.cpu.is_some() || limits.memory.is_some();

    let spec = head(&state, &unit).await?;
    let mut facts = Map::new();
    for name in ["name", "description"] {
        if let Some(text) = fields.short_text(name)? {
            facts.insert(name.to_owned(), text.into());
        }
    }
    let mut puts = Vec::new();
    let put = |name: &UnitName, unit| Put {
        name: name.clone(),
        label: None,
        description: None,
        group: None,
        force: false,
        only: Some(PutOnly::Existing),
        unit,
    };
    let mut function = FunctionPut {
        merge: true,
        entrypoint: entry,
        memory: limits.memory,
        cpu: limits.cpu,
        timeout_ms: limits.timeout_ms,
        ..FunctionPut::default()
    };
    if let Some(package) = package {
        let stored = code::store(&state, app, package, md5.as_deref()).await?;
        let name = &spec.package.name;
        function.package = Some(VersionRef { name: name.clone(), version: Selector::Latest });
        puts.push(put(name, UnitPut::Package(stored.put(None))));
        facts.insert("code".to_owned(), json!({ "md5sum": stored.md5 }));
    }
    if unless_jobs || function.timeout_ms.is_some() {
        // Functions created before this interface set these fields.
        if spec.variables.contains_key(CONVENTION) {
            function.variables = variables(None);
            let most = most_instances(&state, app).await?;
            // The plan may have been reduced since.
            if spec.scale.max == Scale::default().max || spec.scale.max > most {
                function.scale = Some(ScalePut { max: Some(most), ..ScalePut::default() });
            }
        }
        puts.push(put(&unit.name, UnitPut::Function(function)));
    }
    let change = Change { message: format!("update function {}", unit.name), puts, ..Change::default() };
    let key = UnitKey { kind: UnitKind::Function, name: unit.name };
    let wanted = V1Change { id: Some(unit.id), unless_jobs, ..V1Change::new(change, key, facts) };
    let unit = state.apply(state.catalog.v1_change(app, project.actor(), wanted).await?).await;
    Ok(Json(shown(&state, &unit).await?))
}
