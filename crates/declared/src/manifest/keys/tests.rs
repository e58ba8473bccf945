use std::fmt::Write as _;

use boon::{Compiler, SchemaIndex, Schemas};
use milepost_model::spec::FunctionSpec;
use milepost_model::{AppName, UnitKind, UnitName};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::schema::{modeline, schema};
use super::{FUNCTION_KEYS, Form, KeySpec, MANIFEST, Rule, SCALE_KEYS, TABLES, Table};
use crate::manifest::tests::{mistakes_of, parse};
use crate::testing::function;
use crate::yaml::Documents;
use crate::{Problem, checks};

/// A JSON schema validator that knows nothing of this crate.
pub struct Validator {
    schemas: Schemas,
    root: SchemaIndex,
}

impl Validator {
    pub fn compiled() -> Self {
        const URL: &str = "https://milepost.test/schema.json";
        let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
        compiler.add_resource(URL, schema()).expect("a resource");
        let root = compiler.compile(URL, &mut schemas).expect("a valid schema");
        Self { schemas, root }
    }

    pub fn check(&self, document: &Value) -> Result<(), String> {
        self.schemas.validate(document, self.root).map_err(|error| format!("{error:#}"))
    }

    /// None if the text is not a single YAML document, which a schema cannot check.
    pub fn check_text(&self, text: &str) -> Option<Result<(), String>> {
        let documents = Documents::parse(text).ok().filter(|documents| documents.repeated.is_empty())?;
        let [node] = documents.nodes.as_slice() else { return None };
        Some(self.check(&node.to_json()))
    }
}

/// Whether a mistake is one that a schema can see: a wrong key or a value of the wrong type.
pub fn is_structural(problem: &Problem) -> bool {
    const SAYS: [&str; 11] = [
        "unknown key",
        " has no `",
        " has no source",
        " has both `",
        " must be a ",
        " must be `true`",
        " must be the name of",
        " must be one line",
        " must set its path",
        " has no name",
        " is not a route",
    ];
    SAYS.iter().any(|says| problem.message.contains(says))
}

/// Checks that the JSON schema accepts what the reader accepts, and refuses structural mistakes.
#[track_caller]
pub fn check_schema(text: &str, errors: &[Problem]) {
    let verdict = Validator::compiled().check_text(text);
    match verdict {
        Some(Err(error)) if errors.is_empty() => panic!("the schema refuses a valid manifest: {error}\n{text}"),
        Some(Ok(())) if errors.iter().any(is_structural) => {
            panic!("the schema accepts {errors:?}\n{text}")
        }
        _ => {}
    }
}

fn examples() -> Vec<(&'static Table, Value)> {
    let read = |table: &'static Table| {
        let nodes = Documents::parse(table.example).expect("YAML").nodes;
        (table, nodes[0].to_json())
    };
    TABLES.into_iter().map(read).collect()
}

/// A key in a document: the path of its map, and the key's table.
struct Place {
    map: String,
    key: String,
    table: &'static Table,
}

/// Finds every key of every table in a document.
fn places(table: &'static Table, map: &str, value: &Value, found: &mut Vec<Place>) {
    let Value::Object(entries) = value else { return };
    for (name, value) in entries {
        let Some(key) = table.keys.iter().find(|key| key.name == name) else { continue };
        found.push(Place { map: map.to_owned(), key: name.clone(), table });
        below(key.form, &format!("{map}/{name}"), value, found);
    }
}

