pub mod check;

use std::path::{Path, PathBuf};

use clap::Args;
use milepost_model::release::Release;

use super::shared::{ChangeArgs, told_check};
use crate::args::Global;
use crate::context::Context;
use crate::declared::apply::{self, Applied, HandEdits, Options, tell};
use crate::declared::{self, Declared, Problem};
use crate::failure::{Failure, Result};
use crate::output::Ui;

/// Deploy the app that milepost.yaml describes
///
/// Everything in it becomes one change: a version of each unit that really differs, one app version and one release, all of
/// it or none of it. What needs a build is built first, and only files that the server does not have are sent. What an
/// earlier deploy of the same file made and the file does not name any more is removed; everything else in the app stays.
#[derive(Debug, Args)]
pub struct DeployArgs {
    /// The folder with milepost.yaml in it
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    #[command(flatten)]
    declare: DeclareArgs,
    /// Undo changes that were made by hand since the last deploy of this folder (`--yes` does not imply it)
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    change: ChangeArgs,
}

/// Options of everything that applies a folder.
#[derive(Debug, Clone, Default, Args)]
pub struct DeclareArgs {
    /// Also remove secrets that the folder does not name any more
    #[arg(long)]
    prune_secrets: bool,
    /// Take over what another deployment put
    #[arg(long, visible_alias = "allowconflicts")]
    allow_conflicts: bool,
    /// Also take files outside of the folder, or of the git repository that it is in
    #[arg(long)]
    allow_outside: bool,
    /// Show every line of a build
    #[arg(short, long)]
    verbose: bool,
}

impl DeclareArgs {
    pub fn options(self, change: ChangeArgs) -> Options {
        Options {
            change,
            prune_secrets: self.prune_secrets,
            allow_conflicts: self.allow_conflicts,
            allow_outside: self.allow_outside,
            verbose: self.verbose,
            watching: false,
            hand_edits: HandEdits::Ask,
        }
    }
}

pub async fn run(ui: &Ui, global: &Global, args: DeployArgs) -> Result<()> {
    let read = look_at_manifest(&args.dir, "deploy")?;
    let mut options = args.declare.options(args.change);
    if args.overwrite {
        options.hand_edits = HandEdits::Overwrite;
    }
    apply_declared(ui, global, read, &options).await
}

/// Applies what a folder declares, and shows what that did; or tells all that is wrong with it.
pub async fn apply_declared(ui: &Ui, global: &Global, read: (Declared, Vec<Problem>), options: &Options) -> Result<()> {
    let declared = without_mistakes(ui, global, read, (options.allow_conflicts, options.allow_outside)).await?;
    tell::warnings(ui, &declared);
    tell::unnamed(ui, &declared);
    let context = Context::new(ui, &agreed_app(global, &declared)?)?;
    let applied = apply::stoppable(ui, Box::pin(apply::apply(&context, &declared, options))).await?;
    tell::outcome(&context, &applied, || url_lines(&applied))?;
    told_check(&context, &applied.outcome).await
}

/// What a folder declares, when reading found nothing wrong with it. Otherwise everything is told that is: also what only its
/// files and the app can tell.
pub async fn without_mistakes(
    ui: &Ui,
    global: &Global,
    (mut declared, mut errors): (Declared, Vec<Problem>),
    (allow_conflicts, allow_outside): (bool, bool),
) -> Result<Declared> {
    agreed_app(global, &declared)?;
    if !allow_outside {
        errors.extend(declared::bounds::take_outside(&mut declared));
    }
    if errors.is_empty() {
        return Ok(declared);
    }
    let conflicts = check::complete(ui, global, &mut declared, &mut errors).await;
    errors.extend(conflicts.into_iter().filter(|_| !allow_conflicts));
    errors.sort_by(|one, other| one.place.cmp(&other.place));
    Err(declared::failure(errors, declared.warnings))
}

/// [`with_app`] for those who act on it. A flag was typed for this very command and may name another app; a variable was set
/// for something else perhaps, and units of the wrong app would be removed.
pub fn agreed_app(global: &Global, declared: &Declared) -> Result<Global> {
    if let (true, Some(variable), Some(own)) = (global.app_is_from_environment, &global.app, &declared.app)
        && variable != own.as_str()
    {
        let origin = declared.origin.display();
        let message = format!("`{origin}` is about app `{own}`, and MILEPOST_APP names `{variable}`");
        let hint = format!("unset MILEPOST_APP for app `{own}`, or say `--app {variable}` if that one is meant");
        return Err(Failure::usage(message).hint(hint));
    }
    Ok(with_app(global, declared))
}

/// The app of the folder, unless another is named.
pub fn with_app(global: &Global, declared: &Declared) -> Global {
    let app = global.app.clone().or_else(|| declared.app.as_ref().map(ToString::to_string));
    // A folder without a name is not about the one where the command was typed.
    Global { app: app.or_else(|| Some(crate::context::DEFAULT_APP.to_owned())), ..global.clone() }
}

/// What can be read of the manifest in a folder, and what is wrong with it.
pub fn look_at_manifest(dir: &Path, verb: &str) -> Result<(Declared, Vec<Problem>)> {
    use declared::manifest;
    match manifest::Location::find(dir) {
        Some(_) => declared::look_at_manifest(dir),
        None if !dir.exists() => Err(Failure::usage(format!("there is no `{}`", dir.display()))
            .hint(format!("name the folder that has `{}` in it", manifest::FILE_NAME))),
        None => Err(Failure::usage(format!("there is no `{}` in `{}`", manifest::FILE_NAME, dir.display()))
            .hint(manifest::advice(dir, verb))),
    }
}

/// Where the app is served now, and this release of it.
pub fn url_lines(applied: &Applied) -> Vec<String> {
    let release = applied.outcome.release.as_ref().and_then(|release| release_url(release, &release.id));
    let release = release.map(|url| format!("  release  {url}"));
    if applied.outcome.release.as_ref().is_none_or(|release| release.live) {
        let live = applied.urls.live.iter().map(|url| format!("  live     {url}"));
        return live.chain(release).collect();
    }
    let live = applied.urls.live.iter().map(|url| format!("  live     {url}  (serves another release)"));
    release.into_iter().chain(live).collect()
}

/// The address of a release by one of its names; among its addresses are those of live and of its tags.
pub fn release_url<'a>(release: &'a Release, name: &str) -> Option<&'a String> {
    let named = |name: &str| release.urls.iter().find(|url| url.contains(&format!(".{name}.")));
    named(name).or_else(|| named(&release.id)).or(release.urls.first())
}
