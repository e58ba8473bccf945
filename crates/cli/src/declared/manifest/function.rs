//! `functions:`

use std::collections::{BTreeMap, BTreeSet};

use milepost_model::spec::Pin;
use milepost_model::unit_put::{FunctionPut, PackagePut, ScalePut, UnitPut, VersionRef};
use milepost_model::{Digest, Selector, UnitKind, UnitName};

use super::super::TreeSlot;
use super::super::yaml::{Fields, Key, Node, text};
use super::package::environment_hint;
use super::{Found, called};
use crate::commands::shared::{parse_duration_ms, parse_memory, parse_permission};

const KEYS: [&str; 15] = [
    "env",
    "src",
    "package",
    "entrypoint",
    "include",
    "exclude",
    "build",
    "vars",
    "secrets",
    "permission",
    "memory",
    "cpu",
    "timeout",
    "scale",
    "description",
];
const SCALE_KEYS: [&str; 4] = ["min", "max", "concurrency", "idle"];

impl Found<'_> {
    pub(super) fn function(&mut self, key: &Key, node: Node) {
        let what = called(UnitKind::Function, key);
        let name = self.name(UnitKind::Function, &key.text, key.line, "");
        let mut fields = Fields::read(self.sink, node, key.line, &what, &KEYS);
        let environment = self.environment_of(&mut fields);
        let package = self.code(&mut fields, key, name.as_ref(), environment.as_ref());
        let put = FunctionPut {
            package,
            environment,
            entrypoint: fields.text("entrypoint"),
            variables: self.variables(&mut fields),
            secrets: self.secrets(&mut fields),
            permission: fields.parsed("permission", parse_permission),
            memory: fields.parsed("memory", parse_memory),
            cpu: fields.parsed("cpu", whole_number),
            timeout_ms: fields.parsed("timeout", parse_duration_ms),
            scale: scale(&mut fields),
            ..FunctionPut::default()
        };
        if let Err(problem) = check(&put) {
            self.sink.wrong(key.line, format!("{what}: {problem}"));
        }
        let description = fields.text("description");
        let Some(name) = name else { return };
        self.add(name, UnitPut::Function(put), Vec::new(), key.line).put.description = description;
    }

    /// Its code: a package of its own, which is declared beside it, or one that others may share.
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
        match (fields.text_at("src"), fields.text_at("package")) {
            (Some((src, line)), None) => {
                if environment.is_none() {
                    fields.missing("env", &environment_hint());
                }
                let slot = if build.is_some() { TreeSlot::Source } else { TreeSlot::Code };
                let files = self.files(&what, "src", &src, line, &include, &exclude);
                let package = self.own_package(name?, key.line)?;
                let put = PackagePut {
                    environment: environment.cloned(),
                    build_command: build.map(|(command, _)| command),
                    ..PackagePut::default()
                };
                self.add(package.clone(), UnitPut::Package(put), vec![(slot, files)], key.line);
                Some(VersionRef { name: package, version: Selector::Latest })
            }
            (None, Some((package, line))) => {
                for (given, key) in [
                    (build.map(|(_, line)| line), "build"),
                    (include.first().map(|(_, line)| *line), "include"),
                    (exclude.first().map(|(_, line)| *line), "exclude"),
                ] {
                    if let Some(line) = given {
                        let message = format!("{what} has both `{key}` and `package`");
                        self.sink.wrong_hint(line, message, format!("`{key}` belongs to the package"));
                    }
                }
                let before = format!("`package` of {what}: ");
                let name = self.refer(UnitKind::Package, &package, line, &what, &before)?;
                Some(VersionRef { name, version: Selector::Latest })
            }
            (Some(_), Some((_, line))) => {
                let hint = "keep `src` for code of its own, or `package` for a package that the app has";
                self.sink.wrong_hint(line, format!("{what} has both `src` and `package`"), hint);
                None
            }
            (None, None) => {
                if !fields.is_unreadable("package") {
                    let hint = format!(
                        "name its code with `src: {}/`, or a package of the app with `package: NAME`",
                        key.text
                    );
                    fields.missing("src", &hint);
                }
                None
            }
        }
    }

    fn variables(&self, fields: &mut Fields<'_>) -> BTreeMap<String, Option<String>> {
        let what = fields.what().to_owned();
        let pair = |(key, node): (Key, Node)| {
            let value = text(self.sink, node, &format!("variable `{}` of {what}", key.text))?;
            Some((key.text, Some(value)))
        };
        fields.map("vars").into_iter().filter_map(pair).collect()
    }

    fn secrets(&mut self, fields: &mut Fields<'_>) -> BTreeSet<UnitName> {
        let what = fields.of("secrets");
        let names = fields.texts("secrets");
        names.into_iter().filter_map(|(name, line)| self.claim(&name, line, &what)).collect()
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

/// The server checks this too; here the line is known.
fn check(put: &FunctionPut) -> Result<(), String> {
    let pin = Pin { name: UnitName::config(), number: None, digest: Digest::of(b"") };
    put.resolve(None, pin.clone(), pin).map(drop).map_err(|error| error.to_string())
}
