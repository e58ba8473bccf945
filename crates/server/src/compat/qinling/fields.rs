//! JSON bodies. Null counts as absent, because clients send null for options that were not given.

use std::fmt;

use axum::extract::Request;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::fault::{Fault, V1Result};
use super::unread::{read_all, unreadable};
use crate::executions::limits::check_text;

/// Fits the largest input with every character escaped, and the other fields.
const MAX_BODY: usize = 8 << 20;
/// More fields than any call has.
const MOST_FIELDS: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Fields(Map<String, Value>);

pub(super) async fn read(request: Request) -> V1Result<Fields> {
    let bytes = read_all(request, MAX_BODY).await?;
    if bytes.is_empty() { Ok(Fields::default()) } else { parse(&bytes) }
}

pub(super) fn parse(json: &[u8]) -> V1Result<Fields> {
    let object: Object = serde_json::from_slice(json).map_err(|error| unreadable(&error.to_string()))?;
    Fields::of(object.0)
}

/// A JSON object of which only plain values are kept. An array of zeros takes sixteen times as much
/// memory as on the wire, and no call accepts one.
struct Object(Map<String, Value>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Object;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Object, A::Error> {
                let mut found = Map::new();
                while let Some((name, Plain(value))) = members.next_entry::<String, Plain>()? {
                    if found.len() >= MOST_FIELDS && !found.contains_key(&name) {
                        return Err(serde::de::Error::custom(format_args!("it has more than {MOST_FIELDS} fields")));
                    }
                    found.insert(name, value);
                }
                Ok(Object(found))
            }
        }
        from.deserialize_map(Members)
    }
}

struct Plain(Value);

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Plain;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("a value")
            }

            fn visit_bool<E>(self, value: bool) -> Result<Plain, E> {
                Ok(Plain(value.into()))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Plain, E> {
                Ok(Plain(value.into()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Plain, E> {
                Ok(Plain(value.into()))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Plain, E> {
                Ok(Plain(Number::from_f64(value).map_or(Value::Null, Value::Number)))
            }

            fn visit_str<E>(self, value: &str) -> Result<Plain, E> {
                Ok(Plain(value.into()))
            }

            fn visit_unit<E>(self) -> Result<Plain, E> {
                Ok(Plain(Value::Null))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Plain, A::Error> {
                while items.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Plain(Value::Array(Vec::new())))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Plain, A::Error> {
                while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Plain(Value::Object(Map::new())))
            }
        }
        from.deserialize_any(Any)
    }
}

impl Fields {
    /// Rejects NUL characters, which databases cannot store.
    pub(super) fn of(fields: Map<String, Value>) -> V1Result<Self> {
        if let Some((name, _)) = fields.iter().find(|(_, value)| value.as_str().is_some_and(|text| text.contains('\0')))
        {
            return Err(Fault::bad(format!("The field {name} holds the letter NUL, which no text can have.")));
        }
        Ok(Self(fields.into_iter().filter(|(_, value)| !value.is_null()).collect()))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(crate) fn text(&self, name: &str) -> V1Result<Option<String>> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(wrong(name, other, "a string")),
        }
    }

    /// A name or description, which is shorter because it appears in every list.
    pub(crate) fn short_text(&self, name: &str) -> V1Result<Option<String>> {
        let text = self.text(name)?;
        check_text(name, text.as_deref().unwrap_or_default())?;
        Ok(text)
    }

    /// Accepts strings of digits, because forms have only text.
    pub(crate) fn int(&self, name: &str) -> V1Result<Option<i64>> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::Number(number)) if number.is_i64() => Ok(number.as_i64()),
            Some(Value::String(text)) if text.trim().parse::<i64>().is_ok() => Ok(text.trim().parse().ok()),
            Some(other) => Err(wrong(name, other, "an integer")),
        }
    }

    pub(crate) fn flag(&self, name: &str) -> V1Result<Option<bool>> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(Value::String(text)) if is_true(text).is_some() => Ok(is_true(text)),
            Some(other) => Err(wrong(name, other, "a boolean")),
        }
    }
}

/// Parses a flag as OpenStack does.
pub(crate) fn is_true(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" | "t" | "y" => Some(true),
        "false" | "0" | "no" | "off" | "f" | "n" | "" => Some(false),
        _ => None,
    }
}

fn wrong(name: &str, value: &Value, wanted: &str) -> Fault {
    let shown: String = match value {
        Value::Array(_) => "[…]".to_owned(),
        Value::Object(_) => "{…}".to_owned(),
        other => other.to_string().chars().take(80).collect(),
    };
    Fault::bad(format!("Invalid input for field/attribute {name}. Value: '{shown}'. It must be {wanted}."))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keeps_only_plain_values() {
        let text = r#"{"a": [0, [1, {"b": 2}]], "c": {"d": []}, "e": "f", "g": 1, "h": -1.5, "i": true, "j": null}"#;
        let Object(found) = serde_json::from_str(text).expect("it is an object");
        let wanted = json!({ "a": [], "c": {}, "e": "f", "g": 1, "h": -1.5, "i": true, "j": null });
        assert_eq!(Value::Object(found), wanted);
        assert!(serde_json::from_str::<Object>("[1]").is_err());
        assert!(serde_json::from_str::<Object>("{nonsense").is_err());
        let many: Vec<String> = (0..=MOST_FIELDS).map(|at| format!("\"f{at}\": 0")).collect();
        assert!(serde_json::from_str::<Object>(&format!("{{{}}}", many.join(", "))).is_err());
    }

    #[test]
    fn rejects_nul_characters() {
        assert!(Fields::of([("a".to_owned(), json!("b\0"))].into_iter().collect()).is_err());
    }
}
