//! `routes:` and `timers:`

use std::collections::BTreeSet;

use milepost_model::unit_put::{RoutePut, TargetPut, TimerPut, UnitPut};
use milepost_model::{Selector, UnitKind};

use super::super::yaml::{Content, Fields, Key, Node, text};
use super::{Found, called};

const ROUTE_KEYS: [&str; 7] = ["function", "alias", "version", "prefix", "host", "methods", "name"];
const TIMER_KEYS: [&str; 5] = ["cron", "zone", "function", "alias", "version"];
const ROUTE_FORM: &str = "write `- GET /hello: hello`, or `- GET /hello: { function: hello, alias: stable }`";

impl Found<'_> {
    pub(super) fn route(&mut self, node: Node) {
        let line = node.line;
        let only = match node.content {
            Content::Map(entries) if entries.len() == 1 => entries.into_iter().next(),
            _ => None,
        };
        let Some((key, target)) = only else {
            let message = "a route is one line with a method, a path and a function";
            self.sink.wrong_hint(line, message, ROUTE_FORM);
            return;
        };
        let what = called(UnitKind::Route, &key);
        let (methods, path) = match key.text.split_once(char::is_whitespace) {
            Some((methods, path)) => (methods, path.trim()),
            None if key.text.starts_with('/') => ("", key.text.as_str()),
            None => {
                self.sink.wrong_hint(key.line, format!("`{}` is not a route", key.text), ROUTE_FORM);
                return;
            }
        };
        let upper = |method: &str| method.trim().to_uppercase();
        let mut methods: BTreeSet<String> = methods.split(',').map(upper).filter(|method| !method.is_empty()).collect();
        let (mut prefix, mut host, mut own_name) = (false, String::new(), None);
        let target = match target.content {
            Content::Map(_) => {
                let mut fields = Fields::read(self.sink, target, line, &what, &ROUTE_KEYS);
                prefix = fields.flag("prefix");
                host = fields.text("host").unwrap_or_default();
                methods.extend(fields.texts("methods").iter().map(|(method, _)| upper(method)));
                own_name = fields.text_at("name");
                self.target(&mut fields)
            }
            _ => {
                let line = target.line;
                let function = text(self.sink, target, &what);
                function.and_then(|function| self.function_target(&function, line, key.line, &what, Selector::Latest))
            }
        };
        let names: Vec<&str> = methods.iter().map(String::as_str).collect();
        let name = if names.is_empty() { path.to_owned() } else { format!("{} {path}", names.join(",")) };
        let (name, name_line) = own_name.unwrap_or((name, key.line));
        let Some(target) = target else { return };
        let put = RoutePut { methods, path: path.to_owned(), prefix, host, target };
        if let Err(error) = put.resolve(None) {
            self.sink.wrong(key.line, format!("{what}: {error}"));
            return;
        }
        let Some(name) = self.name(UnitKind::Route, &name, name_line, "") else { return };
        if let Some(place) = self.earlier(UnitKind::Route, &name) {
            let message = format!("route `{name}` is there twice, first on line {}", place.line);
            self.sink.wrong_hint(line, message, "keep one of them");
        }
        self.add(name, UnitPut::Route(put), Vec::new(), line);
    }

    pub(super) fn timer(&mut self, key: &Key, node: Node) {
        let what = called(UnitKind::Timer, key);
        let mut fields = Fields::read(self.sink, node, key.line, &what, &TIMER_KEYS);
        let cron = fields.need("cron", "write the schedule as five fields, like `cron: \"0 3 * * *\"`");
        let zone = fields.text("zone").unwrap_or_default();
        let target = self.target(&mut fields);
        let name = self.name(UnitKind::Timer, &key.text, key.line, "");
        let (Some((cron, _)), Some(target), Some(name)) = (cron, target, name) else { return };
        let put = TimerPut { cron, zone, target };
        if let Err(error) = put.resolve(None) {
            self.sink.wrong(key.line, format!("{what}: {error}"));
        }
        self.add(name, UnitPut::Timer(put), Vec::new(), key.line);
    }

    fn target(&mut self, fields: &mut Fields<'_>) -> Option<TargetPut> {
        let what = fields.what().to_owned();
        let function = fields.need("function", "name the function with `function: hello`");
        let version = match (fields.text_at("alias"), fields.text_at("version")) {
            (Some(_), Some((_, line))) => {
                let hint = "an alias is followed, a version is pinned: keep one";
                self.sink.wrong_hint(line, format!("{what} has both `alias` and `version`"), hint);
                None
            }
            (Some((alias, line)), None) => match alias.strip_prefix('@').unwrap_or(&alias).parse() {
                Ok(alias) => Some(Selector::Alias(alias)),
                Err(error) => {
                    self.sink.wrong(line, format!("`alias` of {what}: {error}"));
                    None
                }
            },
            (None, Some((version, line))) => match version.parse() {
                Ok(version) => Some(version),
                Err(error) => {
                    self.sink.wrong(line, format!("`version` of {what}: {error}"));
                    None
                }
            },
            (None, None) => Some(Selector::Latest),
        };
        let (function, line) = function?;
        self.function_target(&function, line, fields.line, &what, version?)
    }

    /// `at`: the line of the trigger, where people look for it.
    fn function_target(&mut self, name: &str, line: u64, at: u64, what: &str, version: Selector) -> Option<TargetPut> {
        let function = self.name(UnitKind::Function, name, line, &format!("{what}: "))?;
        self.refer(UnitKind::Function, name, at, what, "")?;
        Some(TargetPut { function, version })
    }
}
