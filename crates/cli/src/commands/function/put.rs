//! What `create` and `update` have in common: the options of a function, and the puts they become.

use std::sync::Arc;

use clap::Args;
use milepost_client::source::Source;
use milepost_model::spec::FunctionPermission;
use milepost_model::unit_put::{FunctionPut, PackagePut, Put, PutOnly, ScalePut, UnitPut, VersionRef};
use milepost_model::{GroupName, Selector, UnitKind, UnitName};

use crate::commands::shared::{
    self, ChangeArgs, NameArgs, parse_duration_ms, parse_label, parse_memory, parse_pair, parse_permission,
};
use crate::context::Context;
use crate::declared::checks;
use crate::failure::{Failure, Result};
use crate::sources::CodeArgs;

#[derive(Debug, Clone, Args)]
pub struct FunctionArgs {
    #[command(flatten)]
    pub name: NameArgs,
    #[command(flatten)]
    pub code: CodeArgs,
    /// Use this package instead of code of its own; the version of it is given with `--version`
    #[arg(long, visible_alias = "package", value_name = "PACKAGE", conflicts_with_all = ["code", "src", "deploy", "buildcmd"])]
    pub pkg: Option<String>,
    /// With `--pkg`, the version of the package; otherwise the label of the new version
    #[arg(long, value_name = "VERSION")]
    pub version: Option<String>,
    /// Your own name of the new version, like `v1.0.1`
    #[arg(long, value_name = "LABEL")]
    pub label: Option<String>,
    /// The environment: python, nodejs, binary, or one of the app's own
    #[arg(long, value_name = "ENVIRONMENT")]
    pub env: Option<String>,
    /// What is called, like `main.main`
    #[arg(long, value_name = "ENTRYPOINT")]
    pub entrypoint: Option<String>,
    /// An environment variable (can be repeated)
    #[arg(long = "var", value_name = "KEY=VALUE", value_parser = parse_pair)]
    pub variables: Vec<(String, String)>,
    /// Take a variable away (can be repeated)
    #[arg(long = "unset-var", value_name = "KEY")]
    pub unset_variables: Vec<String>,
    /// A secret that the function gets (can be repeated)
    #[arg(long = "secret", value_name = "NAME")]
    pub secrets: Vec<String>,
    /// Take a secret away (can be repeated)
    #[arg(long = "unset-secret", value_name = "NAME")]
    pub without_secrets: Vec<String>,
    /// A member of the configuration that the function gets as files in `/configs/APP/NAME/` (can be repeated)
    #[arg(long = "configmap", value_name = "NAME")]
    pub configmaps: Vec<String>,
    /// Take a configmap away (can be repeated)
    #[arg(long = "unset-configmap", value_name = "NAME")]
    pub without_configmaps: Vec<String>,
    /// Who may call it: public, token or internal
    #[arg(long, value_name = "WHO", value_parser = parse_permission)]
    pub permission: Option<FunctionPermission>,
    /// Memory, like `128Mi`
    #[arg(long, visible_alias = "maxmemory", value_name = "SIZE", value_parser = parse_memory)]
    pub memory: Option<u64>,
    /// Thousandths of a core
    #[arg(long, visible_alias = "maxcpu", value_name = "MILLICORES")]
    pub cpu: Option<u32>,
    /// How long a call may take, like `10s`
    #[arg(long, visible_alias = "fntimeout", value_name = "TIME", value_parser = parse_duration_ms)]
    pub timeout: Option<u64>,
    /// Instances that are always there
    #[arg(long, visible_alias = "minscale", value_name = "COUNT")]
    pub min: Option<u32>,
    /// Instances at the most
    #[arg(long, visible_alias = "maxscale", value_name = "COUNT")]
    pub max: Option<u32>,
    /// Calls that one instance takes at once
    #[arg(long, value_name = "COUNT")]
    pub concurrency: Option<u32>,
    /// How long an unused instance stays, like `5m`
    #[arg(long, visible_alias = "idletimeout", value_name = "TIME", value_parser = parse_duration_ms)]
    pub idle: Option<u64>,
    /// What the version is about
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// Put the new version into this group
    #[arg(long, value_name = "GROUP")]
    pub tag: Option<String>,
}

/// What kind of command the puts are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The function must be new.
    Create,
    /// A version is made in any case: the user asked for one.
    Version,
    /// What is not given is kept, and an equal version is not made.
    Update,
}

impl FunctionArgs {
    fn has_code(&self) -> bool {
        self.code.is_given() || self.pkg.is_some()
    }

    /// The puts: the package, if the function has one of its own, and the function; and the files that have to be sent.
    pub async fn puts(&self, mode: Mode) -> Result<(Vec<Put>, Vec<Arc<Source>>)> {
        let name = self.name.key(UnitKind::Function)?.name;
        // A version without code is one of the code that is there.
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
        // A version of the package that is named is meant, also when its content is the same.
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

    /// Says which group has the version: the table of a change does not.
    pub fn tell_group(&self, context: &Context<'_>, change: &ChangeArgs) {
        if let Some(group) = self.tag.as_ref().filter(|_| !change.dry_run) {
            context.ui.say(&format!("Function {} is in group {group}.", self.name.get()));
        }
    }

    /// A Fission document names the environment of every function; an app would know it from earlier versions.
    pub fn needs_environment(&self) -> Result<()> {
        if self.env.is_some() {
            return Ok(());
        }
        Err(Failure::usage("a spec needs the environment of the function")
            .hint("name it with `--env`, like `--env python`"))
    }

    fn environment(&self) -> Result<Option<VersionRef>> {
        let Some(name) = &self.env else { return Ok(None) };
        Ok(Some(VersionRef { name: UnitName::for_kind(UnitKind::Environment, name)?, version: Selector::Latest }))
    }

    /// The package of `--pkg`; a version of it that is named gives the function its uid (seed 003).
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
