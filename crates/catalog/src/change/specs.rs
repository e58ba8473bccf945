//! Turns what a change asks for into what is stored: selectors become pins, and omitted fields keep
//! or get their value.

use milepost_model::refusal::Field;
use milepost_model::spec::{EnvironmentSpec, PackageSpec, Pin, PinRole, SecretSpec};
use milepost_model::unit_put::{PackagePut, Put, TargetPut, VersionRef, check_static, check_variables};
use milepost_model::{Code, Next, Refusal, UnitKind, UnitName, UnitPut, UnitSpec, Warning};

use super::{Draft, builds};
use crate::error::{CatalogError, Result};
use crate::resolve;
use crate::tables::units;
use crate::tables::versions::VersionRow;
use crate::tables::{aliases, contents};
use crate::work::Work;

pub(super) struct Resolved {
    pub spec: UnitSpec,
    /// The ids of the pinned versions.
    pub pins: Vec<(PinRole, i64)>,
    /// The uid of the package version, if the user asked to adopt it.
    pub uid: Option<String>,
}

impl From<UnitSpec> for Resolved {
    fn from(spec: UnitSpec) -> Self {
        Self { spec, pins: Vec::new(), uid: None }
    }
}

pub(super) async fn resolve(
    work: &mut Work<'_>,
    draft: &mut Draft<'_>,
    put: &Put,
    base: Option<&UnitSpec>,
) -> Result<Resolved> {
    match &put.unit {
        UnitPut::Environment(spec) => {
            check_runs(&put.name, spec)?;
            check_variables(&spec.variables).map_err(Refusal::from)?;
            Ok(UnitSpec::Environment(spec.clone()).into())
        }
        UnitPut::Secret(_) => {
            let secret = draft.secrets.get(&put.name);
            let secret =
                secret.ok_or_else(|| CatalogError::inconsistent(format!("secret {} came unsealed", put.name)))?;
            Ok(UnitSpec::Secret(SecretSpec { fingerprint: secret.fingerprint }).into())
        }
        UnitPut::Config(config) => {
            let base = if let Some(UnitSpec::Config(base)) = base { Some(base) } else { None };
            Ok(UnitSpec::Config(config.resolve(base).map_err(Refusal::from)?).into())
        }
        UnitPut::Static(spec) => {
            check_static(spec).map_err(Refusal::from)?;
            Ok(UnitSpec::Static(spec.clone()).into())
        }
        UnitPut::Package(package) => {
            let base = if let Some(UnitSpec::Package(base)) = base { Some(base) } else { None };
            let of_function = of_function_on(work, draft, &put.name).await?;
            let kept = base.filter(|_| package.merge).map(|base| &base.environment).or(of_function.as_ref());
            let environment = environment(work, draft, put, package.environment.as_ref(), kept).await?;
            let mut spec = package.resolve(base, environment.pin).map_err(Refusal::from)?;
            check_command(&put.name, package, &spec)?;
            if package.deployment.is_none() {
                builds::fill(work, draft, &put.name, &mut spec, base).await?;
            }
            Ok(Resolved {
                spec: UnitSpec::Package(spec),
                pins: vec![(PinRole::Environment, environment.id)],
                uid: None,
            })
        }
        UnitPut::Function(function) => {
            let base = if let Some(UnitSpec::Function(base)) = base { Some(base) } else { None };
            let kept = base.filter(|_| function.merge);
            let package = match (&function.package, kept) {
                (Some(wanted), _) => pinned(work, UnitKind::Package, &wanted.name, wanted).await?,
                (None, Some(kept)) => existing_pin(work, UnitKind::Package, &kept.package).await?,
                (None, None) => {
                    let message = format!("function `{}` has no code", put.name);
                    return Err(Refusal::new(Code::InvalidSpec, message)
                        .next(Next::Give { field: Field::Code })
                        .into());
                }
            };
            let of_package = package_environment(work, &package.row).await?;
            let kept = if function.package.is_some() {
                Some(&of_package)
            } else {
                kept.map(|kept| &kept.environment).or(Some(&of_package))
            };
            let environment = environment(work, draft, put, function.environment.as_ref(), kept).await?;
            let spec = function.resolve(base, package.pin, environment.pin).map_err(Refusal::from)?;
            warn_of_missing_secrets(work, draft, &put.name, &spec.secrets).await?;
            let pins = vec![(PinRole::Package, package.id), (PinRole::Environment, environment.id)];
            let uid = function.adopt_package_uid.then(|| package.row.uid.clone());
            Ok(Resolved { spec: UnitSpec::Function(spec), pins, uid })
        }
        UnitPut::Route(route) => {
            let pin = target(work, &route.target).await?;
            let pins = pin.iter().map(|pin| (PinRole::Target, pin.id)).collect();
            let spec = route.resolve(pin.map(|pin| pin.pin)).map_err(Refusal::from)?;
            Ok(Resolved { spec: UnitSpec::Route(spec), pins, uid: None })
        }
        UnitPut::Timer(timer) => {
            let pin = target(work, &timer.target).await?;
            let pins = pin.iter().map(|pin| (PinRole::Target, pin.id)).collect();
            let spec = timer.resolve(pin.map(|pin| pin.pin)).map_err(Refusal::from)?;
            Ok(Resolved { spec: UnitSpec::Timer(spec), pins, uid: None })
        }
    }
}

