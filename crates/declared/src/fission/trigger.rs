//! `HTTPTrigger` and `TimeTrigger`

use milepost_model::unit_put::{RoutePut, SpecError, TargetPut, TimerPut, UnitPut};
use milepost_model::{Selector, UnitKind, suggest};

use super::super::target::selector;
use super::super::yaml::Fields;
use super::super::{Pointer, checks};
use super::Reader;
use super::document::{Object, unit_name};
use super::function::warn_unsupported;

pub const ROUTE_KEYS: [&str; 10] = [
    "host",
    "relativeurl",
    "prefix",
    "keepPrefix",
    "method",
    "methods",
    "functionref",
    "createingress",
    "ingressconfig",
    "corsConfig",
];
pub const TIMER_KEYS: [&str; 4] = ["cron", "functionref", "method", "subpath"];
pub const REF_KEYS: [&str; 5] = ["type", "name", "version", "alias", "functionweights"];

impl Reader<'_> {
    pub fn http_trigger(&mut self, object: Object<'_>) {
        let Object { sink, what, name, mut spec, line } = object;
        let url = set(spec.text_at("relativeurl"));
        let prefix = set(spec.text_at("prefix"));
        let host = spec.text("host").filter(|host| host != "*").unwrap_or_default();
        let one = spec.text_at("method").map(|(method, line)| ("method", method, line));
        let several = spec.texts("methods").into_iter().map(|(method, line)| ("methods", method, line));
        let methods = one.into_iter().chain(several).filter(|(_, method, _)| !method.is_empty());
        let methods: Vec<_> = methods.map(|(key, method, line)| (key, method.to_uppercase(), line)).collect();
        // Report errors under the key names of the document.
        let wrong = |error: Option<SpecError>, key: &str, line: u64| {
            if let Some(error) = error {
                sink.wrong(line, format!("{what}: {}", SpecError { field: key.to_owned(), ..error }));
            }
        };
        for (key, method, line) in &methods {
            wrong(checks::method(method), key, *line);
        }
        for (key, found) in [("relativeurl", &url), ("prefix", &prefix)] {
            if let Some((path, line)) = found {
                wrong(checks::path(path), key, *line);
            }
        }
        warn_unsupported(&mut spec, &["createingress"], "the gateway serves the route at the address of the app");
        warn_unsupported(&mut spec, &["corsConfig"], "answer `OPTIONS` and send the CORS headers in the function");
        let keeps = spec.flag("keepPrefix");
        // Fission trims the prefix as literal text, so one with a variable is never trimmed.
        let strips = |prefix: &str| !keeps && !prefix.contains('{');
        let path = match (url, prefix) {
            (Some(_), Some((_, line))) => {
                sink.wrong_hint(line, format!("{what} has both `relativeurl` and `prefix`"), "keep one of them");
                None
            }
            (None, Some((prefix, _))) => {
                let strip = strips(&prefix);
                Some((prefix, true, strip))
            }
            (Some((url, _)), None) => {
                if keeps {
                    let message = format!("`keepPrefix` of {what} is not carried over");
                    sink.note(spec.line_of("keepPrefix"), message, "it has no effect without `prefix`");
                }
                Some((url, false, false))
            }
            (None, None) => {
                if !spec.is_unreadable("prefix") {
                    spec.missing("relativeurl", "set the path to serve, like `relativeurl: /hello`");
                }
                None
            }
        };
        let target = self.target(&mut spec);
        spec.note_rest(&ROUTE_KEYS, "Milepost has no equivalent");
        let (Some((path, prefix, strip)), Some(target), Some(name)) = (path, target, name) else { return };
        let methods = methods.into_iter().map(|(_, method, _)| method).collect();
        let put = RoutePut { methods, path, prefix, strip, fission: true, host, target };
        self.add(name, UnitPut::Route(put), Vec::new(), sink.place(line));
    }

    pub fn time_trigger(&mut self, object: Object<'_>) {
        let Object { sink, what, name, mut spec, line } = object;
        let cron = spec.need("cron", "write the schedule as five fields, like `cron: \"0 3 * * *\"`");
        if let Some((error, line)) = cron.as_ref().and_then(|(cron, line)| Some((checks::cron(cron)?, line))) {
            sink.wrong(*line, format!("{what}: {error}"));
        }
        let method = spec.text_at("method").filter(|(method, _)| !method.is_empty() && method != "POST");
        if let Some((_, line)) = method {
            let message = format!("`method` of {what} is not supported and has no effect");
            sink.warn_hint(line, message, "a timer calls its function with POST");
        }
        warn_unsupported(&mut spec, &["subpath"], "a timer calls its function at `/`");
        let target = self.target(&mut spec);
        spec.note_rest(&TIMER_KEYS, "Milepost has no equivalent");
        let (Some((cron, _)), Some(target), Some(name)) = (cron, target, name) else { return };
        let put = TimerPut { cron, zone: String::new(), target };
        self.add(name, UnitPut::Timer(put), Vec::new(), sink.place(line));
    }

    fn target(&mut self, spec: &mut Fields<'_>) -> Option<TargetPut> {
        const HINT: &str = "set the function with `functionref: { type: name, name: NAME }`";
        let sink = spec.sink();
        let Some(node) = spec.take_set("functionref") else {
            spec.missing("functionref", HINT);
            return None;
        };
        let line = node.line;
        let by = spec.what().to_owned();
        let what = spec.of("functionref");
        let mut fields = Fields::short(sink, node, line, &what, &REF_KEYS, "name");
        let kind = fields.text_at("type").filter(|(kind, _)| !kind.is_empty());
        let weights = fields.take_set("functionweights").map(|node| node.line);
        let by_weight = kind.as_ref().filter(|(kind, _)| kind == "function-weights").map(|(_, line)| *line);
        if let Some(line) = by_weight.or(weights) {
            let message = format!("{by} splits requests by weight (`function-weights`), which is not supported");
            let hint = "refer to one function; to switch versions, follow an alias with `alias: stable`";
            sink.wrong_hint(line, message, hint);
        }
        let shared_out = by_weight.or(weights).is_some();
        if let Some((kind, line)) = kind.filter(|(kind, _)| kind != "name" && by_weight.is_none()) {
            let near = suggest::closest(&kind, ["name"]);
            let hint = if near.is_empty() { "write `type: name`" } else { "did you mean `name`?" };
            sink.wrong_hint(line, format!("unknown `functionref` type `{kind}`"), hint);
        }
        let name = if shared_out { set(fields.text_at("name")) } else { fields.need("name", HINT) };
        let (alias, version) = (set(fields.text_at("alias")), set(fields.text_at("version")));
        let version = selector(sink, &what, alias, version);
        let (name, line) = name?;
        let function = unit_name(sink, UnitKind::Function, &name, line, &format!("{what}: "))?;
        self.refer(UnitKind::Function, &function, &by, sink.place(line));
        let (version, line) = version?;
        if let Some(line) = line.filter(|_| version != Selector::Latest) {
            let (function, version) = (function.clone(), version.clone());
            self.pointers.push(Pointer { place: sink.place(line), by, function, version });
        }
        Some(TargetPut { function, version })
    }
}

/// Treats the empty values that tools write as absent.
fn set(found: Option<(String, u64)>) -> Option<(String, u64)> {
    found.filter(|(text, _)| !text.is_empty())
}