fn below(form: Form, at: &str, value: &Value, found: &mut Vec<Place>) {
    let items =
        || value.as_array().into_iter().flatten().enumerate().map(|(number, item)| (format!("{at}/{number}"), item));
    match form {
        Form::One(table) | Form::TextOr(table) => places(table, at, value, found),
        Form::Map(table) | Form::ShortMap(table, _) => {
            for (name, value) in value.as_object().into_iter().flatten() {
                places(table, &format!("{at}/{name}"), value, found);
            }
        }
        Form::List(table) => items().for_each(|(at, item)| places(table, &at, item, found)),
        Form::Routes(route, whole) => items().for_each(|(at, item)| {
            if item.get("path").is_some() {
                return places(whole, &at, item, found);
            }
            for (line, value) in item.as_object().into_iter().flatten() {
                places(route, &format!("{at}/{}", line.replace('/', "~1")), value, found);
            }
        }),
        _ => {}
    }
}

fn entries<'v>(document: &'v mut Value, place: &Place) -> &'v mut Map<String, Value> {
    document.pointer_mut(&place.map).and_then(Value::as_object_mut).expect("a map")
}

fn places_in(document: &Value) -> Vec<Place> {
    let mut found = Vec::new();
    places(&MANIFEST, "", document, &mut found);
    found
}

/// Changes a document at each of its keys, and checks that reader and schema refuse the result.
fn both_refuse(change: impl Fn(&mut Map<String, Value>, &Place) -> bool) {
    let validator = Validator::compiled();
    let mut wrong = String::new();
    let mut count = 0;
    for (_, document) in examples() {
        for place in places_in(&document) {
            let mut changed = document.clone();
            if !change(entries(&mut changed, &place), &place) {
                continue;
            }
            count += 1;
            let by_reader = !mistakes_of(&changed.to_string()).is_empty();
            let by_schema = validator.check(&changed).is_err();
            if !by_reader || !by_schema {
                let _ = writeln!(wrong, "`{}` in `{}`: reader {by_reader}, schema {by_schema}", place.key, place.map);
            }
        }
    }
    assert!(wrong.is_empty(), "not refused by both:\n{wrong}");
    assert!(count > 5, "{count} changes");
}

#[test]
fn every_key_is_in_an_example_that_reader_and_schema_accept() {
    let validator = Validator::compiled();
    let mut seen = Vec::new();
    for (table, document) in examples() {
        let mistakes = mistakes_of(table.example);
        assert!(mistakes.is_empty(), "{}: {mistakes:?}", table.title);
        validator.check(&document).unwrap_or_else(|error| panic!("{}: {error}", table.title));
        seen.extend(places_in(&document).into_iter().map(|place| (place.table.title, place.key)));
    }
    for table in TABLES {
        for key in table.keys {
            // A route that is a map has the keys of the other form too.
            let is_shared =
                table.title == super::WHOLE_ROUTE.title && super::ROUTE_KEYS.iter().any(|known| known.name == key.name);
            let is_seen = seen.iter().any(|(title, name)| *title == table.title && name == key.name);
            // `environments`, `packages`, `static` and `timers` have examples of their own.
            assert!(is_seen || is_shared, "no example has `{}` of {}", key.name, table.title);
        }
    }
}

#[test]
fn reader_and_schema_refuse_the_same_unknown_keys() {
    both_refuse(|map, place| {
        let value = map.remove(&place.key).expect("the key");
        map.insert(format!("x{}x", place.key), value);
        true
    });
}

#[test]
fn reader_and_schema_refuse_values_of_the_wrong_type() {
    both_refuse(|map, place| {
        map.insert(place.key.clone(), json!([[1]]));
        true
    });
}

#[test]
fn reader_and_schema_refuse_the_same_missing_keys() {
    both_refuse(|map, place| place.table.is_required(&place.key) && map.remove(&place.key).is_some());
}

