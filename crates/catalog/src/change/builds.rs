//! What runs of a package with a source: the result that the app has already, or that of a build. No version points at
//! what did not build.

use milepost_model::spec::PackageSpec;
use milepost_model::{Code, Refusal, UnitName, build};

use super::Draft;
use crate::error::Result;
use crate::tables::builds;
use crate::work::Work;

/// A package that has to be built before the change can be made.
pub(super) struct Needed {
    pub package: UnitName,
    /// What to build, in a line.
    what: String,
}

/// Fills in the tree that runs, and the log that tells how it was made. When there is none, the package is noted, so
/// that all of them are told at once.
pub(super) async fn fill(
    work: &mut Work<'_>,
    draft: &mut Draft<'_>,
    package: &UnitName,
    spec: &mut PackageSpec,
    current: Option<&PackageSpec>,
) -> Result<()> {
    let Some(source) = spec.source else { return Ok(()) };
    // A result that a merged put kept belongs to the environment and the command that made it.
    (spec.deployment, spec.build_log) = (None, None);
    let same = |current: &&PackageSpec| {
        current.source == Some(source)
            && current.environment.digest == spec.environment.digest
            && current.build_command == spec.build_command
    };
    // A tree that somebody sent along with a source is not the result of a build; one has a log, or is the source itself.
    let was_built = |current: &&PackageSpec| {
        current.deployment.is_some() && (current.build_log.is_some() || current.deployment == current.source)
    };
    if let Some(current) = current.filter(same).filter(was_built) {
        (spec.deployment, spec.build_log) = (current.deployment, current.build_log);
        return Ok(());
    }
    let key = build::key(source, spec.environment.digest, &spec.build_command);
    if let Some(row) = builds::find_by_key(work.tx, work.app.id, &key).await?
        && builds::touch(work.tx, row.id, work.act.at).await?
    {
        (spec.deployment, spec.build_log) = (row.build.deployment, row.build.log);
        return Ok(());
    }
    let command = if spec.build_command.is_empty() { "the usual command" } else { &spec.build_command };
    let what = format!("package {package}: source {source}, environment {}, {command}", spec.environment.name);
    draft.builds.push(Needed { package: package.clone(), what });
    Ok(())
}

pub(super) fn check(draft: &Draft<'_>) -> Result<()> {
    let names: Vec<String> = draft.builds.iter().map(|needed| format!("`{}`", needed.package)).collect();
    let message = match names.as_slice() {
        _ if draft.dry_run => return Ok(()),
        [] => return Ok(()),
        [name] => format!("Package {name} has not been built from this source."),
        _ => format!("Packages {} have not been built from these sources.", names.join(", ")),
    };
    Err(Refusal::new(Code::BuildNeeded, message)
        .hint("build it first: `milepost deploy` and `package version create` do")
        .blockers(draft.builds.iter().map(|needed| needed.what.clone()).collect())
        .into())
}
