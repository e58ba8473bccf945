//! A field before and after.

use milepost_model::UnitKind;
use serde_json::{Map, Value};
use similar::{ChangeTag, TextDiff};

use super::amounts_of_functions;
use crate::output::{amounts, printable};

/// Above this length, before and after go on separate lines.
const ONE_LINE: usize = 100;
/// Characters shown of one value, or of one line of it.
const LONGEST: usize = 160;
/// Characters shown before the first difference of two long texts.
const LEAD: usize = 30;

pub fn field_lines(kind: UnitKind, field: &str, before: Option<&Value>, after: Option<&Value>) -> Vec<String> {
    if let (Some(old), Some(new)) = (keys(before), keys(after))
        && !(old.is_empty() && new.is_empty())
    {
        let keys: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        let changed = keys.into_iter().filter(|key| old.get(*key) != new.get(*key));
        let lines = changed.flat_map(|key| field_lines(kind, &format!("{field}.{key}"), old.get(key), new.get(key)));
        return lines.collect();
    }
    if kind == UnitKind::Function
        && let Some(line) = amounts_of_functions::line(field, before, after)
    {
        return vec![line];
    }
    if kind == UnitKind::Static && field == "expiresMs" {
        let side = |value: Option<&Value>| value.and_then(Value::as_u64).map_or("(none)".to_owned(), amounts::duration);
        return vec![format!("expires: {} -> {}", side(before), side(after))];
    }
    // The field's name in milepost.yaml.
    let field = if kind == UnitKind::Static && field == "errorPage" { "error" } else { field };
    let field = printable(field);
    let is_paragraph = [before, after].into_iter().flatten().any(|value| value.as_str().is_some_and(has_lines));
    let line = format!("{field}: {} -> {}", inline(before), inline(after));
    if !is_paragraph && line.chars().count() <= ONE_LINE {
        return vec![line];
    }
    let mut lines = vec![format!("{field}:")];
    let parts = match (parts(before), parts(after)) {
        (Some(old), Some(new)) if is_paragraph || old.len().max(new.len()) > 1 => by_part(&old, &new),
        _ => one_below_the_other(&inline(before), &inline(after)),
    };
    lines.extend(parts.into_iter().map(|line| format!("  {line}").trim_end().to_owned()));
    lines
}

/// The keys of a map. A missing value counts as an empty map, so that a new map is listed by key.
fn keys(value: Option<&Value>) -> Option<std::borrow::Cow<'_, Map<String, Value>>> {
    match value {
        None => Some(std::borrow::Cow::Owned(Map::new())),
        Some(Value::Object(map)) => Some(std::borrow::Cow::Borrowed(map)),
        Some(_) => None,
    }
}

fn has_lines(text: &str) -> bool {
    text.trim_end_matches('\n').contains('\n')
}

/// The lines of a text, or the items of a list.
fn parts(value: Option<&Value>) -> Option<Vec<String>> {
    match value {
        None => Some(Vec::new()),
        Some(Value::String(text)) => Some(text.split('\n').map(printable).collect()),
        Some(Value::Array(items)) => Some(items.iter().map(|item| inline(Some(item))).collect()),
        Some(_) => None,
    }
}

/// Removed and added parts, with one part of context on each side.
fn by_part(before: &[String], after: &[String]) -> Vec<String> {
    let old: Vec<&str> = before.iter().map(String::as_str).collect();
    let new: Vec<&str> = after.iter().map(String::as_str).collect();
    let diff = TextDiff::from_slices(&old, &new);
    let mut lines = Vec::new();
    for hunk in diff.unified_diff().context_radius(1).iter_hunks() {
        if !lines.is_empty() {
            lines.push("...".to_owned());
        }
        for change in hunk.iter_changes() {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            lines.push(format!("{sign} {}", cut(change.value(), 0)));
        }
    }
    lines
}

