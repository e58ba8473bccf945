//! Lists: which projects they include, and the filters of the query.

use std::cmp::Ordering;

use axum::Json;
use axum::http::Uri;
use milepost_model::{AppName, Timestamp};
use serde_json::{Map, Value, json};

use super::fault::{Fault, V1Result};
use super::fields::is_true;
use super::names;
use super::project::Project;
use crate::state::State;

/// Maximum items of a list, because v1 has no pagination.
const MOST: usize = 10_000;
/// A list ends when its texts exceed about this size.
const MOST_BYTES: usize = 32 << 20;
/// Maximum items examined for a list.
const MOST_SEEN: usize = 100_000;
const PAGE: i64 = 1000;
const OPERATORS: [&str; 9] = ["in", "nin", "eq", "neq", "gte", "gt", "lte", "lt", "has"];

/// A parsed list request.
pub(crate) struct Wanted {
    filters: Vec<Filter>,
    all_projects: bool,
    project: Option<AppName>,
}

struct Filter {
    field: String,
    operator: &'static str,
    value: String,
}

impl Wanted {
    /// Parses the query. `fields` are the fields that items of the list have.
    pub(crate) fn read(uri: &Uri, project: &Project, fields: &[&str]) -> V1Result<Self> {
        project.may()?;
        let mut wanted = Self { filters: Vec::new(), all_projects: false, project: None };
        for (name, value) in form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()) {
            match &*name {
                "all_projects" => wanted.all_projects = is_true(&value) == Some(true),
                // Ignored for callers that cannot see other projects: the value is always their
                // own.
                "project_id" if !project.sees_all => {}
                "project_id" => {
                    let filter = Filter::read("project_id", &value);
                    wanted.all_projects = true;
                    if filter.operator == "eq" {
                        wanted.project = filter.value.parse().ok();
                    }
                    wanted.filters.push(filter);
                }
                field if fields.contains(&field) => wanted.filters.push(Filter::read(field, &value)),
                field => return Err(Fault::bad(format!("Unknown argument: \"{field}\""))),
            }
        }
        if wanted.all_projects && !project.sees_all {
            return Err(Fault::forbidden("Operation not allowed: only an administrator may list all projects."));
        }
        Ok(wanted)
    }

    /// The projects to search.
    pub(crate) async fn projects(&self, state: &State, project: &Project) -> V1Result<Vec<AppName>> {
        if !self.all_projects {
            return Ok(vec![project.name.clone()]);
        }
        let mut found = Vec::new();
        let mut after = None;
        loop {
            let page = state.catalog.app_list(after, PAGE).await?;
            found.extend(page.items.into_iter().map(|app| app.name));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        found.retain(|app| self.project.as_ref().is_none_or(|only| only == app));
        Ok(found)
    }

    /// The exact value that the query requires for a field, if any.
    pub(crate) fn exactly(&self, field: &str) -> Option<&str> {
        let filter = self.filters.iter().find(|filter| filter.field == field && filter.operator == "eq")?;
        Some(&filter.value)
    }

    pub(crate) fn takes(&self, object: &Map<String, Value>) -> bool {
        self.filters.iter().all(|filter| filter.takes(object.get(&filter.field).unwrap_or(&Value::Null)))
    }

    /// The response, with the items under the list's name.
    pub(crate) fn answer(&self, name: &str, objects: Vec<Map<String, Value>>) -> Json<Value> {
        let kept: Vec<_> = objects.into_iter().filter(|object| self.takes(object)).take(MOST).collect();
        Json(json!({ name: kept }))
    }
}

/// The result so far of a list that is read in pages.
pub(crate) struct Found<'w> {
    wanted: &'w Wanted,
    /// Items with their creation times.
    objects: Vec<(Timestamp, Map<String, Value>)>,
    bytes: usize,
    seen: usize,
}

impl<'w> Found<'w> {
    pub(crate) fn new(wanted: &'w Wanted) -> Self {
        Self { wanted, objects: Vec::new(), bytes: 0, seen: 0 }
    }

    pub(crate) fn add(&mut self, objects: impl Iterator<Item = (Timestamp, Map<String, Value>)>) {
        for (at, object) in objects {
            self.seen += 1;
            if self.wanted.takes(&object) && !self.is_full() {
                self.bytes += object.values().filter_map(Value::as_str).map(str::len).sum::<usize>();
                self.objects.push((at, object));
            }
        }
    }

