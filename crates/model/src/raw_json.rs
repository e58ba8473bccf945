//! JSON that is passed on verbatim, for values that Milepost does not interpret. Numbers of any
//! size, the order of members and whitespace are preserved.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// One JSON value, as text. Two values are equal if their text is equal.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RawJson(Box<RawValue>);

impl RawJson {
    /// Parses exactly one JSON value and strips the whitespace around it.
    pub fn parse(text: String) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text).map(Self)
    }

    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// The decoded text if the value is a string.
    pub fn to_text(&self) -> Option<String> {
        if self.as_str().starts_with('"') { serde_json::from_str(self.as_str()).ok() } else { None }
    }

    pub fn is_null(&self) -> bool {
        self.as_str() == "null"
    }

    /// Converts to a [`Value`] for inspection. Numbers that a [`Value`] cannot hold exactly are
    /// approximated; a value that it cannot hold at all becomes its text.
    pub fn to_value(&self) -> Value {
        serde_json::from_str(self.as_str()).unwrap_or_else(|_| self.as_str().into())
    }

    /// The maximum nesting of lists and objects. JSON parsers have a depth limit; this text does
    /// not.
    pub fn depth(&self) -> usize {
        let (mut depth, mut deepest) = (0usize, 0);
        for mark in marks(self.as_str()) {
            match mark {
                b'[' | b'{' => {
                    depth += 1;
                    deepest = deepest.max(depth);
                }
                b']' | b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        deepest
    }

    /// The same value in Python's spacing: one space after each comma and colon, and no other
    /// whitespace.
    pub fn spaced(&self) -> String {
        let mut out = String::with_capacity(self.as_str().len() + 16);
        let mut within = Within::default();
        for letter in self.as_str().chars() {
            let outside = !within.string;
            within.pass(letter);
            match letter {
                ' ' | '\t' | '\n' | '\r' if outside => {}
                ',' | ':' if outside => out.extend([letter, ' ']),
                _ => out.push(letter),
            }
        }
        out
    }
}

/// Tracks whether a position in JSON is inside a string.
#[derive(Default)]
struct Within {
    string: bool,
    escaped: bool,
}

impl Within {
    fn pass(&mut self, letter: char) {
        match letter {
            _ if self.escaped => self.escaped = false,
            '\\' => self.escaped = self.string,
            '"' => self.string = !self.string,
            _ => {}
        }
    }
}

/// The bytes outside of strings. Closing quotes are included.
fn marks(json: &str) -> impl Iterator<Item = u8> {
    let mut within = Within::default();
    json.bytes().filter(move |byte| {
        within.pass(char::from(*byte));
        !within.string
    })
}

impl From<Value> for RawJson {
    fn from(value: Value) -> Self {
        // Serialising a `Value` always gives valid JSON.
        Self(RawValue::from_string(value.to_string()).unwrap_or_else(|_| RawValue::NULL.to_owned()))
    }
}

impl From<&str> for RawJson {
    fn from(text: &str) -> Self {
        Value::from(text).into()
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for RawJson {}

impl fmt::Display for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn raw(text: &str) -> RawJson {
        RawJson::parse(text.to_owned()).expect(text)
    }

    #[test]
    fn text_round_trips_verbatim() {
        let text = r#"{"z": 123456789012345678901234567890, "a":  1e999, "z": 0.10, "ü": "\ud83d\ude00\\"}"#;
        assert_eq!(raw(&format!(" {text}\n")).as_str(), text);
        #[derive(Serialize, Deserialize)]
        struct Holder {
            held: Option<RawJson>,
        }
        let holder: Holder = serde_json::from_str(&format!(r#"{{"held": {text} }}"#)).expect("JSON");
        assert_eq!(serde_json::to_string(&holder).expect("JSON"), format!(r#"{{"held":{text}}}"#));
        let none: Holder = serde_json::from_str(r#"{"held": null}"#).expect("JSON");
        assert_eq!(none.held, None);
        let through_a_value: Holder = serde_json::from_value(json!({ "held": { "a": [1] } })).expect("a holder");
        assert_eq!(through_a_value.held, Some(json!({ "a": [1] }).into()));
        for broken in ["", "{", "1 2", "nul", "{'a': 1}", "[1,]"] {
            assert!(RawJson::parse(broken.to_owned()).is_err(), "{broken}");
        }
    }

    #[test]
    fn brackets_and_spaces_in_strings_are_ignored() {
        let odd = raw(r#"{"a\\":[ "b, c: [{\"" ,{ } , [ 1,2 ] ]}"#);
        assert_eq!(odd.spaced(), r#"{"a\\": ["b, c: [{\"", {}, [1, 2]]}"#);
        assert_eq!(odd.depth(), 3);
        assert_eq!((raw("7").depth(), raw(r#""[[""#).depth(), raw(r#""\"[""#).depth()), (0, 0, 0));
        assert_eq!(raw(r#""a\nb""#).to_text().as_deref(), Some("a\nb"));
        assert_eq!((raw("1").to_text(), raw("null").is_null()), (None, true));
        assert_eq!(RawJson::from("a\"b").as_str(), r#""a\"b""#);
        assert_eq!((raw("1e999").to_value(), raw("[1]").to_value()), (json!("1e999"), json!([1])));
    }
}
