//! YAML in which every key and value has its line, for use in error messages.

use std::collections::HashMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_saphyr::Spanned;
use serde_saphyr::options::DuplicateKeyPolicy;

/// Large enough for a comment of any realistic length.
const COMMENT_LINES: usize = 100_000;

#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub line: u64,
    pub content: Content,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    Null,
    /// A boolean, a number or a string, and its source text: `1.10` is the string `1.10` where a
    /// string is expected.
    Scalar(Value, String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    pub line: u64,
    pub text: String,
}

/// Why a text could not be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotYaml {
    pub line: u64,
    pub message: String,
    pub hint: Option<&'static str>,
}

/// The non-empty documents of a text, and its duplicate keys. Duplicates are errors, but do not
/// keep the rest from being checked.
#[derive(Debug, Default)]
pub struct Documents {
    pub nodes: Vec<Node>,
    pub repeated: Vec<Repeated>,
}

/// A duplicate key of a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repeated {
    pub key: String,
    pub line: u64,
    pub first: u64,
}

impl Documents {
    pub fn parse(text: &str) -> Result<Self, NotYaml> {
        let read = |repeats| -> Result<Vec<Spanned<Raw>>, serde_saphyr::Error> {
            serde_saphyr::from_multiple_with_options(text, options(repeats))
        };
        let nodes = |raw: Vec<Spanned<Raw>>| raw.into_iter().map(|raw| Node::from_raw(raw, text)).collect::<Vec<_>>();
        let error = match read(DuplicateKeyPolicy::Error) {
            Ok(raw) => return Ok(Self { nodes: nodes(raw), repeated: Vec::new() }),
            Err(error) => error,
        };
        if matches!(error.without_snippet(), serde_saphyr::Error::DuplicateMappingKey { .. }) {
            // These maps keep all their entries.
            let nodes = nodes(read(DuplicateKeyPolicy::LastWins).map_err(|error| reason(&error))?);
            let mut repeated = Vec::new();
            nodes.iter().for_each(|node| node.find_repeated(&mut repeated));
            if !repeated.is_empty() {
                return Ok(Self { nodes, repeated });
            }
        }
        let reason = reason(&error);
        Err(match tab_in_front(text, reason.line) {
            // The parser may stop before the line with the tab.
            Some(line) if ["tabs disallowed", "found a tab"].iter().any(|says| reason.message.contains(says)) => {
                NotYaml {
                    line,
                    message: "YAML cannot be indented with tabs".to_owned(),
                    hint: Some("indent with spaces"),
                }
            }
            Some(_) => NotYaml { hint: Some("a line here starts with a tab: indent with spaces"), ..reason },
            None => reason,
        })
    }
}

/// Returns which of this line and the next starts with a tab, which is invisible to users.
fn tab_in_front(text: &str, line: u64) -> Option<u64> {
    [line, line + 1].into_iter().find(|line| {
        let text = usize::try_from(*line).ok().and_then(|line| text.lines().nth(line.checked_sub(1)?)).unwrap_or("");
        let words = text.trim_start();
        !words.is_empty() && text[..text.len() - words.len()].contains('\t')
    })
}

impl Node {
    fn find_repeated(&self, found: &mut Vec<Repeated>) {
        match &self.content {
            Content::Null | Content::Scalar(..) => {}
            Content::List(items) => items.iter().for_each(|item| item.find_repeated(found)),
            Content::Map(entries) => {
                let mut seen: HashMap<&str, u64> = HashMap::new();
                for (key, value) in entries {
                    match seen.get(key.text.as_str()) {
                        Some(&first) => found.push(Repeated { key: key.text.clone(), line: key.line, first }),
                        None => drop(seen.insert(&key.text, key.line)),
                    }
                    value.find_repeated(found);
                }
            }
        }
    }

