//! The JSON schema of `milepost.yaml`, draft 7, which editors with a YAML language server read.
//!
//! It accepts every manifest that the reader accepts, and refuses mistakes of structure: unknown and
//! missing keys, keys that exclude each other, and values of the wrong type.

use serde_json::{Map, Value, json};

use super::{Form, KeySpec, MANIFEST, Rule, Table};
use crate::manifest::{FILE_NAME, SCHEMA_PATH};

const APP_NAME: &str = "^[a-z0-9]+(-[a-z0-9]+)*$";
const UNIT_NAME: &str = "^[A-Za-z0-9_][A-Za-z0-9_.-]*$";
const MEMORY: &str = "^[0-9]+(B|k|K|Ki|M|Mi|G|Gi)?$";
/// `GET,POST /path`, or only the path.
const METHODS_AND_PATH: &str = "^(\\S+\\s+)?/";

/// The whole schema.
pub fn schema() -> Value {
    let mut schema = of_table(&MANIFEST);
    schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    schema["title"] = json!(FILE_NAME);
    schema
}

/// The line by which editors find the schema that `milepost init` writes.
pub fn modeline() -> String {
    format!("# yaml-language-server: $schema={SCHEMA_PATH}\n")
}

/// What a key accepts, in Markdown.
pub fn type_name(form: Form) -> String {
    let link = |table: &Table| format!("[{0}](#{1})", table.title, table.title.replace(", ", "-").replace(' ', "-"));
    match form {
        Form::Text => "string".to_owned(),
        Form::Pattern(_) => "semantic version".to_owned(),
        Form::AppName => "name of an app".to_owned(),
        Form::Choice(choices) => {
            let choices: Vec<String> = choices.iter().map(|choice| format!("`{choice}`")).collect();
            match choices.split_last() {
                Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
                _ => choices.concat(),
            }
        }
        Form::Flag => "`true` or `false`".to_owned(),
        Form::Count => "whole number".to_owned(),
        Form::Memory => "amount, such as `128Mi`".to_owned(),
        Form::Duration => "duration, such as `10s`".to_owned(),
        Form::UrlPath => "path that starts with `/`".to_owned(),
        Form::Texts => "list of strings, or one string".to_owned(),
        Form::Values => "map of strings".to_owned(),
        Form::Free => "map".to_owned(),
        Form::One(table) => format!("map, see {}", link(table)),
        Form::TextOr(table) => format!("string, or map, see {}", link(table)),
        Form::Map(table) | Form::ShortMap(table, _) => format!("map, see {}", link(table)),
        Form::List(table) | Form::Routes(table, _) => format!("list, see {}", link(table)),
    }
}

fn of_table(table: &Table) -> Value {
    let mut schema = of_keys(table.keys, &[]);
    let required: Vec<&str> = table.keys.iter().map(|key| key.name).filter(|key| table.is_required(key)).collect();
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    let mut all = Vec::new();
    let mut needs = Map::new();
    for rule in table.rules {
        match *rule {
            Rule::Required(_) => {}
            Rule::OneOf(one, other) => all.push(json!({ "anyOf": [{ "required": [one] }, { "required": [other] }] })),
            Rule::NotBoth(one, other) => all.push(json!({ "not": { "required": [one, other] } })),
            Rule::Needs(key, needed) => drop(needs.insert(key.to_owned(), json!([needed]))),
        }
    }
    if !all.is_empty() {
        schema["allOf"] = json!(all);
    }
    if !needs.is_empty() {
        schema["dependencies"] = needs.into();
    }
    schema["description"] = json!(without_links(table.about));
    schema
}

/// A map with these keys, and values under other names that match a pattern.
fn of_keys(keys: &[KeySpec], patterns: &[(&str, Value)]) -> Value {
    let properties: Map<String, Value> = keys.iter().map(|key| (key.name.to_owned(), of_key(key))).collect();
    let mut schema = json!({ "type": "object", "additionalProperties": false });
    if !properties.is_empty() {
        schema["properties"] = properties.into();
    }
    if !patterns.is_empty() {
        schema["patternProperties"] = patterns.iter().map(|(text, of)| ((*text).to_owned(), of.clone())).collect();
    }
    schema
}

fn of_key(key: &KeySpec) -> Value {
    let mut schema = of_form(key.form);
    let default = if key.default.is_empty() { String::new() } else { format!("\n\nDefault: {}.", key.default) };
    schema["description"] = json!(without_links(&format!("{} {}{default}", key.about, key.purpose)));
    schema
}

/// Replaces links by their text: in an editor, relative ones lead nowhere.
fn without_links(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        plain.push_str(before);
        match link.split_once("](").and_then(|(shown, link)| Some((shown, link.split_once(')')?.1))) {
            Some((shown, after)) => {
                plain.push_str(shown);
                rest = after;
            }
            None => {
                plain.push('[');
                rest = link;
            }
        }
    }
    plain + rest
}

/// The types of a value that is read as it is written.
fn scalar() -> Value {
    json!(["string", "number", "boolean"])
}

fn of_form(form: Form) -> Value {
    match form {
        Form::Text => json!({ "type": scalar() }),
        Form::Pattern(pattern) => json!({ "type": "string", "pattern": pattern }),
        Form::AppName => json!({
            "type": scalar(),
            "pattern": APP_NAME,
            "maxLength": 40,
            "not": { "enum": milepost_model::name::RESERVED },
        }),
        Form::Choice(choices) => json!({ "enum": choices }),
        Form::Flag => json!({ "type": ["boolean", "null"] }),
        Form::Count => json!({ "type": ["integer", "string"], "minimum": 0, "pattern": "^\\+?[0-9]+$" }),
        Form::Memory => json!({ "type": ["integer", "string"], "minimum": 0, "pattern": MEMORY }),
        Form::Duration => json!({ "type": ["integer", "string"], "minimum": 0, "minLength": 1 }),
        Form::UrlPath => json!({ "type": "string", "pattern": "^/" }),
        // A key without a value is an empty list or map.
        Form::Texts => {
            json!({ "type": ["array", "null", "string", "number", "boolean"], "items": { "type": scalar() } })
        }
        Form::Values => json!({ "type": ["object", "null"], "additionalProperties": { "type": scalar() } }),
        Form::Free => json!({ "type": ["object", "null"] }),
        Form::One(table) => or_null(of_table(table)),
        Form::TextOr(table) => json!({ "anyOf": [{ "type": scalar(), "minLength": 1 }, of_table(table)] }),
        Form::Map(table) => named(&of_table(table)),
        Form::ShortMap(table, short) => named(&json!({ "anyOf": [of_key(short), of_table(table)] })),
        Form::List(table) => json!({ "type": ["array", "null"], "items": of_table(table) }),
        Form::Routes(route, whole) => {
            let target = json!({ "anyOf": [{ "type": scalar() }, of_table(route)] });
            let mut line = of_keys(&[], &[(METHODS_AND_PATH, target)]);
            line["minProperties"] = json!(1);
            line["maxProperties"] = json!(1);
            line["description"] = json!(route.about);
            json!({ "type": ["array", "null"], "items": { "anyOf": [line, of_table(whole)] } })
        }
    }
}

/// A map of user-defined names.
fn named(item: &Value) -> Value {
    json!({
        "type": ["object", "null"],
        "propertyNames": { "pattern": UNIT_NAME, "maxLength": 63 },
        "additionalProperties": item,
    })
}

fn or_null(mut schema: Value) -> Value {
    schema["type"] = json!(["object", "null"]);
    schema
}
