//! Reading maps with known keys and values of known kinds.

use milepost_model::suggest;
use serde_json::Value;

use super::error::ManifestError;
use super::node::{Content, Key, Node};

type Result<T> = std::result::Result<T, ManifestError>;

/// The keys of one thing in the manifest, taken one by one.
pub struct Fields {
    /// What they are keys of, as an error says it: ``function `hello` ``.
    what: String,
    pub line: u64,
    entries: Vec<(Key, Node)>,
}

impl Fields {
    /// `line` is the one to name when something is missing: where the thing begins.
    pub fn read(node: Node, line: u64, what: &str, known: &[&str]) -> Result<Self> {
        let entries = match node.content {
            Content::Map(entries) => entries,
            Content::Null => Vec::new(),
            _ => {
                return Err(ManifestError::new(
                    node.line,
                    format!("{what} must be a map of keys, not {}", node.kind()),
                )
                .hint(format!("its keys are {}", list(known))));
            }
        };
        if let Some((key, _)) = entries.iter().find(|(key, _)| !known.contains(&key.text.as_str())) {
            let near = suggest::closest(&key.text, known.iter().copied());
            let hint = if near.is_empty() {
                format!("the keys are {}", list(known))
            } else {
                format!("did you mean {}?", suggest::or_list(&near))
            };
            return Err(ManifestError::new(key.line, format!("unknown key `{}` in {what}", key.text)).hint(hint));
        }
        Ok(Self { what: what.to_owned(), line, entries })
    }

    pub fn what(&self) -> &str {
        &self.what
    }

    pub fn take(&mut self, key: &str) -> Option<Node> {
        let at = self.entries.iter().position(|(found, _)| found.text == key)?;
        Some(self.entries.remove(at).1)
    }

    pub fn text(&mut self, key: &str) -> Result<Option<String>> {
        Ok(self.text_at(key)?.map(|(text, _)| text))
    }

    /// Text, and the line it stands on.
    pub fn text_at(&mut self, key: &str) -> Result<Option<(String, u64)>> {
        let Some(node) = self.take(key) else { return Ok(None) };
        let line = node.line;
        text(node, &self.of(key)).map(|text| Some((text, line)))
    }

    pub fn need(&mut self, key: &str, hint: &str) -> Result<(String, u64)> {
        self.text_at(key)?
            .ok_or_else(|| ManifestError::new(self.line, format!("{} has no `{key}`", self.what)).hint(hint))
    }

    /// Text that is read further; what is wrong with it is said in the reader's words.
    pub fn parsed<T>(
        &mut self,
        key: &str,
        parse: impl FnOnce(&str) -> std::result::Result<T, String>,
    ) -> Result<Option<T>> {
        let Some((text, line)) = self.text_at(key)? else { return Ok(None) };
        parse(&text).map(Some).map_err(|problem| ManifestError::new(line, format!("{}: {problem}", self.of(key))))
    }

    pub fn flag(&mut self, key: &str) -> Result<bool> {
        let Some(node) = self.take(key) else { return Ok(false) };
        match &node.content {
            Content::Scalar(Value::Bool(value), _) => Ok(*value),
            _ => Err(ManifestError::new(
                node.line,
                format!("{} must be true or false, not {}", self.of(key), node.kind()),
            )),
        }
    }

    /// A list of texts; one text alone is a list of one.
    pub fn texts(&mut self, key: &str) -> Result<Vec<(String, u64)>> {
        let what = self.of(key);
        match self.take(key) {
            None => Ok(Vec::new()),
            Some(Node { content: Content::List(items), .. }) => items
                .into_iter()
                .map(|item| {
                    let line = item.line;
                    text(item, &format!("an entry of {what}")).map(|text| (text, line))
                })
                .collect(),
            Some(node) => {
                let line = node.line;
                Ok(vec![(text(node, &what)?, line)])
            }
        }
    }

    /// The entries of a map whose keys are the user's own.
    pub fn map(&mut self, key: &str) -> Result<Vec<(Key, Node)>> {
        match self.take(key) {
            None | Some(Node { content: Content::Null, .. }) => Ok(Vec::new()),
            Some(Node { content: Content::Map(entries), .. }) => Ok(entries),
            Some(node) => Err(ManifestError::new(
                node.line,
                format!("{} must be a map of keys, not {}", self.of(key), node.kind()),
            )),
        }
    }

    pub fn list(&mut self, key: &str, hint: &str) -> Result<Vec<Node>> {
        match self.take(key) {
            None | Some(Node { content: Content::Null, .. }) => Ok(Vec::new()),
            Some(Node { content: Content::List(items), .. }) => Ok(items),
            Some(node) => {
                Err(ManifestError::new(node.line, format!("{} must be a list, not {}", self.of(key), node.kind()))
                    .hint(hint))
            }
        }
    }

    /// ``` `memory` of function `hello` ```, or the key alone at the top.
    fn of(&self, key: &str) -> String {
        if self.what == super::TOP { format!("`{key}`") } else { format!("`{key}` of {}", self.what) }
    }
}

/// A scalar as it was written.
pub fn text(node: Node, what: &str) -> Result<String> {
    match node.content {
        Content::Scalar(_, written) => Ok(written),
        _ => Err(ManifestError::new(node.line, format!("{what} must be text, not {}", node.kind()))),
    }
}

fn list(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