    fn from_raw(raw: Spanned<Raw>, text: &str) -> Self {
        let content = match raw.value {
            Raw::Null => Content::Null,
            Raw::Scalar(value) => {
                let span = raw.referenced.span();
                let written = match (&value, span.byte_offset(), span.byte_len()) {
                    (Value::String(value), ..) => value.clone(),
                    (_, Some(from), Some(length)) => {
                        let (from, length) = (from as usize, length as usize);
                        text.get(from..from + length).map_or_else(|| value.to_string(), |text| text.trim().to_owned())
                    }
                    _ => value.to_string(),
                };
                Content::Scalar(value, written)
            }
            Raw::List(items) => Content::List(items.into_iter().map(|item| Self::from_raw(item, text)).collect()),
            Raw::Map(entries) => Content::Map(
                entries
                    .into_iter()
                    .map(|(key, value)| {
                        let key = Key { line: key.referenced.line(), text: key.value.0 };
                        (key, Self::from_raw(value, text))
                    })
                    .collect(),
            ),
        };
        Self { line: raw.referenced.line(), content }
    }

    /// The type of the value, for error messages.
    pub fn kind(&self) -> &'static str {
        match &self.content {
            Content::Null => "empty",
            Content::Scalar(Value::Bool(_), _) => "a boolean",
            Content::Scalar(Value::Number(_), _) => "a number",
            Content::Scalar(..) => "a string",
            Content::List(_) => "a list",
            Content::Map(_) => "a map",
        }
    }

    /// Whether it is a map, or a list that should be one.
    pub fn has_keys(&self) -> bool {
        match &self.content {
            Content::Map(_) => true,
            Content::List(items) => items.iter().any(|item| matches!(item.content, Content::Map(_))),
            Content::Null | Content::Scalar(..) => false,
        }
    }

    /// All text in the value, whatever its form.
    pub fn words(&self) -> String {
        match &self.content {
            Content::Null => String::new(),
            Content::Scalar(_, text) => text.clone(),
            Content::List(items) => items.iter().map(Self::words).collect::<Vec<_>>().join("\n"),
            Content::Map(entries) => {
                let words = entries.iter().map(|(key, value)| format!("{}\n{}", key.text, value.words()));
                words.collect::<Vec<_>>().join("\n")
            }
        }
    }

    /// Whether the value is more than the empty defaults that tools write.
    pub fn says_something(&self) -> bool {
        match &self.content {
            Content::Null => false,
            Content::Scalar(Value::Bool(value), _) => *value,
            Content::Scalar(Value::Number(number), _) => number.as_f64() != Some(0.0),
            Content::Scalar(_, text) => !text.is_empty(),
            Content::List(items) => items.iter().any(Self::says_something),
            Content::Map(entries) => entries.iter().any(|(_, value)| value.says_something()),
        }
    }

    /// Converts to JSON, for documents with user-defined keys.
    pub fn to_json(&self) -> Value {
        match &self.content {
            Content::Null => Value::Null,
            Content::Scalar(value, _) => value.clone(),
            Content::List(items) => Value::Array(items.iter().map(Self::to_json).collect()),
            Content::Map(entries) => {
                Value::Object(entries.iter().map(|(key, value)| (key.text.clone(), value.to_json())).collect())
            }
        }
    }
}

fn options(repeats: DuplicateKeyPolicy) -> serde_saphyr::Options {
    serde_saphyr::options! {
        duplicate_keys: repeats,
        budget: serde_saphyr::budget! { max_buffered_comment_events: COMMENT_LINES },
        with_snippet: false,
    }
}

/// Rewrites a parser error: removes the location, which is shown in front, and the advice for
/// programmers.
fn reason(error: &serde_saphyr::Error) -> NotYaml {
    let line = error.location().map_or(1, |location| location.line());
    let plain = |message: String| NotYaml { line, message, hint: None };
    match error {
        serde_saphyr::Error::DuplicateMappingKey { key: Some(key), .. } => plain(format!("duplicate key `{key}`")),
        other => {
            let message = other.to_string();
            let first = message.lines().next().unwrap_or(&message);
            let first = first.strip_prefix("error: ").unwrap_or(first);
            let bare =
                first.strip_prefix("line ").and_then(|rest| rest.split_once(": ")).map_or(first, |(_, rest)| rest);
            let message = bare.rfind(" at line ").map_or(bare, |at| &bare[..at]).to_owned();
            NotYaml { line, message, hint: Some("check the YAML syntax on this line") }
        }
    }
}

enum Raw {
    Null,
    Scalar(Value),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<KeyText>, Spanned<Raw>)>),
}

/// A key may be written as a number; its text is used.
struct KeyText(String);

