//! What was written in another form than it should be, and is plain to see what it means: told once, and then read as if it were
//! right, so that it hides nothing.

use serde_json::Value;

use super::node::{Content, Key, Node};

/// Whether this is one text and nothing else.
pub(super) fn is_text(nodes: &[Node]) -> bool {
    matches!(nodes, [Node { content: Content::Scalar(Value::String(_), _), .. }])
}

/// The text of a scalar, of the only one in a list, or of the `name` in a map.
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

/// Things that have names of the user's own.
#[derive(Debug, Default)]
pub struct Things {
    /// An empty name: it has none.
    pub whole: Vec<(Key, Node)>,
    /// Names that stand alone in a list: what they are is not said.
    pub bare: Vec<Key>,
}

impl Things {
    /// One item of a list that should be a map.
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
        // `- hello:` with the keys of it beside it instead of below.
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

/// Whether what stands where names should be are the keys of one thing. A thing may be called like a key: then a map is in it.
pub(super) fn is_one_thing(entries: &[(Key, Node)], known: &[&str]) -> bool {
    let plain = |node: &Node| matches!(node.content, Content::Scalar(..) | Content::List(_));
    !entries.is_empty() && entries.iter().all(|(key, node)| known.contains(&key.text.as_str()) && plain(node))
}

/// `{ name: MODE, value: fast }`, as Kubernetes has it; or the entries as they are.
pub(super) fn named_value(mut entries: Vec<(Key, Node)>) -> Result<(Key, Node), Vec<(Key, Node)>> {
    let at = |key: &str| entries.iter().position(|(found, _)| found.text == key);
    let (2, Some(name), Some(value)) = (entries.len(), at("name"), at("value")) else { return Err(entries) };
    let Content::Scalar(_, text) = &entries[name].1.content else { return Err(entries) };
    let key = Key { line: entries[name].1.line, text: text.clone() };
    Ok((key, entries.swap_remove(value).1))
}

/// The keys in a list of maps, as if it were one map; and whether nothing else is in the list.
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

/// Entries with the same key as one: what is in the second is looked at too. That it is there twice was told.
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
