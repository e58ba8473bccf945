//! Shared by `create` and `update`: the options of a function, and the puts that they become.

use std::sync::Arc;

use clap::Args;
use milepost_client::source::Source;
use milepost_declared::checks;
use milepost_model::spec::FunctionPermission;
use milepost_model::unit_put::{FunctionPut, PackagePut, Put, PutOnly, ScalePut, UnitPut, VersionRef};
use milepost_model::{GroupName, Selector, UnitKind, UnitName};

use super::fission::FissionArgs;
use crate::commands::shared::{
    self, ChangeArgs, NameArgs, parse_duration_ms, parse_label, parse_memory, parse_pair, parse_permission,
};
use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::sources::CodeArgs;

#[derive(Debug, Clone, Args)]
pub struct FunctionArgs {
    #[command(flatten)]
    pub name: NameArgs,
    #[command(flatten)]
    pub code: CodeArgs,
    /// Package to use instead of own code; `--version` selects its version
    #[arg(long, visible_alias = "package", value_name = "PACKAGE", conflicts_with_all = ["code", "src", "deploy", "buildcmd"])]
    pub pkg: Option<String>,
    /// With `--pkg`: version of the package; otherwise: label of the new version
    #[arg(long, value_name = "VERSION")]
    pub version: Option<String>,
    /// Label of the new version, like `v1.0.1`
    #[arg(long, value_name = "LABEL")]
    pub label: Option<String>,
    /// Environment: python, nodejs, binary, or one that the app defines
    #[arg(long, value_name = "ENVIRONMENT")]
    pub env: Option<String>,
    /// Entrypoint to call, like `main.main`
    #[arg(long, value_name = "ENTRYPOINT")]
    pub entrypoint: Option<String>,
    /// Environment variable (can be repeated)
    #[arg(long = "var", value_name = "KEY=VALUE", value_parser = parse_pair)]
    pub variables: Vec<(String, String)>,
    /// Variable to remove (can be repeated)
    #[arg(long = "unset-var", value_name = "KEY")]
    pub unset_variables: Vec<String>,
    /// Secret to give to the function (can be repeated)
    #[arg(long = "secret", value_name = "NAME")]
    pub secrets: Vec<String>,
    /// Secret to remove from the function (can be repeated)
    #[arg(long = "unset-secret", value_name = "NAME")]
    pub without_secrets: Vec<String>,
    /// Configuration key to mount as files in `/configs/APP/NAME/` (can be repeated)
    #[arg(long = "configmap", value_name = "NAME")]
    pub configmaps: Vec<String>,
    /// Configmap to remove (can be repeated)
    #[arg(long = "unset-configmap", value_name = "NAME")]
    pub without_configmaps: Vec<String>,
    /// Who may call the function: public, token or internal
    #[arg(long, value_name = "WHO", value_parser = parse_permission)]
    pub permission: Option<FunctionPermission>,
    /// Memory limit, like `128Mi`
    #[arg(long, visible_alias = "maxmemory", value_name = "SIZE", value_parser = parse_memory)]
    pub memory: Option<u64>,
    /// CPU limit in millicores (thousandths of a core)
    #[arg(long, visible_alias = "maxcpu", value_name = "MILLICORES")]
    pub cpu: Option<u32>,
    /// Time limit of a call, like `10s`
    #[arg(long, visible_alias = "fntimeout", value_name = "TIME", value_parser = parse_duration_ms)]
    pub timeout: Option<u64>,
    /// Minimum number of instances, kept warm
    #[arg(long, visible_alias = "minscale", value_name = "COUNT")]
    pub min: Option<u32>,
    /// Maximum number of instances
    #[arg(long, visible_alias = "maxscale", value_name = "COUNT")]
    pub max: Option<u32>,
    /// Maximum concurrent calls per instance
    #[arg(long, visible_aliases = ["requestsperpod", "rpp"], value_name = "COUNT")]
    pub concurrency: Option<u32>,
    /// How long to keep an idle instance, like `5m`
    #[arg(long, visible_alias = "idletimeout", value_name = "TIME", value_parser = parse_duration_ms)]
    pub idle: Option<u64>,
    /// Description of the version
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// Group to add the new version to
    #[arg(long, value_name = "GROUP")]
    pub tag: Option<String>,
    #[command(flatten)]
    pub fission: FissionArgs,
}

/// The kind of command that the puts are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The function must not exist yet.
    Create,
    /// Always creates a version, because the user asked for one.
    Version,
    /// Keeps what is not given, and creates no version if nothing differs.
    Update,
}

impl FunctionArgs {
    fn has_code(&self) -> bool {
        self.code.is_given() || self.pkg.is_some()
    }

