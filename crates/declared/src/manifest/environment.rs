//! `environments:`

use std::collections::BTreeMap;

use milepost_model::UnitKind;
use milepost_model::spec::{EnvironmentSpec, Runtime};
use milepost_model::unit_put::UnitPut;

use super::super::yaml::{Content, Fields, Key, Node, text};
use super::{Found, called, keys};

pub(super) const KEYS: [&str; keys::ENVIRONMENT_KEYS.len()] = keys::names(&keys::ENVIRONMENT_KEYS);
const RUNTIMES: &str = "the runtimes are `python`, `node` and `binary`";

impl Found<'_> {
    pub(super) fn environment(&mut self, key: Key, node: Node) {
        let what = called(UnitKind::Environment, &key);
        let name = self.own_name(UnitKind::Environment, &key);
        let line = node.line;
        let (runtime, interpreter, builder, variables) = if node.has_keys() || node.content == Content::Null {
            let mut fields = Fields::read(self.sink, node, key.line, &what, &KEYS);
            let runtime = fields.need("runtime", RUNTIMES);
            let variables = self.variables(&mut fields);
            (runtime, fields.text("interpreter"), fields.text("builder"), variables)
        } else {
            (text(self.sink, node, &what).map(|runtime| (runtime, line)), None, None, BTreeMap::new())
        };
        let parse = |(text, line): (String, u64)| match text.parse::<Runtime>() {
            Ok(runtime) => Some(runtime),
            Err(error) => {
                self.sink.wrong(line, format!("`runtime` of {what}: {error}"));
                None
            }
        };
        let spec = EnvironmentSpec {
            // Only a placeholder: the error was reported, so nothing is sent.
            runtime: runtime.and_then(parse).unwrap_or(Runtime::Python),
            interpreter: interpreter.unwrap_or_default(),
            builder: builder.unwrap_or_default(),
            variables: variables.into_iter().filter_map(|(name, value)| Some((name, value?))).collect(),
        };
        let Some(name) = name else { return };
        self.add(name, UnitPut::Environment(spec), Vec::new(), key.line);
    }
}
