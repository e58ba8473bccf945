//! Reads a channel's documents. Tolerates unknown fields, any order and the seed's time format;
//! strict about the rest, with errors that name file and field.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::Timestamp;

use super::index::{All, CLOCK_TOLERANCE_S, Entry, IndexError, Latest, MAX_ALL_BYTES, MAX_LATEST_BYTES, MAX_VERSIONS};
use super::name::{ChannelName, PackageName};
use super::semver::shorten;
use super::tag::MAX_TAG;

/// One object of a document, from which known fields are removed. The rest is unknown and kept.
struct Fields {
    file: &'static str,
    /// The object's path in the file, with a trailing dot.
    path: String,
    map: Map<String, Value>,
}

fn wrong(file: &'static str, field: impl Into<String>, problem: impl Into<String>) -> IndexError {
    IndexError { file, field: field.into(), problem: problem.into() }
}

impl Fields {
    fn of(file: &'static str, path: &str, value: Value) -> Result<Self, IndexError> {
        match value {
            Value::Object(map) if path.is_empty() => Ok(Self { file, path: String::new(), map }),
            Value::Object(map) => Ok(Self { file, path: format!("{path}."), map }),
            other => Err(wrong(file, path, format!("an object is needed, and this is {}", kind(&other)))),
        }
    }

    fn document(file: &'static str, bytes: &[u8], bound: usize) -> Result<Self, IndexError> {
        if bytes.len() > bound {
            return Err(wrong(file, "", format!("it has {} bytes, more than the limit of {bound}", bytes.len())));
        }
        let value = serde_json::from_slice(bytes).map_err(|error| {
            let half = if error.is_eof() { "it ends too early, perhaps it is being written; " } else { "" };
            wrong(file, "", format!("it is not JSON: {half}{error}"))
        })?;
        Self::of(file, "", value)
    }

    fn error(&self, field: &str, problem: impl Into<String>) -> IndexError {
        wrong(self.file, format!("{}{field}", self.path), problem)
    }

    fn text(&mut self, field: &str) -> Result<String, IndexError> {
        match self.map.remove(field) {
            Some(Value::String(text)) => Ok(text),
            Some(other) => Err(self.error(field, format!("a text is needed, and this is {}", kind(&other)))),
            None => Err(self.error(field, "it is missing")),
        }
    }

    fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(&mut self, field: &str) -> Result<T, IndexError> {
        let text = self.text(field)?;
        text.parse().map_err(|error: T::Err| self.error(field, error.to_string()))
    }

    fn kind(&mut self, expected: &str) -> Result<(), IndexError> {
        let found = self.text("type")?;
        if found == expected {
            return Ok(());
        }
        Err(self.error("type", format!("it is `{}`, and this file has `{expected}`", shorten(&found))))
    }

    fn latest(&mut self) -> Result<Option<Entry>, IndexError> {
        match self.map.remove("latest") {
            None => Err(self.error("latest", "it is missing; a channel without a latest version says `null`")),
            Some(Value::Null) => Ok(None),
            Some(value) => entry(self.file, "latest", value).map(Some),
        }
    }

    fn entries(&mut self, field: &str) -> Result<Option<Vec<Entry>>, IndexError> {
        let list = match self.map.remove(field) {
            None => return Ok(None),
            Some(Value::Array(list)) => list,
            Some(other) => return Err(self.error(field, format!("a list is needed, and this is {}", kind(&other)))),
        };
        if list.len() > MAX_VERSIONS {
            return Err(
                self.error(field, format!("it has {} entries, more than the limit of {MAX_VERSIONS}", list.len()))
            );
        }
        let numbered = list.into_iter().enumerate();
        numbered
            .map(|(at, value)| entry(self.file, &format!("{field}[{at}]"), value))
            .collect::<Result<_, _>>()
            .map(Some)
    }

