//! `routes:` and `timers:`

use std::collections::BTreeSet;

use milepost_model::unit_put::{RoutePut, TargetPut, TimerPut, UnitPut};
use milepost_model::{Selector, UnitKind, suggest};

use super::super::target::selector;
use super::super::yaml::{Content, Fields, Key, Node, meant, text};
use super::super::{Pointer, checks};
use super::{Found, called, keys};

const ROUTE_KEYS: [&str; keys::ROUTE_KEYS.len()] = keys::names(&keys::ROUTE_KEYS);
/// Keys of a route that is written as a map with `path` and `method`.
const WHOLE_ROUTE_KEYS: [&str; keys::WHOLE_ROUTE_KEYS.len()] = keys::names(&keys::WHOLE_ROUTE_KEYS);
/// Keys that identify this form.
const WHOLE_ROUTE_MARKS: [&str; 4] = ["path", "method", "methods", "function"];
pub(super) const TIMER_KEYS: [&str; keys::TIMER_KEYS.len()] = keys::names(&keys::TIMER_KEYS);
const ROUTE_FORM: &str = "write `- GET /hello: hello`, or `- { path: /hello, method: GET, function: hello }`";

/// A route without its target.
struct Parts {
    what: String,
    line: u64,
    /// None if it is invalid, which has been reported.
    path: Option<(String, u64)>,
    methods: Vec<(String, u64)>,
    prefix: bool,
    /// The line of `strip`, if it is set.
    strip: Option<u64>,
    fission: bool,
    host: String,
    own_name: Option<(String, u64)>,
}