#[test]
fn reader_and_schema_refuse_the_same_combinations() {
    let examples = examples();
    for table in TABLES {
        for rule in table.rules {
            let (missing, given) = match *rule {
                Rule::Required(_) => continue,
                Rule::OneOf(one, other) => (vec![one, other], None),
                Rule::NotBoth(one, other) => (vec![], Some((one, other))),
                Rule::Needs(key, needed) => (vec![needed], Some((key, key))),
            };
            let broken = examples.iter().flat_map(|(_, document)| {
                let places = places_in(document).into_iter().filter(|place| place.table.title == table.title);
                places.map(|place| {
                    let mut changed = document.clone();
                    let map = entries(&mut changed, &place);
                    missing.iter().for_each(|key| drop(map.remove(*key)));
                    if let Some((one, other)) = given {
                        for key in [one, other] {
                            map.entry(key)
                                .or_insert_with(|| json!(if matches!(key, "version") { "v1" } else { "hello" }));
                        }
                    }
                    changed
                })
            });
            let broken: Vec<Value> = broken.collect();
            assert!(!broken.is_empty(), "{}: no example to break", table.title);
            let validator = Validator::compiled();
            for document in broken {
                assert!(
                    validator.check(&document).is_err(),
                    "{rule:?} of {}: the schema accepts {document}",
                    table.title
                );
                let mistakes = mistakes_of(&document.to_string());
                assert!(
                    mistakes.iter().any(is_structural),
                    "{rule:?} of {}: the reader accepts {document}",
                    table.title
                );
            }
        }
    }
}

#[test]
fn reader_accepts_every_listed_choice() {
    for (table, key) in TABLES.iter().flat_map(|table| table.keys.iter().map(move |key| (*table, key))) {
        let Form::Choice(choices) = key.form else { continue };
        for choice in choices {
            let text = match table.title {
                "environments" => format!("environments: {{ e: {{ runtime: {choice} }} }}"),
                _ => format!("functions: {{ f: {{ package: p, {}: {choice} }} }}", key.name),
            };
            assert_eq!(mistakes_of(&text), [], "{text}");
        }
    }
}

#[test]
fn listed_defaults_are_the_defaults() {
    let spec = |fields: &str| -> FunctionSpec {
        let declared = parse(&format!("functions: {{ f: {{ package: p{fields} }} }}")).expect("a manifest");
        checks::spec_of(function(&declared, "f"))
    };
    let given = |keys: &[KeySpec]| {
        let plain = |key: &KeySpec| {
            let default = key.default.strip_prefix('`')?.strip_suffix('`')?;
            Some(format!("{}: {default}", key.name))
        };
        keys.iter().filter_map(plain).collect::<Vec<_>>().join(", ")
    };
    let (fields, scale) = (given(&FUNCTION_KEYS), given(&SCALE_KEYS));
    assert_eq!(fields, "permission: public, memory: 128Mi, cpu: 1000, timeout: 60s");
    assert_eq!(scale.matches(": ").count(), SCALE_KEYS.len());
    assert_eq!(spec(&format!(", {fields}, scale: {{ {scale} }}")), spec(""));
    assert_ne!(spec(", memory: 64Mi"), spec(""));
}

#[test]
fn descriptions_have_no_links() {
    let text = schema().to_string();
    assert!(text.contains("See Schedules.") && text.contains("See Entrypoint for"), "{text}");
    assert!(!text.contains("]("), "{text}");
}

#[test]
fn modeline_does_not_change_a_manifest() {
    let text = format!("{}{}", modeline(), MANIFEST.example);
    assert_eq!(mistakes_of(&text), []);
    assert!(Validator::compiled().check_text(&text).expect("one document").is_ok());
}

proptest! {
    #[test]
    fn names_match_the_patterns_of_the_schema(app in "[a-zA-Z0-9_.-]{0,42}|latest|live|all", unit in "[a-zA-Z0-9_./ -]{0,65}") {
        let validator = Validator::compiled();
        prop_assert_eq!(validator.check(&json!({ "app": app })).is_ok(), app.parse::<AppName>().is_ok());
        let document = json!({ "functions": { unit.clone(): { "package": "p" } } });
        prop_assert_eq!(validator.check(&document).is_ok(), UnitName::for_kind(UnitKind::Function, &unit).is_ok());
    }
}
