//! Case-insensitive keys, as Fission reads them.

use super::node::{Key, Node};
use crate::problems::Sink;

/// Finds the entry of a key: the exact spelling wins, else the last one that differs only in case.
pub fn find<'e>(entries: &'e [(Key, Node)], key: &str) -> Option<&'e (Key, Node)> {
    let exact = entries.iter().find(|(found, _)| found.text == key);
    exact.or_else(|| entries.iter().rev().find(|(found, _)| found.text.eq_ignore_ascii_case(key)))
}

/// Renames keys that differ from a known one only in case. Of several for the same key, keeps the
/// one that [`find`] returns and warns about the others.
pub(super) fn fold(sink: &Sink<'_>, called: &str, entries: Vec<(Key, Node)>, known: &[&str]) -> Vec<(Key, Node)> {
    let meant = |text: &str| known.iter().find(|known| known.eq_ignore_ascii_case(text)).copied();
    if entries.iter().all(|(key, _)| meant(&key.text).is_none_or(|meant| meant == key.text)) {
        return entries;
    }
    let used: Vec<bool> = entries
        .iter()
        .map(|entry| {
            let Some(winner) = meant(&entry.0.text).and_then(|meant| find(&entries, meant)) else { return true };
            let is_used = std::ptr::eq(winner, entry);
            if !is_used {
                let message = format!("`{}` of {called} is ignored", entry.0.text);
                sink.warn_hint(
                    entry.0.line,
                    message,
                    format!("`{}` on line {} is the same key: keep one of them", winner.0.text, winner.0.line),
                );
            }
            is_used
        })
        .collect();
    let kept = entries.into_iter().zip(used).filter_map(|(entry, used)| used.then_some(entry));
    kept.map(|(key, node)| {
        let text = meant(&key.text).map_or(key.text.clone(), str::to_owned);
        (Key { text, ..key }, node)
    })
    .collect()
}
