//! Reads maps with known keys and typed values. Invalid values are reported to the sink and then
//! treated as absent.

use milepost_model::suggest;
use serde_json::Value;

use super::case;
use super::forms::{Things, is_one_thing, is_text, joined, meant, named_value, unnamed, without_dashes};
use super::node::{Content, Key, Node};
use crate::problems::Sink;

/// The keys of one map, taken one by one.
pub struct Fields<'a> {
    sink: &'a Sink<'a>,
    /// What the keys belong to, as error messages show it: ``function `hello` ``. Empty for the
    /// whole document.
    what: String,
    pub line: u64,
    entries: Vec<(Key, Node)>,
    /// The line of each key.
    lines: Vec<(String, u64)>,
    /// Keys that are present but could not be read. They are not reported as missing.
    unreadable: Vec<String>,
    /// Whether the whole value was reported as malformed.
    pub is_wrong: bool,
}

impl<'a> Fields<'a> {
    /// `line` is where the map begins; it is used in errors about missing keys. Any other value has
    /// no fields.
    pub fn read(sink: &'a Sink<'a>, node: Node, line: u64, what: &str, known: &[&str]) -> Self {
        Self::named(sink, node, line, what, what, known)
    }

    /// The outermost map, whose keys are shown without an owner.
    pub fn top(sink: &'a Sink<'a>, node: Node, what: &str, known: &[&str]) -> Self {
        Self::named(sink, node, 1, what, "", known)
    }

    /// Also accepts the shorthand with only the main value, such as `environment: python` instead
    /// of a map with `name: python`. It is reported, and read as that map.
    pub fn short(sink: &'a Sink<'a>, node: Node, line: u64, what: &str, known: &[&str], main: &str) -> Self {
        let kind = node.kind();
        let one = match node {
            Node { content: Content::List(mut items), .. } if is_text(items.as_slice()) => items.remove(0),
            node if is_text(std::slice::from_ref(&node)) => node,
            node => return Self::read(sink, node, line, what, known),
        };
        let form = format!("write `{main}: {}` under it", one.words());
        sink.wrong_hint(one.line, format!("{what} must be a map, not {kind}"), form);
        let at = one.line;
        let content = Content::Map(vec![(Key { line: at, text: main.to_owned() }, one)]);
        Self { is_wrong: true, ..Self::read(sink, Node { line: at, content }, line, what, known) }
    }

    fn named(sink: &'a Sink<'a>, node: Node, line: u64, called: &str, what: &str, known: &[&str]) -> Self {
        let kind = node.kind();
        let mut unreadable = Vec::new();
        let is_wrong = !matches!(node.content, Content::Map(_) | Content::Null);
        let mut entries = match node.content {
            Content::Map(entries) => joined(entries),
            Content::Null => Vec::new(),
            content => {
                let message = format!("{called} must be a map, not {kind}");
                let (entries, whole) = without_dashes(content);
                let entries = joined(entries);
                let hint = if entries.is_empty() {
                    format!("valid keys are {}", quoted(known))
                } else {
                    "remove the `-` before its keys".to_owned()
                };
                sink.wrong_hint(node.line, message, hint);
                if !whole {
                    // Report one mistake instead of one for each key.
                    unreadable.extend(known.iter().map(|&key| key.to_owned()));
                    unreadable.retain(|key| entries.iter().all(|(found, _)| found.text != *key));
                }
                entries
            }
        };
        if sink.any_case {
            entries = case::fold(sink, called, entries, known);
        }
        for at in 0..entries.len() {
            let key = &entries[at].0;
            if known.contains(&key.text.as_str()) {
                continue;
            }
            let near = suggest::closest(&key.text, known.iter().copied());
            let hint = if near.is_empty() {
                format!("valid keys are {}", quoted(known))
            } else {
                format!("did you mean {}?", suggest::or_list(&near))
            };
            sink.wrong_hint(key.line, format!("unknown key `{}` in {called}", key.text), hint);
            match near.as_slice() {
                // The intended key is clear, so its value is read and checked too.
                [meant] if is_slip(&key.text, meant) && entries.iter().all(|(other, _)| other.text != *meant) => {
                    entries[at].0.text.clone_from(meant);
                    if entries[at].1.content == Content::Null {
                        unreadable.push(meant.clone());
                    }
                }
                _ => unreadable.extend(near),
            }
        }
        let lines = entries.iter().map(|(key, _)| (key.text.clone(), key.line)).collect();
        Self { sink, what: what.to_owned(), line, entries, lines, unreadable, is_wrong }
    }

    pub fn sink(&self) -> &'a Sink<'a> {
        self.sink
    }

    pub fn what(&self) -> &str {
        &self.what
    }

    /// The line of a key, also after it was taken; else that of the map.
    pub fn line_of(&self, key: &str) -> u64 {
        self.lines.iter().find(|(known, _)| known == key).map_or(self.line, |(_, line)| *line)
    }

