//! `functions:`

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use milepost_model::spec::{BUILT_IN_ENVIRONMENTS, Pin};
use milepost_model::unit_put::{FunctionPut, ScalePut, VersionRef};
use milepost_model::{Digest, Selector, UnitKind, UnitName};

use super::error::ManifestError;
use super::fields::{Fields, text};
use super::node::{Content, Key, Node};
use super::{Place, source_path};
use crate::commands::shared::{parse_duration_ms, parse_memory, parse_permission};

type Result<T> = std::result::Result<T, ManifestError>;

const KEYS: [&str; 14] = [
    "env",
    "src",
    "package",
    "entrypoint",
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

#[derive(Debug)]
pub struct FunctionItem {
    pub name: UnitName,
    pub description: Option<String>,
    pub code: Code,
    /// Complete but for the package.
    pub put: FunctionPut,
}

#[derive(Debug)]
pub enum Code {
    /// Becomes a package of its own.
    Own { package: UnitName, src: PathBuf, exclude: Vec<String> },
    /// A package that the app has.
    Shared(VersionRef),
}

impl FunctionItem {
    pub fn own_package(&self) -> Option<&UnitName> {
        match &self.code {
            Code::Own { package, .. } => Some(package),
            Code::Shared(_) => None,
        }
    }

    pub fn source(&self) -> Option<&Path> {
        match &self.code {
            Code::Own { src, .. } => Some(src),
            Code::Shared(_) => None,
        }
    }
}

pub fn read(key: Key, node: Node, place: &Place) -> Result<FunctionItem> {
    let what = format!("function `{}`", key.text);
    let name = UnitName::for_kind(UnitKind::Function, &key.text)
        .map_err(|error| ManifestError::new(key.line, error.to_string()))?;
    let mut fields = Fields::read(node, key.line, &what, &KEYS)?;
    if let Some(build) = fields.take("build") {
        return Err(ManifestError::new(build.line, format!("`build` of {what}: builds come with a later version"))
            .hint("run the command yourself, and name what it makes as `src`"));
    }
    let environment = environment(&mut fields)?;
    let code = code(&mut fields, &name, place)?;
    if environment.is_none() && matches!(code, Code::Own { .. }) {
        let names = BUILT_IN_ENVIRONMENTS.map(|(name, _)| name).join(", ");
        return Err(ManifestError::new(fields.line, format!("{what} has no `env`"))
            .hint(format!("say what runs it: {names}, or an environment of the app")));
    }
    let put = FunctionPut {
        environment,
        entrypoint: fields.text("entrypoint")?,
        variables: variables(&mut fields)?,
        secrets: secrets(&mut fields)?,
        permission: fields.parsed("permission", parse_permission)?,
        memory: fields.parsed("memory", parse_memory)?,
        cpu: fields.parsed("cpu", whole_number)?,
        timeout_ms: fields.parsed("timeout", parse_duration_ms)?,
        scale: scale(&mut fields)?,
        ..FunctionPut::default()
    };
    check(&put, key.line, &what)?;
    Ok(FunctionItem { name, description: fields.text("description")?, code, put })
}

fn environment(fields: &mut Fields) -> Result<Option<VersionRef>> {
    let Some(node) = fields.take("env") else { return Ok(None) };
    let line = node.line;
    if matches!(node.content, Content::Map(_)) {
        let message = format!("`env` of {} names what runs it, like `python`", fields.what());
        return Err(ManifestError::new(line, message).hint("variables are set under `vars`"));
    }
    let name = text(node, &format!("`env` of {}", fields.what()))?;
    let name = UnitName::for_kind(UnitKind::Environment, &name)
        .map_err(|error| ManifestError::new(line, format!("`env` of {}: {error}", fields.what())))?;
    Ok(Some(VersionRef { name, version: Selector::Latest }))
}

fn code(fields: &mut Fields, name: &UnitName, place: &Place) -> Result<Code> {
    let what = fields.what().to_owned();
    let exclude = fields.texts("exclude")?.into_iter().map(|(pattern, _)| pattern).collect();
    let src = fields.text_at("src")?;
    let package = fields.text_at("package")?;
    match (src, package) {
        (Some((src, line)), None) => {
            let package = UnitName::for_kind(UnitKind::Package, &format!("{name}-pkg"))
                .map_err(|error| ManifestError::new(fields.line, error.to_string()))?;
            Ok(Code::Own { package, src: source_path(place, &src, line, &what)?, exclude })
        }
        (None, Some((package, line))) => {
            let name = UnitName::for_kind(UnitKind::Package, &package)
                .map_err(|error| ManifestError::new(line, format!("`package` of {what}: {error}")))?;
            Ok(Code::Shared(VersionRef { name, version: Selector::Latest }))
        }
        (Some(_), Some((_, line))) => Err(ManifestError::new(line, format!("{what} has both `src` and `package`"))
            .hint("keep `src` for code of its own, or `package` for a package that the app has")),
        (None, None) => Err(ManifestError::new(fields.line, format!("{what} has no `src`"))
            .hint(format!("name its code with `src: {name}/`, or a package of the app with `package: NAME`"))),
    }
}

fn variables(fields: &mut Fields) -> Result<std::collections::BTreeMap<String, Option<String>>> {
    let what = fields.what().to_owned();
    let pair = |(key, node): (Key, Node)| {
        let value = text(node, &format!("variable `{}` of {what}", key.text))?;
        Ok((key.text, Some(value)))
    };
    fields.map("vars")?.into_iter().map(pair).collect()
}

fn secrets(fields: &mut Fields) -> Result<BTreeSet<UnitName>> {
    let what = fields.what().to_owned();
    let secret = |(name, line): (String, u64)| {
        UnitName::for_kind(UnitKind::Secret, &name)
            .map_err(|error| ManifestError::new(line, format!("`secrets` of {what}: {error}")))
    };
    fields.texts("secrets")?.into_iter().map(secret).collect()
}

fn scale(fields: &mut Fields) -> Result<Option<ScalePut>> {
    let Some(node) = fields.take("scale") else { return Ok(None) };
    let line = node.line;
    let mut fields = Fields::read(node, line, &format!("`scale` of {}", fields.what()), &SCALE_KEYS)?;
    Ok(Some(ScalePut {
        min: fields.parsed("min", whole_number)?,
        max: fields.parsed("max", whole_number)?,
        concurrency: fields.parsed("concurrency", whole_number)?,
        idle_ms: fields.parsed("idle", parse_duration_ms)?,
    }))
}

fn whole_number(text: &str) -> std::result::Result<u32, String> {
    text.parse().map_err(|_| format!("`{text}` is not a whole number"))
}

/// The server checks this too; here the line is known.
fn check(put: &FunctionPut, line: u64, what: &str) -> Result<()> {
    let pin = Pin { name: UnitName::config(), number: None, digest: Digest::of(b"") };
    put.resolve(None, pin.clone(), pin).map(drop).map_err(|error| ManifestError::new(line, format!("{what}: {error}")))
}