fn one_below_the_other(before: &str, after: &str) -> Vec<String> {
    let same = before.chars().zip(after.chars()).take_while(|(old, new)| old == new).count();
    vec![format!("- {}", cut(before, same)), format!("+ {}", cut(after, same))]
}

/// Cuts a long text to `LONGEST` characters, starting shortly before `differs_at`.
fn cut(text: &str, differs_at: usize) -> String {
    let letters = text.chars().count();
    if letters <= LONGEST {
        return text.to_owned();
    }
    let start = differs_at.saturating_sub(LEAD).min(letters - LONGEST);
    let shown: String = text.chars().skip(start).take(LONGEST).collect();
    let lead = if start > 0 { "..." } else { "" };
    let end = if start + LONGEST < letters { "..." } else { "" };
    format!("{lead}{shown}{end} ({letters} characters)")
}

/// Single-line JSON with spaces.
fn inline(value: Option<&Value>) -> String {
    match value {
        None => "(none)".to_owned(),
        Some(Value::Array(items)) => {
            let items: Vec<String> = items.iter().map(|item| inline(Some(item))).collect();
            format!("[{}]", items.join(", "))
        }
        Some(Value::Object(map)) => {
            let quoted = |key: &String| printable(&Value::String(key.clone()).to_string());
            let entries: Vec<String> =
                map.iter().map(|(key, value)| format!("{}: {}", quoted(key), inline(Some(value)))).collect();
            format!("{{{}}}", entries.join(", "))
        }
        Some(plain) => printable(&plain.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(before: Option<Value>, after: Option<Value>, expected: &[&str]) {
        assert_eq!(field_lines(UnitKind::Config, "f", before.as_ref(), after.as_ref()), expected);
    }

    #[test]
    fn short_values_fit_on_one_line() {
        check(Some(json!(1)), Some(json!("one")), &["f: 1 -> \"one\""]);
        check(Some(json!(["GET"])), Some(json!(["GET", "POST"])), &["f: [\"GET\"] -> [\"GET\", \"POST\"]"]);
        check(None, Some(json!({})), &["f: (none) -> {}"]);
    }

    #[test]
    fn maps_are_compared_key_by_key_even_if_new() {
        let map = json!({"from": "a", "smtp": {"host": "h", "port": 25}});
        check(
            None,
            Some(map),
            &["f.from: (none) -> \"a\"", "f.smtp.host: (none) -> \"h\"", "f.smtp.port: (none) -> 25"],
        );
        check(Some(json!({"a": 1})), Some(json!(2)), &["f: {\"a\": 1} -> 2"]);
    }

    #[test]
    fn long_lists_show_only_the_items_that_differ() {
        let before: Vec<String> = (0..40).map(|at| format!("host-{at}.example.org")).collect();
        let mut after = before.clone();
        after.remove(20);
        after.push("new".to_owned());
        let expected = [
            "f:",
            "    \"host-19.example.org\"",
            "  - \"host-20.example.org\"",
            "    \"host-21.example.org\"",
            "  ...",
            "    \"host-39.example.org\"",
            "  + \"new\"",
        ];
        check(Some(json!(before)), Some(json!(after)), &expected);
    }

    #[test]
    fn multi_line_texts_are_compared_line_by_line() {
        let (before, after) = (json!("one\ntwo\nthree\n"), json!("one\n2\nthree\n"));
        check(Some(before), Some(after), &["f:", "    one", "  - two", "  + 2", "    three"]);
    }

    #[test]
    fn long_texts_are_cut_around_the_difference() {
        let text = |letter: &str| json!(format!("{}{letter}{}", "x".repeat(500), "y".repeat(500)));
        let lines = field_lines(UnitKind::Config, "f", Some(&text("A")), Some(&text("B")));
        assert_eq!(lines.len(), 3);
        assert!(lines[1].starts_with("  - ...xxx") && lines[1].contains("xAy"), "{}", lines[1]);
        assert!(lines[2].starts_with("  + ...xxx") && lines[2].ends_with("yyy... (1003 characters)"), "{}", lines[2]);
    }
}
