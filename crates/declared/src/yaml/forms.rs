//! Recognises malformed values whose meaning is clear. They are reported once and then read as if
//! they were correct, so that they do not hide further mistakes.

use serde_json::Value;

use super::node::{Content, Key, Node};

/// Whether this is a single string.
pub(super) fn is_text(nodes: &[Node]) -> bool {
    matches!(nodes, [Node { content: Content::Scalar(Value::String(_), _), .. }])
}

/// The text of a scalar, of the only item of a list, or of `name` in a map.
pub fn meant(node: &Node) -> Option<&str> {
    let one = match &node.content {
        Content::Scalar(..) => Some(node),
        Content::List(items) => match items.as_slice() {
            [only] => Some(only),
            _ => None,
        },
        Content::Map(entries) => entries.iter().find(|(key, _)| key.text == "name").map(|(_, value)| value),
        Content::Null => None,
    };
    match one.map(|node| &node.content) {
        Some(Content::Scalar(_, text)) => Some(text),
        _ => None,
    }
}

/// Items under user-defined names.
#[derive(Debug, Default)]
pub struct Things {
    /// Items with their keys. An empty name means that it is missing.
    pub whole: Vec<(Key, Node)>,
    /// Names without any keys, from a list of strings.
    pub bare: Vec<Key>,
}

impl Things {
    /// Adds one item of a list that should be a map.
    pub(super) fn add(&mut self, mut entries: Vec<(Key, Node)>, line: u64, known: &[&str]) {
        let is_known = |key: &Key| known.contains(&key.text.as_str());
        if let Some(at) = entries.iter().position(|(key, _)| key.text == "name" && !is_known(key))
            && let Content::Scalar(_, text) = &entries[at].1.content
        {
            let name = Key { line: entries[at].1.line, text: text.clone() };
            entries.remove(at);
            self.whole.push((name, Node { line, content: Content::Map(entries) }));
            return;
        }
        // `- hello:` with its keys on the same level instead of nested under it.
        let beside = matches!(entries.first(), Some((key, Node { content: Content::Null, .. })) if !is_known(key));
        if beside && entries.len() > 1 && entries[1..].iter().all(|(key, _)| is_known(key)) {
            let (name, _) = entries.remove(0);
            self.whole.push((name, Node { line, content: Content::Map(entries) }));
        } else if entries.iter().any(|(key, _)| is_known(key)) {
            self.whole.push((unnamed(line), Node { line, content: Content::Map(entries) }));
        } else {
            self.whole.extend(entries);
        }
    }
}

pub(super) fn unnamed(line: u64) -> Key {
    Key { line, text: String::new() }
}

/// Whether the keys that should be names are the keys of a single item. An item may be named like a
/// key, but then its value is a map.
pub(super) fn is_one_thing(entries: &[(Key, Node)], known: &[&str]) -> bool {
    let plain = |node: &Node| matches!(node.content, Content::Scalar(..) | Content::List(_));
    !entries.is_empty() && entries.iter().all(|(key, node)| known.contains(&key.text.as_str()) && plain(node))
}

/// `{ name: MODE, value: fast }`, as in Kubernetes; else the unchanged entries.
pub(super) fn named_value(mut entries: Vec<(Key, Node)>) -> Result<(Key, Node), Vec<(Key, Node)>> {
    let at = |key: &str| entries.iter().position(|(found, _)| found.text == key);
    let (2, Some(name), Some(value)) = (entries.len(), at("name"), at("value")) else { return Err(entries) };
    let Content::Scalar(_, text) = &entries[name].1.content else { return Err(entries) };
    let key = Key { line: entries[name].1.line, text: text.clone() };
    Ok((key, entries.swap_remove(value).1))
}

/// Merges a list of maps into one map. Also returns whether the list contains nothing else.
pub(super) fn without_dashes(content: Content) -> (Vec<(Key, Node)>, bool) {
    let Content::List(items) = content else { return (Vec::new(), false) };
    let mut whole = !items.is_empty();
    let mut found = Vec::new();
    for item in items {
        match item.content {
            Content::Map(entries) => found.extend(entries),
            _ => whole = false,
        }
    }
    (found, whole)
}

/// Merges entries with the same key, so that the second value is checked too. The duplicate was
/// already reported.
pub(super) fn joined(entries: Vec<(Key, Node)>) -> Vec<(Key, Node)> {
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
