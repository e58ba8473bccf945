//! Reading maps with known keys and values of known kinds. What cannot be read is told to the sink, and is then as if it
//! were not there.

use milepost_model::suggest;
use serde_json::Value;

use super::node::{Content, Key, Node};
use crate::declared::problems::Sink;

/// The keys of one thing, taken one by one.
pub struct Fields<'a> {
    sink: &'a Sink<'a>,
    /// What they are keys of, as an error says it: ``function `hello` ``. Empty for the whole document.
    what: String,
    pub line: u64,
    entries: Vec<(Key, Node)>,
    /// The line of each key.
    lines: Vec<(String, u64)>,
    /// Keys that are there and could not be read: they are not missing.
    unreadable: Vec<String>,
}

impl<'a> Fields<'a> {
    /// `line` is the one to name when something is missing: where the thing begins. What is not a map has no fields.
    pub fn read(sink: &'a Sink<'a>, node: Node, line: u64, what: &str, known: &[&str]) -> Self {
        Self::named(sink, node, line, what, what, known)
    }

    /// The outermost map: its keys are named alone.
    pub fn top(sink: &'a Sink<'a>, node: Node, what: &str, known: &[&str]) -> Self {
        Self::named(sink, node, 1, what, "", known)
    }

    fn named(sink: &'a Sink<'a>, node: Node, line: u64, called: &str, what: &str, known: &[&str]) -> Self {
        let new = |entries: Vec<(Key, Node)>| {
            let lines = entries.iter().map(|(key, _)| (key.text.clone(), key.line)).collect();
            Self { sink, what: what.to_owned(), line, entries, lines, unreadable: Vec::new() }
        };
        let mut entries = match node.content {
            Content::Map(entries) => joined(entries),
            Content::Null => Vec::new(),
            _ => {
                let message = format!("{called} must be a map of keys, not {}", node.kind());
                sink.wrong_hint(node.line, message, format!("its keys are {}", quoted(known)));
                let mut fields = new(Vec::new());
                // One mistake, not as many as it has keys.
                fields.unreadable = known.iter().map(|&key| key.to_owned()).collect();
                return fields;
            }
        };
        let mut unreadable = Vec::new();
        for at in 0..entries.len() {
            let key = &entries[at].0;
            if known.contains(&key.text.as_str()) {
                continue;
            }
            let near = suggest::closest(&key.text, known.iter().copied());
            let hint = if near.is_empty() {
                format!("the keys are {}", quoted(known))
            } else {
                format!("did you mean {}?", suggest::or_list(&near))
            };
            sink.wrong_hint(key.line, format!("unknown key `{}` in {called}", key.text), hint);
            match near.as_slice() {
                // It is plain what was meant: what is below it is read, so that it hides nothing.
                [meant] if is_slip(&key.text, meant) && entries.iter().all(|(other, _)| other.text != *meant) => {
                    entries[at].0.text.clone_from(meant);
                    if entries[at].1.content == Content::Null {
                        unreadable.push(meant.clone());
                    }
                }
                _ => unreadable.extend(near),
            }
        }
        Self { unreadable, ..new(entries) }
    }

    pub fn sink(&self) -> &'a Sink<'a> {
        self.sink
    }

    pub fn what(&self) -> &str {
        &self.what
    }

    /// The line of a key that is there, or was; else of the whole.
    pub fn line_of(&self, key: &str) -> u64 {
        self.lines.iter().find(|(known, _)| known == key).map_or(self.line, |(_, line)| *line)
    }

    pub fn take(&mut self, key: &str) -> Option<Node> {
        let at = self.entries.iter().position(|(found, _)| found.text == key)?;
        Some(self.entries.remove(at).1)
    }

    /// A map or a list or text that is there and says something; `{}`, `[]`, `""`, `false`, `0` and nothing do not.
    pub fn take_set(&mut self, key: &str) -> Option<Node> {
        self.take(key).filter(Node::says_something)
    }

    /// Notes what is left, says something, and is a known key: nobody here has a use for it.
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

    /// Text, and the line it stands on.
    pub fn text_at(&mut self, key: &str) -> Option<(String, u64)> {
        let node = self.take(key)?;
        let line = node.line;
        let read = text(self.sink, node, &self.of(key));
        if read.is_none() {
            self.unreadable.push(key.to_owned());
        }
        read.map(|text| (text, line))
    }

    /// Text that must be there.
    pub fn need(&mut self, key: &str, hint: &str) -> Option<(String, u64)> {
        let found = self.text_at(key);
        if found.is_none() {
            self.missing(key, hint);
        }
        found
    }

    /// Tells that a key is missing, unless it is there and was told to be wrong.
    pub fn missing(&self, key: &str, hint: &str) {
        if !self.is_unreadable(key) {
            self.sink.wrong_hint(self.line, format!("{} has no `{key}`", self.what), hint);
        }
    }