/// Returns the environment that a function of the same change keeps when it moves to this package.
/// A function that had its code elsewhere gets a package of its own, which must not change its
/// runtime.
async fn of_function_on(work: &mut Work<'_>, draft: &Draft<'_>, package: &UnitName) -> Result<Option<Pin>> {
    for put in draft.puts {
        let UnitPut::Function(function) = &put.unit else { continue };
        let moves_here = function.package.as_ref().is_some_and(|wanted| wanted.name == *package);
        if !moves_here || !function.merge {
            continue;
        }
        let Some(unit) = units::find(work.tx, work.app.id, UnitKind::Function, &put.name).await? else { continue };
        if let Some(UnitSpec::Function(current)) = super::put::current(work, &unit).await?.map(|current| current.spec) {
            return Ok(Some(current.environment));
        }
    }
    Ok(None)
}

/// Rejects a build command for a package without a source: it would be stored and never run.
fn check_command(name: &UnitName, package: &PackagePut, spec: &PackageSpec) -> Result<()> {
    let asked = package.build_command.as_ref().is_some_and(|command| !command.is_empty());
    if !asked || package.deployment.is_some() || spec.source.is_some() {
        return Ok(());
    }
    let message = format!("package `{name}` has a build command but no source");
    Err(Refusal::new(Code::InvalidSpec, message)
        .next(Next::Give { field: Field::Source })
        .next(Next::LeaveOut { field: Field::BuildCommand })
        .into())
}

struct Pinned {
    pin: Pin,
    id: i64,
    row: VersionRow,
}

async fn pinned(work: &mut Work<'_>, kind: UnitKind, name: &UnitName, wanted: &VersionRef) -> Result<Pinned> {
    let unit = units::get_present(work.tx, &work.app, kind, name).await?;
    let row = resolve::version(work.tx, &unit, &wanted.version).await?;
    let pin = Pin { name: name.clone(), number: Some(row.number), digest: row.digest };
    Ok(Pinned { pin, id: row.id, row })
}

/// Returns the version that an earlier version of the same unit was pinned to, even if there is a
/// newer one.
async fn existing_pin(work: &mut Work<'_>, kind: UnitKind, pin: &Pin) -> Result<Pinned> {
    let selector = milepost_model::Selector::Digest(pin.digest.hex());
    pinned(work, kind, &pin.name, &VersionRef { name: pin.name.clone(), version: selector }).await
}

async fn package_environment(work: &mut Work<'_>, package: &VersionRow) -> Result<Pin> {
    let content_id = package
        .content_id
        .ok_or_else(|| CatalogError::inconsistent(format!("package version {} is empty", package.id)))?;
    match contents::get(work.tx, content_id).await? {
        UnitSpec::Package(spec) => Ok(spec.environment),
        _ => Err(CatalogError::inconsistent(format!("version {} is not a package", package.id))),
    }
}

