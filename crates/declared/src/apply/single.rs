//! Like an apply, for a change from command-line options: uploads and builds first, then the
//! change.

use std::sync::Arc;

use milepost_client::source::Source;
use milepost_model::base::Base;
use milepost_model::build::BuildRequest;
use milepost_model::change::{Change, UnitKey};
use milepost_model::spec::{EnvironmentSpec, PackageSpec};
use milepost_model::unit_put::{PackagePut, UnitPut, VersionRef};
use milepost_model::{ChangeOutcome, Code, Selector, UnitKind, UnitName};

use super::environments::Environments;
use super::{build, draft, files};
use crate::error::Result;
use crate::session::Session;

/// Sends a change with packages made of these files, and runs the necessary builds.
pub async fn land(session: &Session<'_>, mut change: Change, sources: Vec<Arc<Source>>) -> Result<ChangeOutcome> {
    if change.dry_run {
        let mut outcome = session.change(&change).await?;
        let roots = sources.iter().filter_map(|source| Some((source.root().ok()?, source))).collect::<Vec<_>>();
        let local = |root| {
            let found = roots.iter().find(|(known, _)| *known == root);
            found.and_then(|(_, source)| source.tree().ok())
        };
        files::explain(session, &mut outcome, local).await;
        return Ok(outcome);
    }
    if !sources.is_empty() {
        session.upload(sources).await?;
    }
    let mut again = true;
    loop {
        if change.puts.iter().any(|put| may_need_a_build(&put.unit)) {
            change.dry_run = true;
            let plan = session.change(&change).await?;
            change.dry_run = false;
            let mut requests = Vec::new();
            for name in &plan.builds {
                requests.extend(request(session, &change, name).await?);
            }
            build::all(session, requests).await?;
        }
        match session.in_flight.landing(session.change(&change)).await {
            Err(error) if again && error.code() == Some(Code::BuildNeeded) => again = false,
            outcome => return outcome,
        }
    }
}

/// A package with a source, or an update of one that may have been made from a source.
fn may_need_a_build(unit: &UnitPut) -> bool {
    matches!(unit, UnitPut::Package(package) if package.source.is_some() || (package.merge && package.deployment.is_none()))
}

/// An update inherits omitted values from the current version.
async fn request(session: &Session<'_>, change: &Change, name: &UnitName) -> Result<Option<BuildRequest>> {
    let Some((package, _)) = draft::package(&change.puts, name) else { return Ok(None) };
    let base = if package.merge { base(session, name, change.on).await } else { None };
    let Some(source) = package.source.or(base.as_ref().and_then(|base| base.source)) else { return Ok(None) };
    let command = package.build_command.clone().or_else(|| base.as_ref().map(|base| base.build_command.clone()));
    let Some(environment) = environment(session, package, base.as_ref()).await? else { return Ok(None) };
    Ok(Some(BuildRequest { package: name.clone(), source, environment, command: command.unwrap_or_default() }))
}

async fn base(session: &Session<'_>, name: &UnitName, on: Base) -> Option<PackageSpec> {
    let key = UnitKey { kind: UnitKind::Package, name: name.clone() };
    let version = match on {
        Base::Head => session.client.unit_get(session.app, &key).await.ok()?.current,
        Base::Live => {
            let number = session.version_on(&key, on).await.ok()??;
            session.client.version_get(session.app, &key, &number).await.ok()?
        }
    };
    serde_json::from_value(version.spec).ok()
}

async fn environment(
    session: &Session<'_>,
    package: &PackagePut,
    base: Option<&PackageSpec>,
) -> Result<Option<EnvironmentSpec>> {
    let mut environments = Environments::default();
    if let Some(named) = &package.environment {
        return environments.exact(session, named).await.map(Some);
    }
    let Some(pin) = base.map(|base| &base.environment) else { return Ok(None) };
    let version = pin.number.map_or(Selector::Latest, Selector::Number);
    environments.exact(session, &VersionRef { name: pin.name.clone(), version }).await.map(Some)
}