    pub fn take(&mut self, key: &str) -> Option<Node> {
        let at = self.entries.iter().position(|(found, _)| found.text == key)?;
        Some(self.entries.remove(at).1)
    }

    /// Takes a value unless it is empty. `{}`, `[]`, `""`, `false`, `0` and null count as empty.
    pub fn take_set(&mut self, key: &str) -> Option<Node> {
        self.take(key).filter(Node::says_something)
    }

    /// Adds a note for each remaining known key with a value: Milepost does not use it.
    pub fn note_rest(&mut self, known: &[&str], why: &str) {
        let what = self.what.clone();
        for (key, node) in std::mem::take(&mut self.entries) {
            if known.contains(&key.text.as_str()) && node.says_something() {
                let message = format!("`{}` of {what} is not carried over", key.text);
                self.sink.note(key.line, message, why);
            }
        }
    }

    pub fn text(&mut self, key: &str) -> Option<String> {
        self.text_at(key).map(|(text, _)| text)
    }

    /// A string, and its line.
    pub fn text_at(&mut self, key: &str) -> Option<(String, u64)> {
        let node = self.take(key)?;
        let line = node.line;
        let read = text(self.sink, node, &self.of(key));
        if read.is_none() {
            self.unreadable.push(key.to_owned());
        }
        read.map(|text| (text, line))
    }

    /// A required string.
    pub fn need(&mut self, key: &str, hint: &str) -> Option<(String, u64)> {
        let found = self.text_at(key);
        if found.is_none() {
            self.missing(key, hint);
        }
        found
    }

    /// Reports a missing key, unless it is present and was already reported as invalid.
    pub fn missing(&self, key: &str, hint: &str) {
        if !self.is_unreadable(key) {
            self.sink.wrong_hint(self.line, format!("{} has no `{key}`", self.what), hint);
        }
    }

    /// Whether this key, or a misspelling of it, was present and already reported as invalid.
    pub fn is_unreadable(&self, key: &str) -> bool {
        self.unreadable.iter().any(|unreadable| unreadable == key)
    }

    /// Marks a key that was taken as already reported.
    pub fn spoil(&mut self, key: &str) {
        self.unreadable.push(key.to_owned());
    }

    /// A string with a parser. Errors are in the parser's words.
    pub fn parsed<T>(&mut self, key: &str, parse: impl FnOnce(&str) -> Result<T, String>) -> Option<T> {
        self.parsed_at(key, parse).map(|(value, _)| value)
    }

    pub fn parsed_at<T>(&mut self, key: &str, parse: impl FnOnce(&str) -> Result<T, String>) -> Option<(T, u64)> {
        let (text, line) = self.text_at(key)?;
        match parse(&text) {
            Ok(value) => Some((value, line)),
            Err(problem) => {
                self.sink.wrong(line, format!("{}: {problem}", self.of(key)));
                self.unreadable.push(key.to_owned());
                None
            }
        }
    }

    pub fn flag(&mut self, key: &str) -> bool {
        let Some(node) = self.take(key) else { return false };
        match &node.content {
            Content::Null => false,
            Content::Scalar(Value::Bool(value), _) => *value,
            _ => {
                self.sink.wrong(node.line, format!("{} must be `true` or `false`, not {}", self.of(key), node.kind()));
                self.unreadable.push(key.to_owned());
                false
            }
        }
    }

    /// A list of strings, each with its line. A single string counts as a list of one.
    pub fn texts(&mut self, key: &str) -> Vec<(String, u64)> {
        let what = self.of(key);
        let item = |node: Node, what: &str| {
            let line = node.line;
            text(self.sink, node, what).map(|text| (text, line))
        };
        let (found, whole) = match self.take(key) {
            None | Some(Node { content: Content::Null, .. }) => return Vec::new(),
            Some(Node { content: Content::List(items), .. }) => {
                let count = items.len();
                let what = format!("an entry of {what}");
                let found: Vec<_> = items.into_iter().filter_map(|node| item(node, &what)).collect();
                let whole = found.len() == count;
                (found, whole)
            }
            Some(node) => {
                let found: Vec<_> = item(node, &what).into_iter().collect();
                let whole = !found.is_empty();
                (found, whole)
            }
        };
        if !whole {
            self.unreadable.push(key.to_owned());
        }
        found
    }

    /// Like [`Self::texts`]; also accepts a map, reports it, and uses its keys.
    pub fn names(&mut self, key: &str, hint: &str) -> Vec<(String, u64)> {
        match self.take(key) {
            Some(Node { line, content: Content::Map(entries) }) => {
                let message = format!("{} must be a list of names, not a map", self.of(key));
                self.sink.wrong_hint(line, message, hint);
                entries.into_iter().map(|(key, _)| (key.text, key.line)).collect()
            }
            Some(node) => {
                self.entries.push((Key { line: node.line, text: key.to_owned() }, node));
                self.texts(key)
            }
            None => Vec::new(),
        }
    }