/// Returns the requested environment, or else the one to keep. A built-in environment joins the app
/// on first use.
async fn environment(
    work: &mut Work<'_>,
    draft: &mut Draft<'_>,
    put: &Put,
    wanted: Option<&VersionRef>,
    kept: Option<&Pin>,
) -> Result<Pinned> {
    let Some(wanted) = wanted else {
        let Some(kept) = kept else {
            let message = format!("{} `{}` needs an environment", put.unit.kind(), put.name);
            return Err(Refusal::new(Code::InvalidSpec, message).next(Next::Give { field: Field::Environment }).into());
        };
        let environment = existing_pin(work, UnitKind::Environment, kept).await?;
        return running(work, draft, environment).await;
    };
    let unit = units::find(work.tx, work.app.id, UnitKind::Environment, &wanted.name).await?;
    let present = unit.is_some_and(|unit| unit.current_version_id.is_some());
    if !present {
        let Some(spec) = EnvironmentSpec::built_in(wanted.name.as_str()) else {
            if wanted.name.as_str() == "wasm" {
                return Err(does_not_run(&wanted.name).into());
            }
            return Err(units::unknown_environment(work.tx, &work.app, &wanted.name).await?.into());
        };
        super::put::add_built_in(work, draft, &wanted.name, spec).await?;
    }
    let environment = pinned(work, UnitKind::Environment, &wanted.name, wanted).await?;
    running(work, draft, environment).await
}

/// Rejects an environment that no runtime supports. Such environments may be stored from before
/// they were rejected.
async fn running(work: &mut Work<'_>, draft: &mut Draft<'_>, environment: Pinned) -> Result<Pinned> {
    if draft.running.contains(&environment.id) {
        return Ok(environment);
    }
    if let Some(content) = environment.row.content_id
        && let UnitSpec::Environment(spec) = contents::get(work.tx, content).await?
    {
        check_runs(&environment.pin.name, &spec)?;
    }
    draft.running.insert(environment.id);
    Ok(environment)
}

fn check_runs(name: &UnitName, spec: &EnvironmentSpec) -> Result<()> {
    if spec.runtime.runs() { Ok(()) } else { Err(does_not_run(name).into()) }
}

fn does_not_run(name: &UnitName) -> Refusal {
    Refusal::new(Code::InvalidSpec, format!("environment `{name}` cannot be used: wasm functions do not run yet"))
        .correct("use the runtime python, node or binary")
}

/// Returns the function version that a trigger is pinned to, or `None` if it follows the release or
/// an alias. The function and the alias must exist.
async fn target(work: &mut Work<'_>, wanted: &TargetPut) -> Result<Option<Pinned>> {
    let unit = units::get_present(work.tx, &work.app, UnitKind::Function, &wanted.function).await?;
    if let milepost_model::Selector::Alias(alias) = &wanted.version
        && aliases::find(work.tx, unit.id, alias).await?.is_none()
    {
        return Err(resolve::unknown_alias(work.tx, &unit, alias.as_str()).await?.into());
    }
    if !wanted.is_pinned() {
        return Ok(None);
    }
    let reference = VersionRef { name: wanted.function.clone(), version: wanted.version.clone() };
    pinned(work, UnitKind::Function, &wanted.function, &reference).await.map(Some)
}

async fn warn_of_missing_secrets(
    work: &mut Work<'_>,
    draft: &mut Draft<'_>,
    function: &UnitName,
    secrets: &std::collections::BTreeSet<UnitName>,
) -> Result<()> {
    for secret in secrets {
        let unit = units::find(work.tx, work.app.id, UnitKind::Secret, secret).await?;
        if unit.is_none_or(|unit| unit.current_version_id.is_none()) {
            let (function, secret) = (function.to_string(), secret.to_string());
            draft.notices.push(Warning::SecretNotSet { function, secret });
        }
    }
    Ok(())
}
