//! Errors and next steps of folders in the words of the command line.

use std::path::Path;

use milepost_declared::manifest::{self, FILE_NAME, starter};
use milepost_declared::{Error, Next, Problem};

use crate::context::DEFAULT_APP;
use crate::failure::Failure;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match error {
            Error::Mistakes { errors, warnings } => mistakes(errors, warnings),
            Error::Client(error) => error.into(),
            Error::Name(error) => error.into(),
            Error::Io(error) => error.into(),
            Error::OutcomeUnknown(error) => {
                Self::new(text).caused_by(&error).hint("check with `milepost app list-version` before you run it again")
            }
            Error::NoFolder { .. } | Error::NotSpecs { .. } => {
                Self::usage(text).hint("pass the folder with `--specdir DIR`, or create one with `milepost spec init`")
            }
            Error::NoSpecs { .. } => {
                Self::usage(text).hint("add `.yaml` files to it; `milepost spec init` writes the first one")
            }
            Error::NoManifest { .. } => {
                Self::usage(text).hint("pass the folder that contains it, or create one with `milepost init`")
            }
            Error::NotYaml { .. } => Self::usage(text).hint("run `milepost deploy --dry-run` to see the mistake"),
            Error::NoVersion { .. } => Self::usage(text).hint("add a line like `version: 1.0.0`"),
            Error::BadVersion { .. } => Self::usage(text).hint("write three numbers, like `version: 1.0.0`"),
            Error::Unreadable { path, source } => Self::unreadable(&path, &source),
            Error::Unwritable { source, .. } => Self::new(text).caused_by(&source),
            Error::Exists { .. } => {
                Self::usage(text).hint("remove it, or write the manifest to another folder with `--out FILE`")
            }
            Error::NotUtf8 { .. } => Self::new(text).hint("rename it: a manifest can only contain UTF-8 paths"),
            Error::Stopped { source, .. } => Self::new(text).caused_by(&source),
            Error::Interrupted(source) => Self::new(text).caused_by(&*source),
            Error::WrongDigest { .. } => {
                Self::new(text).hint("run `milepost doctor`: the server's storage may be damaged")
            }
            Error::InvalidEnvironment(source) => Self::new(text).caused_by(&source),
            Error::NoEnvironment { app, name } => {
                let option = app_option(&app);
                Self::new(text)
                    .hint(format!("create it with `milepost environment create {name} --runtime python{option}`"))
            }
            Error::BuildFailed { app, package, id, reason } => build_failed(&app, &package, id.as_deref(), &reason),
            Error::BuildUnfinished { .. } => Self::new(text).hint("run the command again"),
            Error::HandEdits => Self::new(text).hint("copy them into the folder, or pass `--overwrite` to undo them"),
            Error::Cancelled => Self::cancelled(),
        }
    }
}

/// Combines all problems into one usage failure, because nothing was sent and the files need
/// fixing.
pub fn mistakes(errors: Vec<Problem>, warnings: Vec<Problem>) -> Failure {
    let shown = |problem: &Problem| (format!("{}: {}", problem.place, problem.message), hint(problem));
    let mut errors = errors.iter().map(shown);
    let (message, hint) = errors.next().unwrap_or_default();
    Failure::usage(message).maybe_hint(hint).with_more(errors.collect(), warnings.iter().map(shown).collect())
}

fn build_failed(app: &str, package: &milepost_model::UnitName, id: Option<&str>, reason: &str) -> Failure {
    let reason = reason.trim_end_matches('.');
    match id {
        Some(id) => {
            let message = format!("build {id} of package `{package}` failed: {reason}; nothing was changed");
            let hint = format!("run `milepost build log {id}{}` to see its full output", app_option(app));
            Failure::new(message).hint(hint)
        }
        None => Failure::new(format!("the build of package `{package}` failed: {reason}; nothing was changed")),
    }
}

/// The failure for a manifest that has no version to publish.
pub fn not_publishable(error: Error) -> Failure {
    match error {
        Error::NoManifest { path } => Failure::usage(format!(
            "no milepost.yaml found in `{}`; its `version` is the version to publish",
            path.display()
        ))
        .hint(advice(&path, "publish")),
        error => error.into(),
    }
}

/// How to fix a problem.
pub fn hint(problem: &Problem) -> Option<String> {
    let Some(next) = &problem.next else { return problem.hint.clone() };
    let step = step(next);
    Some(match &problem.hint {
        Some(hint) => format!("{hint} Or {step}"),
        None => step,
    })
}

fn step(next: &Next) -> String {
    match next {
        Next::CreateEnvironment { name, app } => {
            format!("create it with `milepost environment create {name} --runtime python{}`", app_option(app))
        }
        Next::SetSecret { name, app } => format!("set it with `milepost secret set {name}{}`", app_option(app)),
        Next::CreateAlias { function, alias, app } => {
            let option = app_option(app);
            format!("create it with `milepost function alias create --name {function} --alias {alias}{option}`")
        }
        Next::CreateAliasLater { function, alias, app } => format!(
            "the function has no version yet: apply without the alias first, create it with `milepost function alias \
             create --name {function} --alias {alias}{}`, and then restore it",
            app_option(app)
        ),
        Next::ListVersions { function, app } => {
            format!("run `milepost function version list --name {function}{}` to see its versions", app_option(app))
        }
        Next::TakeOver => "remove it from one of the two folders, or take it over with `--allow-conflicts`".to_owned(),
        Next::AllowOutside => {
            "copy the files into the folder, or pass `--allow-outside` if you trust the author of this file".to_owned()
        }
        Next::SetPlan => "request less, or move the app to a larger plan with `milepost plan set`".to_owned(),
    }
}

/// The ` --app shop` option for a command in a hint; empty if the command would use this app
/// anyway.
pub fn app_option(app: &str) -> String {
    let variable = std::env::var("MILEPOST_APP").ok().filter(|app| !app.is_empty());
    let meant = variable.or_else(|| manifest::app_of(Path::new("")));
    let meant = meant.as_deref().unwrap_or(DEFAULT_APP);
    if meant == app { String::new() } else { format!(" --app {app}") }
}

/// Suggests a next step, with a starter manifest if the content of the folder is recognised.
pub fn advice(folder: &Path, verb: &str) -> String {
    if folder.join("milepost.yml").is_file() {
        return format!("rename `milepost.yml` to `{FILE_NAME}`");
    }
    match starter(folder) {
        Some(starter) => {
            let indented: String = starter.manifest.lines().map(|line| format!("    {line}\n")).collect();
            format!(
                "run `milepost init {}` to write this manifest, based on the files in the folder:\n\n{indented}",
                folder.display()
            )
        }
        None => format!(
            "pass a folder that has one, like `milepost {verb} examples/hello`, or create one with `milepost init`"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advises_a_manifest_for_known_content() {
        let folder = tempfile::tempdir().expect("a folder");
        let advised = advice(folder.path(), "up");
        assert!(advised.contains("milepost up examples/hello"), "{advised}");
        std::fs::write(folder.path().join("index.html"), "hi").expect("a file");
        let advised = advice(folder.path(), "up");
        assert!(advised.contains("milepost init") && advised.contains("    static:"), "{advised}");
    }
}
