//! Writes readable YAML: one line for each key, short values on one line, and quotes only where
//! necessary.
//!
//! Hand-written, because users read manifests. No YAML library lets us control the order of keys,
//! what is on one line, and comments.

use std::fmt::Write;

/// Longer lines are broken up if possible.
const WIDTH: usize = 120;
const STEP: usize = 2;

#[derive(Debug, Clone, PartialEq)]
pub enum Yaml {
    Null,
    /// A number, `true` or `false`, which must not be quoted.
    Bare(String),
    Text(String),
    List(Vec<Yaml>),
    Map(Vec<Entry>),
    /// On one line if it fits: `{ runtime: python }`.
    Short(Box<Yaml>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub key: String,
    pub value: Yaml,
    /// A comment after the key, or after a value on the same line.
    pub remark: Option<String>,
}

impl Yaml {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub fn short(self) -> Self {
        Self::Short(Box::new(self))
    }

    pub fn texts<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::List(texts.into_iter().map(Self::text).collect()).short()
    }

    pub fn from_json(value: &serde_json::Value) -> Self {
        use serde_json::Value;
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) | Value::Number(_) => Self::Bare(value.to_string()),
            Value::String(text) => Self::text(text),
            Value::Array(items) => {
                let list = Self::List(items.iter().map(Self::from_json).collect());
                let plain = items.iter().all(|item| !item.is_array() && !item.is_object());
                if plain { list.short() } else { list }
            }
            Value::Object(entries) => {
                Self::Map(entries.iter().map(|(key, value)| entry(key, Self::from_json(value))).collect())
            }
        }
    }

    pub fn document(&self) -> String {
        let mut text = String::new();
        match self {
            Self::Map(entries) if !entries.is_empty() => block_map(&mut text, entries, 0),
            other => {
                other.flow(&mut text);
                text.push('\n');
            }
        }
        text
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::List(items) => items.is_empty(),
            Self::Map(entries) => entries.is_empty(),
            Self::Short(inner) => inner.is_empty(),
            Self::Null | Self::Bare(_) | Self::Text(_) => false,
        }
    }

    /// In flow style, whatever its length.
    fn flow(&self, to: &mut String) {
        match self {
            Self::Null => to.push_str("null"),
            Self::Bare(text) => to.push_str(text),
            Self::Text(text) => scalar(to, text, true),
            Self::Short(inner) => inner.flow(to),
            Self::List(items) => {
                to.push('[');
                for (at, item) in items.iter().enumerate() {
                    to.push_str(if at == 0 { "" } else { ", " });
                    item.flow(to);
                }
                to.push(']');
            }
            Self::Map(entries) if entries.is_empty() => to.push_str("{}"),
            Self::Map(entries) => {
                to.push_str("{ ");
                for (at, Entry { key, value, .. }) in entries.iter().enumerate() {
                    to.push_str(if at == 0 { "" } else { ", " });
                    scalar(to, key, true);
                    to.push_str(": ");
                    value.flow(to);
                }
                to.push_str(" }");
            }
        }
    }

    /// The value on one line, if it fits after `before` characters.
    fn line(&self, before: usize) -> Option<String> {
        let mut text = String::new();
        match self {
            Self::Text(value) => scalar(&mut text, value, false),
            Self::Null | Self::Bare(_) => self.flow(&mut text),
            _ if self.is_empty() => self.flow(&mut text),
            Self::Short(inner) => {
                inner.flow(&mut text);
                let fits = before + text.chars().count() <= WIDTH && !inner.has_remarks();
                return fits.then_some(text);
            }
            Self::List(_) | Self::Map(_) => return None,
        }
        Some(text)
    }

    fn has_remarks(&self) -> bool {
        match self {
            Self::Map(entries) => entries.iter().any(|entry| entry.remark.is_some() || entry.value.has_remarks()),
            Self::List(items) => items.iter().any(Self::has_remarks),
            Self::Short(inner) => inner.has_remarks(),
            Self::Null | Self::Bare(_) | Self::Text(_) => false,
        }
    }
}

pub fn entry(key: &str, value: Yaml) -> Entry {
    Entry { key: key.to_owned(), value, remark: None }
}

