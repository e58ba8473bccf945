pub mod check;

use std::path::{Path, PathBuf};

use clap::Args;
use milepost_declared::apply::{Applied, HandEdits, Options};
use milepost_declared::{Declared, Problem, bounds, manifest};
use milepost_model::release::Release;

use super::shared::{ChangeArgs, report_check};
use crate::args::Global;
use crate::context::{Context, private_folders};
use crate::failure::{Failure, Result};
use crate::folders::{Terminal, advice, mistakes, tell};
use crate::output::Ui;

/// Deploy the app that milepost.yaml describes
///
/// The manifest becomes one atomic change: a new version of each unit that differs, one app version
/// and one release. Packages that need a build are built first, and only files that the server does
/// not have are uploaded. Units that an earlier deploy of the same manifest created, and that it no
/// longer names, are removed. Everything else in the app stays.
#[derive(Debug, Args)]
pub struct DeployArgs {
    /// Folder that contains milepost.yaml
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    #[command(flatten)]
    declare: DeclareArgs,
    /// Undo manual changes since the last deploy; not implied by `--yes`
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    change: ChangeArgs,
}

/// Options of commands that apply a folder.
#[derive(Debug, Clone, Default, Args)]
pub struct DeclareArgs {
    /// Also remove secrets that the folder no longer names
    #[arg(long)]
    prune_secrets: bool,
    /// Take over units that belong to another deployment
    #[arg(long, visible_alias = "allowconflicts")]
    allow_conflicts: bool,
    /// Allow files outside of the folder, or of the git repository that contains it
    #[arg(long)]
    allow_outside: bool,
    /// Show all build output
    #[arg(short, long)]
    pub verbose: bool,
}

impl DeclareArgs {
    pub fn options(self, change: ChangeArgs) -> Options {
        Options {
            change: change.options(),
            prune_secrets: self.prune_secrets,
            allow_conflicts: self.allow_conflicts,
            allow_outside: self.allow_outside,
            watching: false,
            hand_edits: HandEdits::Ask,
        }
    }
}

pub async fn run(ui: &Ui, global: &Global, args: DeployArgs) -> Result<()> {
    let read = look_at_manifest(&args.dir, "deploy")?;
    let verbose = args.declare.verbose;
    let mut options = args.declare.options(args.change);
    if args.overwrite {
        options.hand_edits = HandEdits::Overwrite;
    }
    apply_declared(ui, global, read, &options, verbose).await
}

/// Applies what a folder declares and shows the outcome. Reports all errors at once if there are
/// any.
pub async fn apply_declared(
    ui: &Ui,
    global: &Global,
    read: (Declared, Vec<Problem>),
    options: &Options,
    verbose: bool,
) -> Result<()> {
    let declared = without_mistakes(ui, global, read, (options.allow_conflicts, options.allow_outside)).await?;
    tell::warnings(ui, &declared);
    tell::unnamed(ui, &declared);
    let context = Context::new(ui, &agreed_app(global, &declared)?)?;
    let applied = Terminal::verbose(&context, verbose).apply_until_interrupted(&declared, options).await?;
    tell::outcome(&context, &applied, || url_lines(&applied))?;
    report_check(&context, &applied.outcome).await
}

/// Returns what a folder declares if reading it found no errors. Otherwise fails with all of them,
/// including those that only its files and the app reveal.
pub async fn without_mistakes(
    ui: &Ui,
    global: &Global,
    (mut declared, mut errors): (Declared, Vec<Problem>),
    (allow_conflicts, allow_outside): (bool, bool),
) -> Result<Declared> {
    agreed_app(global, &declared)?;
    if !allow_outside {
        errors.extend(bounds::take_outside(&mut declared, &private_folders(global)));
    }
    if errors.is_empty() {
        return Ok(declared);
    }
    let conflicts = check::complete(ui, global, &mut declared, &mut errors).await;
    errors.extend(conflicts.into_iter().filter(|_| !allow_conflicts));
    errors.sort_by(|one, other| one.place.cmp(&other.place));
    Err(mistakes(errors, declared.warnings))
}

/// [`with_app`] for commands that change the app. `--app` may override the manifest. MILEPOST_APP
/// may not: it may be set for other work, and units of the wrong app would be removed.
pub fn agreed_app(global: &Global, declared: &Declared) -> Result<Global> {
    if let (true, Some(variable), Some(own)) = (global.app_is_from_environment, &global.app, &declared.app)
        && variable != own.as_str()
    {
        let origin = declared.origin.display();
        let message = format!("`{origin}` is for app `{own}`, but MILEPOST_APP names `{variable}`");
        let hint = format!("unset MILEPOST_APP to use app `{own}`, or pass `--app {variable}`");
        return Err(Failure::usage(message).hint(hint));
    }
    Ok(with_app(global, declared))
}

/// Uses the app of the folder, unless an option or a variable names another.
pub fn with_app(global: &Global, declared: &Declared) -> Global {
    let app = global.app.clone().or_else(|| declared.app.as_ref().map(ToString::to_string));
    // A manifest without an app name must not fall back to the manifest of the current directory.
    Global { app: app.or_else(|| Some(crate::context::DEFAULT_APP.to_owned())), ..global.clone() }
}

/// Reads the manifest in a folder. Returns what could be read, and the errors.
pub fn look_at_manifest(dir: &Path, verb: &str) -> Result<(Declared, Vec<Problem>)> {
    match manifest::Location::find(dir) {
        Some(_) => Ok(manifest::look_at_manifest(dir)?),
        None if !dir.exists() => Err(Failure::usage(format!("folder `{}` does not exist", dir.display()))
            .hint(format!("name the folder that contains `{}`", manifest::FILE_NAME))),
        None => Err(Failure::usage(format!("there is no `{}` in `{}`", manifest::FILE_NAME, dir.display()))
            .hint(advice(dir, verb))),
    }
}

/// The URLs of live and of the new release. The URL that serves the new release comes first.
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

/// The URL of a release under one of its names. Its URLs include those of live and of its tags.
pub fn release_url<'a>(release: &'a Release, name: &str) -> Option<&'a String> {
    let named = |name: &str| release.urls.iter().find(|url| url.contains(&format!(".{name}.")));
    named(name).or_else(|| named(&release.id)).or(release.urls.first())
}