    /// Returns the puts (the function, after its own package if it has code) and the files to
    /// upload.
    pub async fn puts(&self, mode: Mode) -> Result<(Vec<Put>, Vec<Arc<Source>>)> {
        let name = self.name.key(UnitKind::Function)?.name;
        // A version without code options keeps the function's current code.
        let merge = mode == Mode::Update || (mode == Mode::Version && !self.has_code());
        let mut puts = Vec::new();
        let mut files = Vec::new();
        let (package, adopt_package_uid) = if self.code.is_given() {
            let package_name = UnitName::for_kind(UnitKind::Package, &format!("{name}-pkg"))?;
            let code = self.code.scan().await?;
            files = code.files;
            let package = PackagePut {
                merge: mode == Mode::Update,
                environment: self.environment()?,
                source: code.source,
                deployment: code.deployment,
                build_command: self.code.buildcmd.clone(),
                build_log: None,
            };
            puts.push(shared::put(package_name.clone(), UnitPut::Package(package)));
            (Some(VersionRef { name: package_name, version: Selector::Latest }), false)
        } else {
            self.named_package()?
        };
        let function = FunctionPut {
            merge,
            entrypoint: self.entrypoint.clone(),
            package,
            adopt_package_uid,
            environment: self.environment()?,
            variables: self.variables(),
            secrets: secret_names(&self.secrets)?,
            without_secrets: secret_names(&self.without_secrets)?,
            configmaps: configmap_names(&self.configmaps)?,
            without_configmaps: configmap_names(&self.without_configmaps)?,
            permission: self.permission,
            memory: self.memory,
            cpu: self.cpu,
            timeout_ms: self.timeout,
            scale: self.scale(),
        };
        function.check()?;
        if let (Some(label), Some(version), None) = (&self.label, &self.version, &self.pkg) {
            return Err(Failure::usage(format!(
                "`--label {label}` and `--version {version}` both name the new version"
            ))
            .hint("give one of them"));
        }
        let label = self.label.as_deref().or(self.version.as_deref().filter(|_| self.pkg.is_none()));
        let mut put = shared::put(name, UnitPut::Function(function));
        put.label = parse_label(label)?;
        put.description.clone_from(&self.description);
        put.group = self.tag.as_deref().map(str::parse::<GroupName>).transpose()?;
        // An explicit package version always creates a function version, even with equal content.
        let names_package_version = self.pkg.is_some() && self.version.is_some();
        put.force = mode == Mode::Version || put.label.is_some() || names_package_version;
        put.only = match mode {
            Mode::Create => Some(PutOnly::New),
            Mode::Version => None,
            Mode::Update => Some(PutOnly::Existing),
        };
        puts.push(put);
        Ok((puts, files))
    }

    /// Prints the group of the version, which the table of a change does not show.
    pub fn tell_group(&self, context: &Context<'_>, change: &ChangeArgs) {
        if let Some(group) = self.tag.as_ref().filter(|_| !change.dry_run) {
            context.ui.say(&format!("Function {} is in group {group}.", self.name.name()));
        }
    }

    /// Requires `--env`: a Fission document must name the environment, and has no earlier version
    /// to take it from.
    pub fn needs_environment(&self) -> Result<()> {
        if self.env.is_some() {
            return Ok(());
        }
        Err(Failure::usage("a spec needs the environment of the function").hint("add `--env`, like `--env python`"))
    }

    fn environment(&self) -> Result<Option<VersionRef>> {
        let Some(name) = &self.env else { return Ok(None) };
        Ok(Some(VersionRef { name: UnitName::for_kind(UnitKind::Environment, name)?, version: Selector::Latest }))
    }

    /// The package of `--pkg`, and whether the function adopts the uid of its version (seed 003).
    fn named_package(&self) -> Result<(Option<VersionRef>, bool)> {
        let Some(name) = &self.pkg else { return Ok((None, false)) };
        let version = self.version.as_deref().map_or(Ok(Selector::Latest), str::parse)?;
        let name = UnitName::for_kind(UnitKind::Package, name)?;
        Ok((Some(VersionRef { name, version }), true))
    }

    fn variables(&self) -> std::collections::BTreeMap<String, Option<String>> {
        let set = self.variables.iter().map(|(key, value)| (key.clone(), Some(value.clone())));
        set.chain(self.unset_variables.iter().map(|key| (key.clone(), None))).collect()
    }

    fn scale(&self) -> Option<ScalePut> {
        let scale = ScalePut { min: self.min, max: self.max, concurrency: self.concurrency, idle_ms: self.idle };
        (scale != ScalePut::default()).then_some(scale)
    }
}

fn configmap_names(names: &[String]) -> Result<std::collections::BTreeSet<UnitName>> {
    names.iter().map(|name| checks::configmap(name).map_err(Failure::usage)).collect()
}

fn secret_names(names: &[String]) -> Result<std::collections::BTreeSet<UnitName>> {
    names.iter().map(|name| UnitName::for_kind(UnitKind::Secret, name).map_err(Failure::from)).collect()
}