fn block_map(to: &mut String, entries: &[Entry], indent: usize) {
    for (at, entry) in entries.iter().enumerate() {
        // The first line of a map in a list is after the dash.
        if at > 0 || !to.ends_with("- ") {
            pad(to, indent);
        }
        let start = to.rfind('\n').map_or(0, |end| end + 1);
        scalar(to, &entry.key, false);
        to.push(':');
        let before = to[start..].chars().count() + 1;
        match entry.value.line(before) {
            Some(line) => {
                to.push(' ');
                to.push_str(&line);
                remark(to, entry);
            }
            None => {
                remark(to, entry);
                block(to, &entry.value, indent + STEP);
            }
        }
    }
}

/// A value that does not fit on one line.
fn block(to: &mut String, value: &Yaml, indent: usize) {
    match value {
        Yaml::Short(inner) => block(to, inner, indent),
        Yaml::Map(entries) => block_map(to, entries, indent),
        Yaml::List(items) => {
            for item in items {
                pad(to, indent);
                to.push_str("- ");
                match item.line(indent + STEP) {
                    Some(line) => {
                        to.push_str(&line);
                        to.push('\n');
                    }
                    // A nested list starts on its own line.
                    None if matches!(inner(item), Yaml::List(_)) => {
                        to.truncate(to.len() - 1);
                        to.push('\n');
                        block(to, item, indent + STEP);
                    }
                    None => block(to, item, indent + STEP),
                }
            }
        }
        Yaml::Null | Yaml::Bare(_) | Yaml::Text(_) => {}
    }
}

fn inner(value: &Yaml) -> &Yaml {
    if let Yaml::Short(value) = value { inner(value) } else { value }
}

/// A comment on a single line, with unprintable characters replaced.
pub fn comment(text: &str) -> String {
    let plain: String = text.chars().map(|letter| if is_shown(letter) { letter } else { ' ' }).collect();
    format!("# {plain}")
}

fn remark(to: &mut String, entry: &Entry) {
    if let Some(remark) = &entry.remark {
        to.push_str("  ");
        to.push_str(&comment(remark));
    }
    to.push('\n');
}

fn pad(to: &mut String, indent: usize) {
    to.extend(std::iter::repeat_n(' ', indent));
}

/// A string, quoted if YAML would read it as something else. `flow` is set inside brackets.
fn scalar(to: &mut String, text: &str, flow: bool) {
    if is_plain(text, flow) {
        to.push_str(text);
        return;
    }
    to.push('"');
    for letter in text.chars() {
        match letter {
            '"' => to.push_str("\\\""),
            '\\' => to.push_str("\\\\"),
            '\n' => to.push_str("\\n"),
            '\t' => to.push_str("\\t"),
            '\r' => to.push_str("\\r"),
            letter if is_shown(letter) => to.push(letter),
            letter => {
                let code = u32::from(letter);
                let _ = match code {
                    0..=0xff => write!(to, "\\x{code:02x}"),
                    0x100..=0xffff => write!(to, "\\u{code:04x}"),
                    _ => write!(to, "\\U{code:08x}"),
                };
            }
        }
    }
    to.push('"');
}

/// Whether a character is visible and is read back unchanged.
fn is_shown(letter: char) -> bool {
    !letter.is_control()
        // Line separators, the byte order mark, invisible and bidirectional characters, and
        // non-characters.
        && !matches!(letter, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
        && u32::from(letter) & 0xfffe != 0xfffe
}

fn is_plain(text: &str, flow: bool) -> bool {
    const INDICATORS: &str = "-?:,[]{}#&*!|>'\"%@`=<~";
    let Some(first) = text.chars().next() else { return false };
    let starts = !INDICATORS.contains(first) && !text.starts_with("...");
    let ends = !text.ends_with(':') && text.trim() == text;
    let inside = !text.contains(": ") && !text.contains(" #") && text.chars().all(is_shown);
    let between = !flow || !text.contains([',', '[', ']', '{', '}']);
    starts && ends && inside && between && !is_other_than_text(text)
}

/// Whether some YAML reader takes the word for a number, a boolean or null.
fn is_other_than_text(word: &str) -> bool {
    const WORDS: [&str; 11] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n", "inf", "nan"];
    let bare = word.trim_start_matches(['+', '.']).to_ascii_lowercase();
    let digits = bare.starts_with(|first: char| first.is_ascii_digit());
    let numeric = |letter: char| letter.is_ascii_hexdigit() || "xo_+-.:".contains(letter);
    WORDS.contains(&bare.as_str()) || bare == "infinity" || (digits && bare.chars().all(numeric))
}

#[cfg(test)]
mod tests;