    fn rest(self) -> BTreeMap<String, Value> {
        self.map.into_iter().collect()
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

pub(super) fn entry(file: &'static str, path: &str, value: Value) -> Result<Entry, IndexError> {
    let mut fields = Fields::of(file, path, value)?;
    let version = fields.parsed::<super::SemVer>("version")?;
    if version.as_str().len() > MAX_TAG {
        return Err(fields.error("version", format!("it has more than {MAX_TAG} characters")));
    }
    let id = fields.parsed("id")?;
    let time = fields.text("createTime")?;
    let create_time = super::time::parse(&time).ok_or_else(|| {
        fields.error("createTime", format!("`{}` is not a time; write it like `2019-09-12T17:39:04Z`", shorten(&time)))
    })?;
    let registry = if fields.map.contains_key("registry") { Some(fields.text("registry")?) } else { None };
    if registry.as_ref().is_some_and(|registry| !is_repository(registry)) {
        return Err(fields.error("registry", "it is not a repository; write it like `registry.example.com/team/shop`"));
    }
    Ok(Entry { version, id, create_time, registry, extra: fields.rest() })
}

/// `host[:port]/path`, restricted so that nothing can be injected into a URL.
fn is_repository(text: &str) -> bool {
    let Some((host, path)) = text.split_once('/') else { return false };
    let (name, port) = host.split_once(':').unwrap_or((host, "0"));
    let name_fits =
        name.split(['.', '-']).all(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    name_fits && port.parse::<u16>().is_ok() && super::semver::is_number(port) && path.parse::<PackageName>().is_ok()
}

pub(super) fn latest(bytes: &[u8]) -> Result<Latest, IndexError> {
    let mut fields = Fields::document("latest", bytes, MAX_LATEST_BYTES)?;
    fields.kind("channel")?;
    let name = fields.parsed("name")?;
    let package = fields.parsed("package")?;
    let latest = fields.latest()?;
    if let Some(entry) = &latest {
        check_admitted("latest", "latest.version", &name, entry)?;
    }
    Ok(Latest { name, package, latest, extra: fields.rest() })
}

pub(super) fn all(bytes: &[u8]) -> Result<All, IndexError> {
    let mut fields = Fields::document("all", bytes, MAX_ALL_BYTES)?;
    fields.kind("all")?;
    let name = fields.parsed("name")?;
    let package = fields.parsed("package")?;
    let latest = fields.latest()?;
    let mut versions = fields.entries("versions")?.ok_or_else(|| fields.error("versions", "it is missing"))?;
    let mut unpublished = fields.entries("unpublished")?.unwrap_or_default();
    for (at, entry) in versions.iter().enumerate() {
        check_admitted("all", &format!("versions[{at}].version"), &name, entry)?;
    }
    sort(&mut versions);
    sort(&mut unpublished);
    check_duplicates(&versions, &unpublished)?;
    if let Some(entry) = &latest {
        check_latest(entry, &versions)?;
    }
    // The list decides what is fetched; `latest` may have a short id where the list has the full
    // digest.
    let latest = latest.and_then(|_| versions.first().cloned());
    Ok(All { name, package, latest, versions, unpublished, extra: fields.rest() })
}

/// Newest first.
pub(super) fn sort(entries: &mut [Entry]) {
    entries.sort_by(|a, b| b.cmp_channel(a));
}

fn check_admitted(file: &'static str, field: &str, name: &ChannelName, entry: &Entry) -> Result<(), IndexError> {
    if name.admits(&entry.version) {
        return Ok(());
    }
    let rule = if name.is_stable() {
        "has a pre-release, and `stable` has none".to_owned()
    } else {
        format!("does not begin its pre-release with `{name}`, the name of the channel")
    };
    Err(wrong(file, field, format!("`{}` {rule}", entry.version)))
}

fn check_duplicates(versions: &[Entry], unpublished: &[Entry]) -> Result<(), IndexError> {
    let mut seen = std::collections::HashSet::new();
    match versions.iter().chain(unpublished).find(|entry| !seen.insert(entry.version.as_str())) {
        Some(twice) => Err(wrong("all", "versions", format!("`{}` is there twice", twice.version))),
        None => Ok(()),
    }
}

fn check_latest(latest: &Entry, versions: &[Entry]) -> Result<(), IndexError> {
    let Some(listed) = versions.iter().find(|entry| entry.version == latest.version) else {
        return Err(wrong("all", "latest", format!("`{}` is not in `versions`", latest.version)));
    };
    if let Some(first) = versions.first().filter(|first| first.version != latest.version) {
        return Err(wrong(
            "all",
            "latest",
            format!("`{}` is lower than `{}` of `versions`", latest.version, first.version),
        ));
    }
    // The seed's own example has two short ids for one version, so short ids are not compared.
    if latest.id.contradicts(&listed.id) {
        return Err(wrong("all", "latest.id", format!("`{}` has another id in `versions`", latest.version)));
    }
    if latest.create_time != listed.create_time {
        return Err(wrong("all", "latest.createTime", format!("`{}` has another time in `versions`", latest.version)));
    }
    Ok(())
}

pub(super) fn expect(
    file: &'static str,
    (package, wanted_package): (&PackageName, &PackageName),
    (name, wanted_name): (&ChannelName, &ChannelName),
) -> Result<(), IndexError> {
    if package != wanted_package {
        return Err(wrong(file, "package", format!("it is `{package}`, and `{wanted_package}` was asked for")));
    }
    if name != wanted_name {
        return Err(wrong(file, "name", format!("it is `{name}`, and `{wanted_name}` was asked for")));
    }
    Ok(())
}

pub(super) fn check_clock(file: &'static str, entry: &Entry, now: Timestamp) -> Result<(), IndexError> {
    if entry.create_time.as_second() - now.as_second() <= CLOCK_TOLERANCE_S {
        return Ok(());
    }
    let problem = format!(
        "`{}` was published at {}, and here it is {now}; one of the two clocks is wrong",
        entry.version, entry.create_time
    );
    Err(wrong(file, "createTime", problem))
}
