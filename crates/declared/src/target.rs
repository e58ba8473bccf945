//! The version of its function that a trigger starts.

use milepost_model::Selector;

use super::problems::Sink;

/// Combines `alias` and `version`, each with its line, and returns the line of the one that is set.
/// None if they are invalid, which has been reported.
pub fn selector(
    sink: &Sink<'_>,
    what: &str,
    alias: Option<(String, u64)>,
    version: Option<(String, u64)>,
) -> Option<(Selector, Option<u64>)> {
    if let (Some(_), Some((_, line))) = (&alias, &version) {
        let hint = "keep `alias` to follow an alias, or `version` to pin a version";
        sink.wrong_hint(*line, format!("{what} has both `alias` and `version`"), hint);
    }
    let both = alias.is_some() && version.is_some();
    let line = alias.as_ref().or(version.as_ref()).map(|(_, line)| *line);
    let alias = alias.map(|(alias, line)| {
        let alias = alias.strip_prefix('@').unwrap_or(&alias).parse();
        alias.map(Selector::Alias).map_err(|error| sink.wrong(line, format!("`alias` of {what}: {error}"))).ok()
    });
    let version = version.map(|(version, line)| {
        version.parse().map_err(|error| sink.wrong(line, format!("`version` of {what}: {error}"))).ok()
    });
    let one = alias.or(version).unwrap_or(Some(Selector::Latest)).filter(|_| !both)?;
    Some((one, line))
}
