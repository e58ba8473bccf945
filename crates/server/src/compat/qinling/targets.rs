//! Maps functions and versions between v1 and the catalog.

use std::collections::HashMap;

use milepost_model::change::UnitKey;
use milepost_model::execution::{MAX_DEPTH, MAX_INPUT};
use milepost_model::{AliasName, AppName, RawJson, Selector, Timestamp, UnitKind, UnitName};
use serde_json::{Map, Value};

use super::fault::{Fault, V1Result, is_unknown};
use super::fields::Fields;
use super::names;
use super::project::Project;
use crate::executions::limits::{check_form, check_length};
use crate::state::State;

pub(crate) struct Target {
    pub function: UnitName,
    pub selector: Selector,
}

/// Reads `function_alias`, or `function_id` and `function_version`. The alias takes precedence.
pub(crate) async fn read(state: &State, project: &Project, fields: &Fields) -> V1Result<Target> {
    if let Some(name) = fields.text("function_alias")?.filter(|name| !name.is_empty()) {
        return alias(state, &project.name, &name).await;
    }
    let Some(id) = fields.text("function_id")?.filter(|id| !id.is_empty()) else {
        return Err(Fault::bad("Either function_alias or function_id must be provided."));
    };
    of_function(state, project, &id, fields.int("function_version")?.unwrap_or(0)).await
}

async fn alias(state: &State, app: &AppName, name: &str) -> V1Result<Target> {
    let unknown = || Fault::unknown("FunctionAlias", "name", name);
    let parsed: AliasName = name.parse().map_err(|_| unknown())?;
    let found = match state.catalog.v1_alias_get(app, parsed.clone()).await {
        Err(error) if is_unknown(&error) => return Err(unknown()),
        other => other?,
    };
    Ok(Target { function: found.function, selector: Selector::Alias(parsed) })
}

/// A version of one of the project's own functions. 0 is the newest code.
pub(crate) async fn of_function(state: &State, project: &Project, id: &str, version: i64) -> V1Result<Target> {
    let unit = names::own_unit(state, project, UnitKind::Function, id).await?;
    let selector = match version {
        0 => Selector::Latest,
        1.. => {
            let found = state.catalog.v1_version(&unit.app, unit.name.clone(), version.to_string()).await?;
            let found = found.ok_or_else(|| Fault::unknown_version(id, &version.to_string()))?;
            Selector::Number(found.version)
        }
        _ => return Err(Fault::bad(format!("The function version {version} is not a number from 0 on."))),
    };
    Ok(Target { function: unit.name, selector })
}

type Numbers = HashMap<(UnitName, i64), i64>;

async fn numbers(state: &State, app: &AppName, of: Option<UnitName>) -> V1Result<Numbers> {
    let found = state.catalog.v1_numbers(app, of).await?;
    Ok(found.into_iter().map(|(name, version, number)| ((name, version), number)).collect())
}

/// The v1 ids of an app's functions, and the v1 numbers of their versions.
pub(crate) struct Names {
    /// Ids with creation times. A function of the same name before that time was a different one.
    ids: HashMap<UnitName, (String, Timestamp)>,
    numbers: Numbers,
}

impl Names {
    pub(crate) async fn of(state: &State, app: &AppName) -> V1Result<Self> {
        let units = state.catalog.v1_units(app, UnitKind::Function).await?;
        let ids = units.into_iter().map(|unit| (unit.name, (unit.id, unit.created_at))).collect();
        Ok(Self { ids, numbers: numbers(state, app, None).await? })
    }

    /// Loads one function only.
    pub(crate) async fn of_one(state: &State, app: &AppName, function: &UnitName) -> V1Result<Self> {
        let key = UnitKey { kind: UnitKind::Function, name: function.clone() };
        let ids = match state.catalog.v1_unit_named(app, key).await {
            Ok(unit) => [(unit.name, (unit.id, unit.created_at))].into(),
            // The function was deleted.
            Err(error) if is_unknown(&error) => HashMap::new(),
            Err(error) => return Err(error.into()),
        };
        Ok(Self { ids, numbers: numbers(state, app, Some(function.clone())).await? })
    }

