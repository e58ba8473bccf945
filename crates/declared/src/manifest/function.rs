//! `functions:`

use std::collections::{BTreeMap, BTreeSet};

use milepost_model::unit_put::{FunctionPut, PackagePut, ScalePut, UnitPut, VersionRef};
use milepost_model::{Selector, UnitKind, UnitName};

use super::super::yaml::{Fields, Key, Node, text};
use super::super::{TreeSlot, checks};
use super::package::environment_hint;
use super::{Found, called, keys};
use crate::values::{parse_duration_ms, parse_memory, parse_permission};

pub(super) const KEYS: [&str; keys::FUNCTION_KEYS.len()] = keys::names(&keys::FUNCTION_KEYS);
const SCALE_KEYS: [&str; keys::SCALE_KEYS.len()] = keys::names(&keys::SCALE_KEYS);

impl Found<'_> {
    pub(super) fn function(&mut self, key: &Key, node: Node) {
        let what = called(UnitKind::Function, key);
        let name = self.own_name(UnitKind::Function, key);
        // A duplicate was already reported. It is checked but not added.
        let name = name.filter(|name| self.earlier(UnitKind::Function, name).is_none());
        let mut fields = Fields::read(self.sink, node, key.line, &what, &KEYS);
        let environment = self.environment_of(&mut fields);
        let package = self.code(&mut fields, key, name.as_ref(), environment.as_ref());
        let put = FunctionPut {
            package,
            environment,
            entrypoint: fields.text("entrypoint"),
            variables: self.variables(&mut fields),
            secrets: self.secrets(&mut fields),
            configmaps: self.configmaps(&mut fields),
            permission: fields.parsed("permission", parse_permission),
            memory: fields.parsed("memory", parse_memory),
            cpu: fields.parsed("cpu", whole_number),
            timeout_ms: fields.parsed("timeout", parse_duration_ms),
            scale: scale(&mut fields),
            ..FunctionPut::default()
        };
        for error in checks::function(&put) {
            let written = match error.field.as_str() {
                "timeoutMs" => "timeout",
                "scale.concurrency" => "scale",
                field => field,
            };
            self.sink.wrong(fields.line_of(written), format!("{what}: {error}"));
        }
        let description = fields.text("description");
        let Some(name) = name else { return };
        self.add(name, UnitPut::Function(put), Vec::new(), key.line).put.description = description;
    }

    /// The code of a function: its own package, declared alongside it, or a shared one.
    fn code(
        &mut self,
        fields: &mut Fields<'_>,
        key: &Key,
        name: Option<&UnitName>,
        environment: Option<&VersionRef>,
    ) -> Option<VersionRef> {
        let what = fields.what().to_owned();
        let (include, exclude) = (fields.texts("include"), fields.texts("exclude"));
        let build = fields.text_at("build");
        let (src, package) = (fields.text_at("src"), fields.text_at("package"));
        let mut code = None;
        if let (Some(_), Some((_, line))) = (&src, &package) {
            let hint = "keep `src` for its own code, or `package` for a shared package";
            self.sink.wrong_hint(*line, format!("{what} has both `src` and `package`"), hint);
        }
        if let (None, None) = (&src, &package) {
            if fields.is_unreadable("src") {
                self.is_there(UnitKind::Package, &format!("{}-pkg", key.text));
            }
            super::super::files::check_alone(self.sink, &what, &include, &exclude);
            if !fields.is_unreadable("package") {
                let hint = format!("set its code with `src: {}/`, or a shared package with `package: NAME`", key.text);
                fields.missing("src", &hint);
            }
            if environment.is_none() && !fields.is_unreadable("package") {
                fields.missing("env", &environment_hint());
            }
        }
        if let Some((package, line)) = &package {
            let given = [
                (build.as_ref().map(|(_, line)| *line), "build"),
                (include.first().map(|(_, line)| *line), "include"),
                (exclude.first().map(|(_, line)| *line), "exclude"),
            ];
            for (line, key) in given.into_iter().filter(|_| src.is_none()).filter_map(|(line, key)| Some((line?, key)))
            {
                let message = format!("{what} has both `{key}` and `package`");
                self.sink.wrong_hint(line, message, format!("move `{key}` to the package"));
            }
            code = self.refer(UnitKind::Package, package, *line, &what, &format!("`package` of {what}: "));
        }
        if let Some((src, line)) = src {
            if environment.is_none() {
                fields.missing("env", &environment_hint());
            }
            let slot = if build.is_some() { TreeSlot::Source } else { TreeSlot::Code };
            let files = self.files(&what, "src", &src, line, &include, &exclude);
            if package.is_some() {
                return None;
            }
            let package = self.own_package(name?, key.line)?;
            let put = PackagePut {
                environment: environment.cloned(),
                build_command: build.map(|(command, _)| command),
                ..PackagePut::default()
            };
            let trees = files.map(|files| (slot, files)).into_iter().collect();
            self.add(package.clone(), UnitPut::Package(put), trees, key.line);
            code = Some(package);
        }
        Some(VersionRef { name: code?, version: Selector::Latest })
    }

    pub(super) fn variables(&self, fields: &mut Fields<'_>) -> BTreeMap<String, Option<String>> {
        let what = fields.what().to_owned();
        let pair = |(key, node): (Key, Node)| {
            if let Some(error) = checks::variable(&key.text) {
                self.sink.wrong(key.line, format!("{what}: {error}"));
            }
            let value = text(self.sink, node, &format!("variable `{}` of {what}", key.text))?;
            Some((key.text, Some(value)))
        };
        fields.values("vars", "write each as `MODE: fast`").into_iter().filter_map(pair).collect()
    }

    fn configmaps(&self, fields: &mut Fields<'_>) -> BTreeSet<UnitName> {
        let what = fields.of("configmaps");
        let names = fields.names("configmaps", "list keys of the configuration, like `configmaps: [mail]`");
        let parsed = names.into_iter().filter_map(|(name, line)| match checks::configmap(&name) {
            Ok(name) => Some(name),
            Err(error) => {
                self.sink.wrong(line, format!("{what}: {error}"));
                None
            }
        });
        parsed.collect()
    }

    fn secrets(&mut self, fields: &mut Fields<'_>) -> BTreeSet<UnitName> {
        let what = fields.of("secrets");
        let names = fields.names("secrets", super::SECRETS_HINT);
        names.into_iter().filter_map(|(name, line)| self.claim(&name, line, &what, fields.what())).collect()
    }
}

fn scale(fields: &mut Fields<'_>) -> Option<ScalePut> {
    let node = fields.take("scale")?;
    let line = node.line;
    let mut fields = Fields::read(fields.sink(), node, line, &fields.of("scale"), &SCALE_KEYS);
    Some(ScalePut {
        min: fields.parsed("min", whole_number),
        max: fields.parsed("max", whole_number),
        concurrency: fields.parsed("concurrency", whole_number),
        idle_ms: fields.parsed("idle", parse_duration_ms),
    })
}

fn whole_number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("`{text}` is not a whole number"))
}