    /// Whether something was there under this key, or under one that was meant to be it, and was told to be wrong.
    pub fn is_unreadable(&self, key: &str) -> bool {
        self.unreadable.iter().any(|unreadable| unreadable == key)
    }

    /// Notes that what was taken under this key was told to be wrong.
    pub fn spoil(&mut self, key: &str) {
        self.unreadable.push(key.to_owned());
    }

    /// Text that is read further; what is wrong with it is said in the reader's words.
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
                self.sink.wrong(node.line, format!("{} must be true or false, not {}", self.of(key), node.kind()));
                false
            }
        }
    }

    /// A list of texts, each with its line; one text alone is a list of one.
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

    /// [`Self::texts`] that people like to write as a map, with values that do not belong there.
    pub fn names(&mut self, key: &str, hint: &str) -> Vec<(String, u64)> {
        match self.take(key) {
            Some(Node { line, content: Content::Map(_) }) => {
                let message = format!("{} must be a list of names, not a map of keys", self.of(key));
                self.sink.wrong_hint(line, message, hint);
                self.unreadable.push(key.to_owned());
                Vec::new()
            }
            Some(node) => {
                self.entries.push((Key { line: node.line, text: key.to_owned() }, node));
                self.texts(key)
            }
            None => Vec::new(),
        }
    }

    /// The entries of a map whose keys are the user's own. Those of a list of maps are told to be in the wrong form, and are
    /// looked at all the same.
    pub fn map(&mut self, key: &str) -> Vec<(Key, Node)> {
        let node = match self.take(key) {
            None | Some(Node { content: Content::Null, .. }) => return Vec::new(),
            Some(Node { content: Content::Map(entries), .. }) => return entries,
            Some(node) => node,
        };
        let message = format!("{} must be a map of keys, not {}", self.of(key), node.kind());
        self.sink.wrong(node.line, message);
        let items = if let Content::List(items) = node.content { items } else { Vec::new() };
        let count = items.len();
        let maps = items.into_iter().filter_map(|item| match item.content {
            Content::Map(entries) => Some(entries),
            _ => None,
        });
        let maps: Vec<_> = maps.collect();
        if maps.is_empty() || maps.len() < count {
            self.unreadable.push(key.to_owned());
        }
        maps.into_iter().flatten().collect()
    }

    /// The items of a list. A map is told not to be one, and is looked at as if it were the only item.
    pub fn list(&mut self, key: &str, hint: &str) -> Vec<Node> {
        match self.take(key) {
            None | Some(Node { content: Content::Null, .. }) => Vec::new(),
            Some(Node { content: Content::List(items), .. }) => items,
            Some(node) => {
                let message = format!("{} must be a list, not {}", self.of(key), node.kind());
                self.sink.wrong_hint(node.line, message, hint);
                self.unreadable.push(key.to_owned());
                Some(node)
                    .filter(|node| matches!(&node.content, Content::Map(entries) if !entries.is_empty()))
                    .into_iter()
                    .collect()
            }
        }
    }

    /// A map with known keys of its own. One that is left out has none of them.
    pub fn inner(&mut self, key: &str, known: &[&str]) -> Fields<'a> {
        let what = self.of(key);
        let node = self.take(key).unwrap_or(Node { line: self.line, content: Content::Null });
        let line = node.line;
        Fields::read(self.sink, node, line, &what, known)
    }

    /// ``` `memory` of function `hello` ```, or the key alone at the top.
    pub fn of(&self, key: &str) -> String {
        if self.what.is_empty() { format!("`{key}`") } else { format!("`{key}` of {}", self.what) }
    }
}

/// Entries with the same key as one: what is in the second is looked at too. That it is there twice was told.
fn joined(entries: Vec<(Key, Node)>) -> Vec<(Key, Node)> {
    let mut found: Vec<(Key, Node)> = Vec::with_capacity(entries.len());
    for (key, node) in entries {
        match found.iter_mut().find(|(known, _)| known.text == key.text) {
            None => found.push((key, node)),
            Some((_, first)) => match (&mut first.content, node.content) {
                (Content::Map(first), Content::Map(second)) => first.extend(second),
                (Content::List(first), Content::List(second)) => first.extend(second),
                (Content::Null, second) => *first = Node { line: node.line, content: second },
                _ => {}
            },
        }
    }
    found
}

/// Whether one is only a misspelling of the other, and not a word of its own that begins like it.
fn is_slip(written: &str, meant: &str) -> bool {
    written.chars().count().abs_diff(meant.chars().count()) <= 2
}

/// A scalar as it was written.
pub fn text(sink: &Sink<'_>, node: Node, what: &str) -> Option<String> {
    match node.content {
        Content::Scalar(_, written) => Some(written),
        _ => {
            sink.wrong(node.line, format!("{what} must be text, not {}", node.kind()));
            None
        }
    }
}

pub fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
