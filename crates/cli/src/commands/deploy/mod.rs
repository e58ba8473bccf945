mod apply;
mod git;

use std::path::{Path, PathBuf};

use clap::Args;
use milepost_client::UploadSummary;
use milepost_model::release::Release;

use super::shared::ChangeArgs;
use crate::args::Global;
use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::manifest::{self, Manifest, Place};
use crate::output::{Ui, outcome_name, outcome_table};

pub use apply::{Deployed, apply, change};

/// Deploy the app that milepost.yaml describes
///
/// Everything in it becomes one change: a version of each unit that really differs, one app version and one release, all of
/// it or none of it. Only files that the server does not have are sent. What the app has and milepost.yaml does not speak
/// of stays as it is.
#[derive(Debug, Args)]
pub struct DeployArgs {
    /// The folder with milepost.yaml in it
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    #[command(flatten)]
    change: ChangeArgs,
}

pub async fn run(ui: &Ui, global: &Global, args: DeployArgs) -> Result<()> {
    let manifest = read_manifest(&args.dir, "deploy")?;
    let context = Context::new(ui, &with_app(global, &manifest))?;
    let deployed = apply(&context, &manifest, &args.change).await?;
    if let UploadSummary { files_sent: sent @ 1.., bytes_sent, .. } = deployed.sent {
        let files = if sent == 1 { "file" } else { "files" };
        ui.say(&format!("{sent} {files} sent ({bytes_sent} bytes)"));
    }
    ui.show(&deployed.outcome, outcome_name, |_| table(&deployed))?;
    for warning in &deployed.outcome.warnings {
        ui.warn(warning);
    }
    if !deployed.outcome.dry_run {
        mention_others(&context, &manifest).await;
    }
    Ok(())
}

/// The app of the manifest, unless another is named.
pub fn with_app(global: &Global, manifest: &Manifest) -> Global {
    let app = global.app.clone().or_else(|| manifest.app.as_ref().map(ToString::to_string));
    // A manifest without a name is not about the one in the folder where the command was typed.
    Global { app: app.or_else(|| Some(crate::context::DEFAULT_APP.to_owned())), ..global.clone() }
}

pub fn read_manifest(dir: &Path, verb: &str) -> Result<Manifest> {
    match Place::find(dir) {
        Some(place) => Manifest::read(place),
        None if !dir.exists() => Err(Failure::usage(format!("there is no `{}`", dir.display()))
            .hint(format!("name the folder that has `{}` in it", manifest::FILE_NAME))),
        None => Err(Failure::usage(format!("there is no `{}` in `{}`", manifest::FILE_NAME, dir.display()))
            .hint(manifest::advice(dir, verb))),
    }
}

fn table(deployed: &Deployed) -> String {
    let mut text = outcome_table(&deployed.outcome);
    for line in url_lines(deployed) {
        text.push('\n');
        text.push_str(&line);
    }
    text
}

/// Where the app is served now, and this release of it.
pub fn url_lines(deployed: &Deployed) -> Vec<String> {
    let release = deployed.outcome.release.as_ref().and_then(|release| release_url(release, &release.id));
    let live = deployed.urls.live.iter().map(|url| format!("  live     {url}"));
    live.chain(release.map(|url| format!("  release  {url}"))).collect()
}

/// The address of a release by one of its names; among its addresses are those of live and of its tags.
pub fn release_url<'a>(release: &'a Release, name: &str) -> Option<&'a String> {
    let named = |name: &str| release.urls.iter().find(|url| url.contains(&format!(".{name}.")));
    named(name).or_else(|| named(&release.id)).or(release.urls.first())
}

/// Says what stays, so that nobody thinks that taking a line out of the file takes the unit out of the app.
async fn mention_others(context: &Context<'_>, manifest: &Manifest) {
    /// More are counted, not named.
    const NAMED: usize = 5;
    // The deploy is done; this is only a word more.
    let Ok(others) = apply::not_in_manifest(context, manifest).await else { return };
    if others.is_empty() {
        return;
    }
    let mut names: Vec<String> = others.iter().take(NAMED).map(|key| format!("`{key}`")).collect();
    if others.len() > NAMED {
        names.push(format!("{} more", others.len() - NAMED));
    }
    context.ui.say(&format!("In the app and not in {}, kept: {}", manifest.place.file.display(), names.join(", ")));
}