    /// The entries of a map with user-defined keys and plain values. A list of maps is reported,
    /// and its entries are read too.
    pub fn values(&mut self, key: &str, form: &str) -> Vec<(Key, Node)> {
        let node = match self.take(key) {
            None | Some(Node { content: Content::Null, .. }) => return Vec::new(),
            Some(Node { content: Content::Map(entries), .. }) => return entries,
            Some(node) => node,
        };
        self.not_a_map(key, &node, form);
        let Content::List(items) = node.content else {
            self.unreadable.push(key.to_owned());
            return Vec::new();
        };
        let mut found = Vec::new();
        for item in items {
            match item.content {
                Content::Map(entries) => match named_value(entries) {
                    Ok(pair) => found.push(pair),
                    Err(entries) => found.extend(entries),
                },
                _ => self.unreadable.push(key.to_owned()),
            }
        }
        found
    }

    /// Items under user-defined names. A list is reported, and its items are read too; an item
    /// without a name gets an empty one, which the caller reports. `known` are the keys of an item;
    /// with `plain`, an item may also be a string.
    pub fn things(&mut self, key: &str, known: &[&str], plain: bool, form: &str) -> Things {
        let mut found = Things::default();
        let node = match self.take(key) {
            None | Some(Node { content: Content::Null, .. }) => return found,
            Some(Node { line, content: Content::Map(entries) }) if !plain && is_one_thing(&entries, known) => {
                found.whole.push((unnamed(line), Node { line, content: Content::Map(entries) }));
                return found;
            }
            Some(Node { content: Content::Map(entries), .. }) => {
                found.whole = entries;
                return found;
            }
            Some(node) => node,
        };
        self.not_a_map(key, &node, form);
        let items = match node.content {
            Content::List(items) => items,
            content => vec![Node { line: node.line, content }],
        };
        for Node { line, content } in items {
            match content {
                Content::Map(entries) => found.add(entries, line, known),
                Content::Scalar(Value::String(_), text) => found.bare.push(Key { line, text }),
                _ => self.unreadable.push(key.to_owned()),
            }
        }
        found
    }

    fn not_a_map(&self, key: &str, node: &Node, form: &str) {
        let message = format!("{} must be a map, not {}", self.of(key), node.kind());
        self.sink.wrong_hint(node.line, message, form);
    }

    /// The items of a list. A map or a string is reported, and read as the only item.
    pub fn list(&mut self, key: &str, hint: &str) -> Vec<Node> {
        match self.take(key) {
            None | Some(Node { content: Content::Null, .. }) => Vec::new(),
            Some(Node { content: Content::List(items), .. }) => items,
            Some(node) => {
                let message = format!("{} must be a list, not {}", self.of(key), node.kind());
                self.sink.wrong_hint(node.line, message, hint);
                self.unreadable.push(key.to_owned());
                let says = match &node.content {
                    Content::Map(entries) => !entries.is_empty(),
                    Content::Scalar(value, _) => value.is_string(),
                    Content::Null | Content::List(_) => false,
                };
                if says { vec![node] } else { Vec::new() }
            }
        }
    }

    /// A nested map with known keys. A missing one has no fields.
    pub fn inner(&mut self, key: &str, known: &[&str]) -> Fields<'a> {
        let (what, node) = (self.of(key), self.inner_node(key));
        let line = node.line;
        Fields::read(self.sink, node, line, &what, known)
    }

    /// Like [`Self::inner`]; also accepts the shorthand with only the value of `main`.
    pub fn inner_short(&mut self, key: &str, known: &[&str], main: &str) -> Fields<'a> {
        let (what, node) = (self.of(key), self.inner_node(key));
        let line = node.line;
        Fields::short(self.sink, node, line, &what, known, main)
    }

    fn inner_node(&mut self, key: &str) -> Node {
        self.take(key).unwrap_or(Node { line: self.line, content: Content::Null })
    }

    /// ``` `memory` of function `hello` ```, or only the key at the top level.
    pub fn of(&self, key: &str) -> String {
        if self.what.is_empty() { format!("`{key}`") } else { format!("`{key}` of {}", self.what) }
    }
}

/// Whether one is likely a misspelling of the other, and not a different word that begins alike.
fn is_slip(written: &str, meant: &str) -> bool {
    written.chars().count().abs_diff(meant.chars().count()) <= 2
}

/// A scalar as written. Any other value is reported, and read anyway if its meaning is clear.
pub fn text(sink: &Sink<'_>, node: Node, what: &str) -> Option<String> {
    if let Content::Scalar(_, written) = node.content {
        return Some(written);
    }
    let message = format!("{what} must be a string, not {}", node.kind());
    match meant(&node) {
        Some(text) => {
            sink.wrong_hint(node.line, message, format!("write only `{text}`"));
            Some(text.to_owned())
        }
        None => {
            sink.wrong(node.line, message);
            None
        }
    }
}

pub fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