impl<'de> Deserialize<'de> for KeyText {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from).map(Self)
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Raw, D::Error> {
        Raw::deserialize(from)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Scalar(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Scalar(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Scalar(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Raw, E> {
        // JSON cannot represent NaN and the infinities.
        let number = serde_json::Number::from_f64(value)
            .ok_or_else(|| E::custom("this number cannot be represented in JSON"))?;
        Ok(Raw::Scalar(number.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::Scalar(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Raw, A::Error> {
        let mut found = Vec::new();
        while let Some(item) = items.next_element()? {
            found.push(item);
        }
        Ok(Raw::List(found))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Raw, A::Error> {
        let mut found = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            found.push(entry);
        }
        Ok(Raw::Map(found))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn one(text: &str) -> Node {
        Documents::parse(text).expect("YAML").nodes.into_iter().next().expect("a document")
    }

    #[test]
    fn duplicate_keys_are_reported_and_hide_nothing() {
        let documents = Documents::parse("a: 1\nb: {x: 1, x: 2}\n---\nc:\n- d: 1\n  d: 2\nc: 3\n").expect("YAML");
        let repeated: Vec<_> =
            documents.repeated.iter().map(|found| (found.key.as_str(), found.line, found.first)).collect();
        assert_eq!(repeated, [("x", 2, 2), ("d", 6, 5), ("c", 7, 4)]);
        assert_eq!(documents.nodes.len(), 2);
    }

    #[test]
    fn reports_the_line_with_a_tab() {
        let error_of = |text: &str| Documents::parse(text).expect_err("not YAML");
        for text in ["a:\n\tb: 1\n", "a:\n\t- x\n", "a: {\n\tb: 1\n", "a: b\n\tc: 1\n"] {
            let error = error_of(text);
            assert_eq!((error.line, error.message.as_str()), (2, "YAML cannot be indented with tabs"), "{text:?}");
        }
        // The tab may also be unrelated to the error.
        let error = error_of("a: b: c\n\td: 1\n");
        assert!(error.hint.is_some_and(|hint| hint.contains("tab")), "{error:?}");
        assert_eq!((error.line, error.message), (1, error_of("a: b: c\n").message));
        assert_eq!(error_of("a: b: c\n\t\nd: 1\n").hint, error_of("a: b: c\n").hint);
    }

    #[test]
    fn every_value_and_key_has_its_line() {
        let node = one("a: 1\nb:\n  - x\n  - {c: 1.10}\n");
        let Content::Map(entries) = &node.content else { panic!("a map") };
        assert_eq!(entries[1].0, Key { line: 2, text: "b".to_owned() });
        let Content::List(items) = &entries[1].1.content else { panic!("a list") };
        assert_eq!(items.iter().map(|item| item.line).collect::<Vec<_>>(), [3, 4]);
        let Content::Map(inner) = &items[1].content else { panic!("a map") };
        assert_eq!(inner[0].1.content, Content::Scalar(json!(1.1), "1.10".to_owned()));
        assert_eq!(node.to_json(), json!({"a": 1, "b": ["x", {"c": 1.1}]}));
    }

    #[test]
    fn empty_documents_are_skipped_and_still_count_lines() {
        let nodes = Documents::parse("---\na: 1\n---\n# nothing\n---\n\nb:\n  c: 2\n---\n").expect("YAML").nodes;
        assert_eq!(nodes.iter().map(Node::to_json).collect::<Vec<_>>(), [json!({"a": 1}), json!({"b": {"c": 2}})]);
        let Content::Map(entries) = &nodes[1].content else { panic!("a map") };
        assert_eq!((entries[0].0.line, entries[0].1.line), (7, 8));
        let Content::Map(inner) = &entries[0].1.content else { panic!("a map") };
        assert_eq!(inner[0].1.content, Content::Scalar(json!(2), "2".to_owned()));
        assert_eq!(Documents::parse("a: 1\n---\nb: {\n").expect_err("no YAML").line, 3);
    }

    #[test]
    fn long_comments_are_accepted() {
        let text = format!("a: 1\n{}b: 2\n", "# a word\n".repeat(500));
        assert_eq!(one(&text).to_json(), json!({"a": 1, "b": 2}));
    }
}