impl Found<'_> {
    /// Reads an item of the list, or a value in place of the list; then `is_reported` is set,
    /// because that was already reported.
    pub(super) fn route(&mut self, node: Node, is_reported: bool) {
        let Node { line, content } = node;
        let sink = self.sink;
        let report = || {
            if !is_reported {
                let message = "a route must be one line with a method, a path and a function";
                sink.wrong_hint(line, message, ROUTE_FORM);
            }
        };
        let mut entries = match content {
            Content::Map(entries) => entries,
            // The whole route is in quotes.
            Content::Scalar(_, text) => {
                report();
                if let Some((key, function)) = text.split_once(": ") {
                    let function = Content::Scalar(function.into(), function.trim().to_owned());
                    self.one_route(&Key { line, text: key.to_owned() }, Node { line, content: function }, true);
                }
                return;
            }
            _ => return report(),
        };
        if is_whole(&entries) {
            return self.whole_route(line, entries, None);
        }
        let beside = matches!(entries.first(), Some((_, Node { content: Content::Null, .. })));
        if beside && entries.len() > 1 && entries[1..].iter().all(|(key, _)| ROUTE_KEYS.contains(&key.text.as_str())) {
            let (key, _) = entries.remove(0);
            let message = format!("the keys of {} must be nested under it", called(UnitKind::Route, &key));
            self.sink.wrong_hint(entries[0].0.line, message, "indent these lines deeper than the route");
            return self.one_route(&key, Node { line, content: Content::Map(entries) }, false);
        }
        if entries.len() != 1 {
            report();
            if !is_reported {
                // Items that only lack their `-` are read anyway.
                entries.retain(|(key, _)| key.text.contains('/'));
            }
        }
        entries.into_iter().for_each(|(key, target)| self.one_route(&key, target, is_reported));
    }

    /// A route in the form `METHODS PATH: target`. `is_reported`: the wrong form was already
    /// reported.
    fn one_route(&mut self, key: &Key, target: Node, is_reported: bool) {
        let line = key.line;
        let what = called(UnitKind::Route, key);
        let split = match key.text.split_once(char::is_whitespace) {
            Some((methods, path)) => Some((methods, path.trim())),
            None if key.text.starts_with('/') => Some(("", key.text.as_str())),
            None => {
                // Written under a name, like a timer.
                let has_path = |entries: &[(Key, Node)]| entries.iter().any(|(key, _)| key.text == "path");
                let is_named = matches!(&target.content, Content::Map(entries) if has_path(entries));
                if !(is_reported && is_named) {
                    self.sink.wrong_hint(line, format!("`{}` is not a route", key.text), ROUTE_FORM);
                }
                if let (Content::Map(entries), true) = (&target.content, is_named) {
                    return self.whole_route(line, entries.clone(), Some(key));
                }
                None
            }
        };
        let in_key = split.map_or("", |(methods, _)| methods).split(',').map(|method| (upper(method), line));
        let mut parts = Parts {
            what: what.clone(),
            line,
            path: split.map(|(_, path)| (path.to_owned(), line)),
            methods: in_key.filter(|(method, _)| !method.is_empty()).collect(),
            prefix: false,
            strip: None,
            fission: false,
            host: String::new(),
            own_name: None,
        };
        let target = if target.has_keys() {
            let mut fields = Fields::read(self.sink, target, line, &what, &ROUTE_KEYS);
            parts.take(&mut fields);
            self.target(&mut fields)
        } else {
            let at = target.line;
            let function = text(self.sink, target, &what);
            function.and_then(|function| self.function_target(&function, at, line, &what, Selector::Latest))
        };
        self.add_route(parts, target);
    }

    /// A route as a map with `path` and `method`. `name` is the key that it was wrongly written
    /// under.
    fn whole_route(&mut self, line: u64, entries: Vec<(Key, Node)>, name: Option<&Key>) {
        let said = |key: &str| entries.iter().find(|(found, _)| found.text == key).and_then(|(_, node)| meant(node));
        let what = match (said("method").or_else(|| said("methods")), said("path")) {
            (_, None) => "a route".to_owned(),
            (None, Some(path)) => format!("route `{path}`"),
            (Some(method), Some(path)) => format!("route `{} {path}`", method.to_uppercase()),
        };
        let node = Node { line, content: Content::Map(entries) };
        let mut fields = Fields::read(self.sink, node, line, &what, &WHOLE_ROUTE_KEYS);
        let path = fields.need("path", "set the path to serve, like `path: /hello`");
        let methods = fields.texts("method").into_iter();
        let methods = methods
            .flat_map(|(methods, line)| methods.split(',').map(|method| (upper(method), line)).collect::<Vec<_>>());
        let own_name = name.map(|name| (name.text.clone(), name.line));
        let mut parts = Parts {
            what,
            line,
            path,
            methods: methods.collect(),
            prefix: false,
            strip: None,
            fission: false,
            host: String::new(),
            own_name,
        };
        parts.take(&mut fields);
        let target = self.target(&mut fields);
        self.add_route(parts, target);
    }

    fn add_route(&mut self, parts: Parts, target: Option<TargetPut>) {
        let Parts { what, line, path, methods, prefix, strip, fission, host, own_name } = parts;
        for (error, line) in methods.iter().filter_map(|(method, line)| Some((checks::method(method)?, *line))) {
            self.sink.wrong(line, format!("{what}: {error}"));
        }
        let methods: BTreeSet<String> = methods.into_iter().map(|(method, _)| method).collect();
        let names: Vec<&str> = methods.iter().map(String::as_str).collect();
        let wrong_path = path.as_ref().and_then(|(path, line)| Some((checks::path(path)?, *line)));
        if let Some((error, line)) = &wrong_path {
            self.sink.wrong(*line, format!("{what}: {error}"));
        }
        if let (Some((path, _)), Some(line), None) = (&path, strip, &wrong_path)
            && let Some(error) = checks::strip(path, prefix)
        {
            self.sink.wrong(line, format!("{what}: {error}"));
        }
        let by_path =
            |path: &str| if names.is_empty() { path.to_owned() } else { format!("{} {path}", names.join(",")) };
        // Do not also report a name that is derived from an invalid path.
        let given = own_name.or_else(|| {
            let (path, line) = path.as_ref().filter(|_| wrong_path.is_none())?;
            Some((by_path(path), *line))
        });
        let name = given.and_then(|(name, line)| self.name(UnitKind::Route, &name, line, ""));
        if let Some((name, first)) = name.as_ref().and_then(|name| Some((name, self.earlier(UnitKind::Route, name)?))) {
            let message = format!("duplicate route `{name}`, first declared on line {}", first.place.line);
            let same = matches!(&first.put.unit, UnitPut::Route(first) if first.host.eq_ignore_ascii_case(&host));
            let hint = if same { "keep one of them" } else { "give one of them another `name`" };
            self.sink.wrong_hint(line, message, hint);
        }
        let (Some((path, _)), Some(target), Some(name)) = (path, target, name) else { return };
        let put = RoutePut { methods, path, prefix, strip: strip.is_some(), fission, host, target };
        self.add(name, UnitPut::Route(put), Vec::new(), line);
    }

    pub(super) fn timer(&mut self, key: &Key, node: Node) {
        let what = called(UnitKind::Timer, key);
        let mut fields = Fields::read(self.sink, node, key.line, &what, &TIMER_KEYS);
        let cron = fields.need("cron", "write the schedule as five fields, like `cron: \"0 3 * * *\"`");
        let zone = fields.text_at("zone");
        let wrong_cron = cron.as_ref().and_then(|(cron, line)| Some((checks::cron(cron)?, *line)));
        let wrong_zone = zone.as_ref().and_then(|(zone, line)| Some((checks::zone(zone)?, *line)));
        for (error, line) in wrong_cron.into_iter().chain(wrong_zone) {
            self.sink.wrong(line, format!("{what}: {error}"));
        }
        let target = self.target(&mut fields);
        let name = self.own_name(UnitKind::Timer, key);
        let (Some((cron, _)), Some(target), Some(name)) = (cron, target, name) else { return };
        let put = TimerPut { cron, zone: zone.map(|(zone, _)| zone).unwrap_or_default(), target };
        self.add(name, UnitPut::Timer(put), Vec::new(), key.line);
    }

    fn target(&mut self, fields: &mut Fields<'_>) -> Option<TargetPut> {
        let what = fields.what().to_owned();
        let function = fields.need("function", "set the function with `function: hello`");
        let (alias, version) = (fields.text_at("alias"), fields.text_at("version"));
        let version = selector(self.sink, &what, alias, version);
        let (function, line) = function?;
        let target = self.function_target(&function, line, fields.line, &what, Selector::Latest)?;
        let (version, line) = version?;
        if let Some(line) = line.filter(|_| version != Selector::Latest) {
            let (function, version) = (target.function.clone(), version.clone());
            self.pointers.push(Pointer { place: self.sink.place(line), by: what, function, version });
        }
        Some(TargetPut { version, ..target })
    }

    /// `at` is the line of the trigger, where errors about the reference are reported.
    fn function_target(&mut self, name: &str, line: u64, at: u64, what: &str, version: Selector) -> Option<TargetPut> {
        let function = self.name(UnitKind::Function, name, line, &format!("{what}: "))?;
        self.refer(UnitKind::Function, name, at, what, "")?;
        Some(TargetPut { function, version })
    }
}

impl Parts {
    /// Takes the keys that both forms of a route have.
    fn take(&mut self, fields: &mut Fields<'_>) {
        self.prefix = fields.flag("prefix");
        self.strip = fields.flag("strip").then(|| fields.line_of("strip"));
        self.fission = fields.flag("fission");
        self.host = fields.text("host").unwrap_or_default();
        self.methods.extend(fields.texts("methods").into_iter().map(|(method, line)| (upper(&method), line)));
        self.own_name = fields.text_at("name").or(self.own_name.take());
    }
}

fn upper(method: &str) -> String {
    method.trim().to_uppercase()
}

/// Whether these are the keys of a route, instead of `METHODS PATH`.
fn is_whole(entries: &[(Key, Node)]) -> bool {
    let marks = |key: &Key| {
        WHOLE_ROUTE_MARKS.contains(&key.text.as_str())
            || entries.len() > 1 && !suggest::closest(&key.text, WHOLE_ROUTE_MARKS).is_empty()
    };
    entries.iter().all(|(key, _)| !key.text.contains('/')) && entries.iter().any(|(key, _)| marks(key))
}