    pub(crate) fn function_named(&self, id: &str) -> Option<&UnitName> {
        self.ids.iter().find(|(_, (known, _))| *known == id).map(|(name, _)| name)
    }

    pub(crate) fn id(&self, function: &UnitName) -> Value {
        self.ids.get(function).map_or(Value::Null, |(id, _)| id.as_str().into())
    }

    /// Inserts `function_alias`, `function_id` and `function_version`. `version` is the catalog's
    /// number, if the version is fixed. `at` is the time of something that has ended: it refers to
    /// the function that had the name then. If the current function was created later, the id of
    /// the former one is unknown.
    pub(crate) fn tell(
        &self,
        object: &mut Map<String, Value>,
        function: &UnitName,
        selector: &Selector,
        version: Option<i64>,
        at: Option<Timestamp>,
    ) {
        let since = self.ids.get(function).map(|(_, since)| *since);
        let gone = at.zip(since).is_some_and(|(at, since)| at < since);
        let version = version.filter(|_| !gone);
        let number = version.and_then(|version| self.numbers.get(&(function.clone(), version)).copied());
        let (alias, number) = match selector {
            Selector::Latest => (Value::Null, Some(0)),
            Selector::Alias(name) => (name.as_str().into(), number.or(version.map(|_| 0))),
            _ => (Value::Null, number),
        };
        object.insert("function_alias".to_owned(), alias);
        object.insert("function_id".to_owned(), if gone { Value::Null } else { self.id(function) });
        object.insert("function_version".to_owned(), number.map_or(Value::Null, Value::from));
    }

    /// Like [`Names::tell`], for a job or webhook: if it follows an alias, it has no function of
    /// its own.
    pub(crate) fn tell_bound(
        &self,
        object: &mut Map<String, Value>,
        function: &UnitName,
        selector: &Selector,
        version: Option<i64>,
        at: Option<Timestamp>,
    ) {
        self.tell(object, function, selector, version, at);
        if matches!(selector, Selector::Alias(_)) {
            object.insert("function_id".to_owned(), Value::Null);
            object.insert("function_version".to_owned(), 0.into());
        }
    }
}

/// Converts v1 text to an input: a JSON object becomes keyword arguments, anything else stays one
/// text.
pub(crate) fn input(text: Option<String>) -> V1Result<Option<RawJson>> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    check_length(text.len(), MAX_INPUT)?;
    let object = text.trim_start().starts_with('{').then(|| RawJson::parse(text.clone()).ok()).flatten();
    let object = object.filter(|object| object.depth() <= MAX_DEPTH);
    let input = object.unwrap_or_else(|| text.as_str().into());
    check_form(&input)?;
    Ok(Some(input))
}

/// Converts an input back to text. Objects are formatted as in Python, because some scripts compare
/// the text.
pub(crate) fn input_text(input: Option<&RawJson>) -> Value {
    match input {
        None => Value::Null,
        Some(null) if null.is_null() => Value::Null,
        Some(input) => input.to_text().unwrap_or_else(|| input.spaced()).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_become_keyword_arguments_and_the_rest_text() {
        let given = |text: &str| input(Some(text.to_owned())).expect("it is small");
        assert_eq!(given(r#" {"name":  "x"} "#).expect("an object").as_str(), r#"{"name":  "x"}"#);
        for text in ["[1, 2]", "plain", "{broken"] {
            assert_eq!(given(text), Some(text.into()));
        }
        assert_eq!(given(""), None);
        assert!(input(Some("\n".repeat(MAX_INPUT))).is_ok(), "what JSON makes of it is not the caller's");
        assert!(input(Some("x".repeat(MAX_INPUT + 1))).is_err());
        assert_eq!(input_text(given("plain").as_ref()), "plain");
        let (sent, told) = (r#"{"b":[1,2e999],"a":"c:d"}"#, r#"{"b": [1, 2e999], "a": "c:d"}"#);
        assert_eq!(input_text(given(sent).as_ref()), told);
    }
}
