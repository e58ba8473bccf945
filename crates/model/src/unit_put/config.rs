use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::SpecError;
use crate::spec::ConfigSpec;

/// Either a whole document, or keys to set and unset in the newest one. The merge happens inside
/// the change, so that two users who set two keys at the same time both succeed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConfigPut {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub document: Option<Value>,
    /// Dotted paths (`mail.from`) with their values.
    #[schema(value_type = Object)]
    pub set: BTreeMap<String, Value>,
    pub unset: Vec<String>,
}

impl ConfigPut {
    pub fn resolve(&self, base: Option<&ConfigSpec>) -> Result<ConfigSpec, SpecError> {
        let mut document = match (&self.document, base) {
            (Some(document), _) => document.clone(),
            (None, Some(base)) => base.document.clone(),
            (None, None) => Value::Object(Map::new()),
        };
        let Value::Object(root) = &mut document else {
            let problem = "the configuration must be an object of keys and values";
            return Err(SpecError::new("document", problem, "write `key: value`, one line a key"));
        };
        for (path, value) in &self.set {
            set(root, path, value.clone())?;
        }
        for path in &self.unset {
            if !unset(root, path) {
                let problem = format!("the key `{path}` is not set, so it cannot be unset");
                return Err(SpecError::new("", problem, "name a key that is set"));
            }
        }
        Ok(ConfigSpec { document })
    }
}

fn set(root: &mut Map<String, Value>, path: &str, value: Value) -> Result<(), SpecError> {
    if path.is_empty() || path.split('.').any(str::is_empty) {
        return Err(SpecError::new("", format!("`{path}` is not a key"), "write it like `mail.from`"));
    }
    match path.split_once('.') {
        None => {
            root.insert(path.to_owned(), value);
            Ok(())
        }
        Some((key, rest)) => {
            let inner = root.entry(key.to_owned()).or_insert_with(|| Value::Object(Map::new()));
            match inner {
                Value::Object(inner) => set(inner, rest, value),
                _ => Err(SpecError::new(
                    "",
                    format!("the key `{key}` has a plain value, so `{path}` cannot be set below it"),
                    format!("unset `{key}` first"),
                )),
            }
        }
    }
}

fn unset(root: &mut Map<String, Value>, path: &str) -> bool {
    match path.split_once('.') {
        None => root.remove(path).is_some(),
        Some((key, rest)) => match root.get_mut(key) {
            Some(Value::Object(inner)) => unset(inner, rest),
            _ => false,
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(base: Value, set: &[(&str, Value)], unset: &[&str], expected: Value) {
        let put = ConfigPut {
            document: None,
            set: set.iter().map(|(path, value)| ((*path).to_owned(), value.clone())).collect(),
            unset: unset.iter().map(|path| (*path).to_owned()).collect(),
        };
        let resolved = put.resolve(Some(&ConfigSpec { document: base })).expect("resolves");
        assert_eq!(resolved.document, expected);
    }

    #[test]
    fn keys_are_set_and_unset_by_dotted_path() {
        check(json!({"a": 1}), &[("b.c", json!(2))], &[], json!({"a": 1, "b": {"c": 2}}));
        check(json!({"a": {"x": 1, "y": 2}}), &[], &["a.x"], json!({"a": {"y": 2}}));
    }

    #[test]
    fn a_plain_value_is_not_silently_replaced_by_an_object() {
        let put = ConfigPut { set: [("a.b".to_owned(), json!(1))].into(), ..ConfigPut::default() };
        assert!(put.resolve(Some(&ConfigSpec { document: json!({"a": 1}) })).is_err());
    }
}
