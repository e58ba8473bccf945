//! Finds what runs for a package with a source: the result that the app already has, or that of a
//! build. No version points at a source that failed to build.

use milepost_model::refusal::Part;
use milepost_model::spec::{EnvironmentSpec, PackageSpec};
use milepost_model::{Code, Digest, Next, Refusal, UnitName, UnitSpec, build};

use super::Draft;
use crate::error::{CatalogError, Result};
use crate::tables::{builds, contents};
use crate::work::Work;

/// A package that must be built before the change can be applied.
pub(super) struct Needed {
    pub package: UnitName,
    /// What it would be built from, for the error.
    from: String,
}

/// Fills in the built tree and its build log. If there is no result, records the package, so that
/// one error can list all of them.
pub(super) async fn fill(
    work: &mut Work<'_>,
    draft: &mut Draft<'_>,
    package: &UnitName,
    spec: &mut PackageSpec,
    current: Option<&PackageSpec>,
) -> Result<()> {
    let Some(source) = spec.source else { return Ok(()) };
    // A result that a merged put kept belongs to the former environment and command.
    (spec.deployment, spec.build_log) = (None, None);
    let environment = environment(work, &spec.environment.digest)
        .await?
        .ok_or_else(|| CatalogError::inconsistent(format!("the environment of package {package} is empty")))?;
    let same = |current: &&PackageSpec| current.source == Some(source) && current.build_command == spec.build_command;
    // A tree that was uploaded along with a source is not the result of a build. A built tree has a
    // log, or is the source itself.
    let was_built = |current: &&PackageSpec| {
        current.deployment.is_some() && (current.build_log.is_some() || current.deployment == current.source)
    };
    if let Some(current) = current.filter(same).filter(was_built)
        && let Some(former) = self::environment(work, &current.environment.digest).await?
        && build::builds_alike(&former, &environment)
    {
        (spec.deployment, spec.build_log) = (current.deployment, current.build_log);
        return Ok(());
    }
    for key in [build::key, build::former_key] {
        let key = key(source, &environment, &spec.build_command);
        if let Some(row) = builds::find_by_key(work.tx, work.app.id, &key).await?
            && builds::touch(work.tx, row.id, work.act.at).await?
        {
            (spec.deployment, spec.build_log) = (row.build.deployment, row.build.log);
            return Ok(());
        }
    }
    let command = if spec.build_command.is_empty() { "the usual command" } else { &spec.build_command };
    let from = format!("source {source}, environment {}, {command}", spec.environment.name);
    draft.builds.push(Needed { package: package.clone(), from });
    Ok(())
}

/// Returns an environment by its digest, unless all versions with it were deleted.
async fn environment(work: &mut Work<'_>, digest: &Digest) -> Result<Option<EnvironmentSpec>> {
    let found = contents::find(work.tx, work.app.id, digest).await?;
    Ok(found.and_then(|spec| if let UnitSpec::Environment(environment) = spec { Some(environment) } else { None }))
}

pub(super) fn check(draft: &Draft<'_>) -> Result<()> {
    let names: Vec<String> = draft.builds.iter().map(|needed| format!("`{}`", needed.package)).collect();
    let message = match names.as_slice() {
        _ if draft.dry_run => return Ok(()),
        [] => return Ok(()),
        [name] => format!("package {name} has not been built from this source"),
        _ => format!("packages {} have not been built from these sources", names.join(", ")),
    };
    let part = |needed: &Needed| Part::new(format!("package {}", needed.package), needed.from.clone());
    Err(Refusal::new(Code::BuildNeeded, message)
        .next(Next::Build)
        .parts(draft.builds.iter().map(part).collect())
        .into())
}