    /// Whether a limit is reached. The list then ends, even if there are more items.
    pub(crate) fn is_full(&self) -> bool {
        self.objects.len() >= MOST || self.bytes >= MOST_BYTES || self.seen >= MOST_SEEN
    }

    /// Returns the items oldest first. They are read newest first, so that the limits keep the
    /// newest.
    pub(crate) fn answer(mut self, name: &str) -> Json<Value> {
        self.objects.reverse();
        self.objects.sort_by_key(|(at, _)| *at);
        let objects: Vec<_> = self.objects.into_iter().map(|(_, object)| object).collect();
        Json(json!({ name: objects }))
    }
}

impl Filter {
    fn read(field: &str, text: &str) -> Self {
        // Ids are stored in lower case, but may be requested in any case.
        let lower = matches!(field, "id" | "function_id" | "runtime_id").then(|| text.to_ascii_lowercase());
        let text = lower.as_deref().unwrap_or(text);
        for operator in OPERATORS {
            if let Some(value) = text.strip_prefix(operator).and_then(|rest| rest.strip_prefix(':')) {
                return Self { field: field.to_owned(), operator, value: value.to_owned() };
            }
        }
        Self { field: field.to_owned(), operator: "eq", value: text.to_owned() }
    }

    fn takes(&self, found: &Value) -> bool {
        let order = |value: &str| compare(found, value);
        let is = |value: &str| order(value) == Some(Ordering::Equal);
        let any = || self.value.split(',').any(is);
        match self.operator {
            "in" => any(),
            "nin" => !any(),
            "neq" => !is(&self.value),
            "gt" => order(&self.value) == Some(Ordering::Greater),
            "gte" => order(&self.value).is_some_and(Ordering::is_ge),
            "lt" => order(&self.value) == Some(Ordering::Less),
            "lte" => order(&self.value).is_some_and(Ordering::is_le),
            "has" => text(found).contains(&self.value),
            _ => is(&self.value),
        }
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Returns `None` if the values cannot be compared: null is neither less nor greater than anything.
fn compare(found: &Value, wanted: &str) -> Option<Ordering> {
    match found {
        Value::Null => matches!(wanted, "" | "null" | "None").then_some(Ordering::Equal),
        Value::Bool(flag) => Some(flag.cmp(&is_true(wanted)?)),
        Value::Number(number) => number.as_f64()?.partial_cmp(&wanted.trim().parse::<f64>().ok()?),
        Value::String(found) => match (found.parse::<milepost_model::Timestamp>(), names::read_time(wanted)) {
            (Ok(found), Ok(wanted)) => Some(found.cmp(&wanted)),
            _ => Some(found.as_str().cmp(wanted)),
        },
        other => Some(other.to_string().as_str().cmp(wanted)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(field: Value, filter: &str, taken: bool) {
        assert_eq!(Filter::read("f", filter).takes(&field), taken, "{field} {filter}");
    }

    #[test]
    fn evaluates_all_operators() {
        check(json!("hello"), "hello", true);
        check(json!("hello"), "eq:hello", true);
        check(json!("hello"), "neq:hello", false);
        check(json!("hello"), "in:a,hello", true);
        check(json!("hello"), "nin:a,hello", false);
        check(json!("hello"), "has:ell", true);
        check(json!(5), "gt:4", true);
        check(json!(10), "gt:9", true);
        check(json!(5), "gte:5", true);
        check(json!(5), "lt:5", false);
        check(json!(5), "lte:5", true);
        check(json!(true), "true", true);
        check(json!(null), "neq:x", true);
        check(json!(null), "gt:0", false);
        check(json!("2026-11-15T07:16:34Z"), "lt:2026-11-15 08:00:00", true);
        check(json!("2026-11-15T07:16:34Z"), "2026-11-15T07:16:34Z", true);
        check(json!("a:b"), "a:b", true);
        assert!(Filter::read("function_id", "in:AB,CD").takes(&json!("cd")), "ids in any case");
        assert!(!Filter::read("name", "CD").takes(&json!("cd")));
    }
}
