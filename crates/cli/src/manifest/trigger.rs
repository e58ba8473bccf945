//! `routes:` and `timers:`

use std::collections::BTreeSet;

use milepost_model::unit_put::{Put, RoutePut, TargetPut, TimerPut, UnitPut};
use milepost_model::{Selector, UnitKind, UnitName};

use super::error::ManifestError;
use super::fields::{Fields, text};
use super::node::{Content, Key, Node};
use crate::commands::shared;

type Result<T> = std::result::Result<T, ManifestError>;

const ROUTE_KEYS: [&str; 5] = ["function", "alias", "version", "prefix", "host"];
const TIMER_KEYS: [&str; 5] = ["cron", "zone", "function", "alias", "version"];
const ROUTE_FORM: &str = "write `- GET /hello: hello`, or `- GET /hello: { function: hello, alias: stable }`";

/// Each with its line.
pub fn routes(nodes: Vec<Node>) -> Result<Vec<(Put, u64)>> {
    let mut found: Vec<(Put, u64)> = Vec::new();
    for node in nodes {
        let (put, line) = route(node)?;
        if let Some((_, earlier)) = found.iter().find(|(other, _)| other.name == put.name) {
            return Err(ManifestError::new(
                line,
                format!("route `{}` is there twice, first on line {earlier}", put.name),
            )
            .hint("keep one of them"));
        }
        found.push((put, line));
    }
    Ok(found)
}

fn route(node: Node) -> Result<(Put, u64)> {
    let line = node.line;
    let (key, target) = match node.content {
        Content::Map(entries) if entries.len() == 1 => entries.into_iter().next(),
        _ => None,
    }
    .ok_or_else(|| {
        ManifestError::new(line, "a route is one line with a method, a path and a function").hint(ROUTE_FORM)
    })?;
    let what = format!("route `{}`", key.text);
    let wrong = |problem: String| ManifestError::new(key.line, problem);
    let (methods, path) = match key.text.split_once(char::is_whitespace) {
        Some((methods, path)) => (methods, path.trim()),
        None if key.text.starts_with('/') => ("", key.text.as_str()),
        None => return Err(wrong(format!("`{}` is not a route", key.text)).hint(ROUTE_FORM)),
    };
    let methods: BTreeSet<String> =
        methods.split(',').map(|method| method.trim().to_uppercase()).filter(|method| !method.is_empty()).collect();
    let (target, prefix, host) = match target.content {
        Content::Map(_) => {
            let mut fields = Fields::read(target, line, &what, &ROUTE_KEYS)?;
            let prefix = fields.flag("prefix")?;
            let host = fields.text("host")?.unwrap_or_default();
            (read_target(&mut fields)?, prefix, host)
        }
        _ => {
            let line = target.line;
            let function = text(target, &what)?;
            (
                TargetPut { function: function_name(&function, line, &what)?, version: Selector::Latest },
                false,
                String::new(),
            )
        }
    };
    let names: Vec<&str> = methods.iter().map(String::as_str).collect();
    let name = if names.is_empty() { path.to_owned() } else { format!("{} {path}", names.join(",")) };
    let put = RoutePut { methods, path: path.to_owned(), prefix, host, target };
    put.resolve(None).map_err(|error| wrong(format!("{what}: {error}")))?;
    let name = UnitName::for_kind(UnitKind::Route, &name).map_err(|error| wrong(error.to_string()))?;
    Ok((shared::put(name, UnitPut::Route(put)), line))
}

pub fn timers(entries: Vec<(Key, Node)>) -> Result<Vec<(Put, u64)>> {
    entries.into_iter().map(|(key, node)| Ok((timer(&key, node)?, key.line))).collect()
}

fn timer(key: &Key, node: Node) -> Result<Put> {
    let what = format!("timer `{}`", key.text);
    let wrong = |problem: String| ManifestError::new(key.line, problem);
    let mut fields = Fields::read(node, key.line, &what, &TIMER_KEYS)?;
    let (cron, _) = fields.need("cron", "write the schedule as five fields, like `cron: \"0 3 * * *\"`")?;
    let zone = fields.text("zone")?.unwrap_or_default();
    let put = TimerPut { cron, zone, target: read_target(&mut fields)? };
    put.resolve(None).map_err(|error| wrong(format!("{what}: {error}")))?;
    let name = UnitName::for_kind(UnitKind::Timer, &key.text).map_err(|error| wrong(error.to_string()))?;
    Ok(shared::put(name, UnitPut::Timer(put)))
}

fn read_target(fields: &mut Fields) -> Result<TargetPut> {
    let what = fields.what().to_owned();
    let (function, line) = fields.need("function", "name the function with `function: hello`")?;
    let alias = fields.text_at("alias")?;
    let version = fields.text_at("version")?;
    let version = match (alias, version) {
        (Some(_), Some((_, line))) => {
            return Err(ManifestError::new(line, format!("{what} has both `alias` and `version`"))
                .hint("an alias is followed, a version is pinned: keep one"));
        }
        (Some((alias, line)), None) => {
            let alias = alias.strip_prefix('@').unwrap_or(&alias).parse();
            Selector::Alias(alias.map_err(|error| ManifestError::new(line, format!("`alias` of {what}: {error}")))?)
        }
        (None, Some((version, line))) => {
            version.parse().map_err(|error| ManifestError::new(line, format!("`version` of {what}: {error}")))?
        }
        (None, None) => Selector::Latest,
    };
    Ok(TargetPut { function: function_name(&function, line, &what)?, version })
}

fn function_name(name: &str, line: u64, what: &str) -> Result<UnitName> {
    UnitName::for_kind(UnitKind::Function, name).map_err(|error| ManifestError::new(line, format!("{what}: {error}")))
}
