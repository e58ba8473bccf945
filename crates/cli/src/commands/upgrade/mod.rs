//! Upgrading an installed app by hand, and what its channel plans.

use std::path::PathBuf;

use clap::Args;
use milepost_model::channel::SemVer;
use milepost_model::install::{Upgrade, UpgradeFromBundle, UpgradePlan};

use super::install::{SecretArgs, ask_for, open_bundle, show_installed, which};
use crate::args::Global;
use crate::context::{Context, Unattended};
use crate::failure::{Failure, Result};
use crate::output::Ui;

/// Upgrade an installed app, or show what comes when
///
/// Installs the newest version that the policy allows a person: what is manual too, in a window what waits for one. `--plan`
/// prints what comes by itself and when, and changes nothing.
#[derive(Debug, Args)]
pub struct UpgradeArgs {
    /// The app; the only one that is installed when left out
    #[arg(value_name = "APP")]
    name: Option<String>,
    /// Print what comes when, and change nothing
    #[arg(long)]
    plan: bool,
    /// This version and no other; also one below, which holds upgrades as a rollback does
    #[arg(long, value_name = "VERSION")]
    to: Option<String>,
    /// Whatever windows and denies say; it is written down who asked for that
    #[arg(long)]
    now: bool,
    /// From a file of `milepost bundle`: nothing is fetched
    #[arg(long, value_name = "FILE", conflicts_with_all = ["plan", "now"])]
    bundle: Option<PathBuf>,
    #[command(flatten)]
    secrets: SecretArgs,
}

pub async fn run(ui: &Ui, global: &Global, args: UpgradeArgs) -> Result<()> {
    let context = Context::new(ui, global)?;
    let app = which(&context, args.name, global.app.as_deref()).await?;
    let to = args.to.map(|text| text.parse::<SemVer>()).transpose();
    let to = to.map_err(|error| Failure::usage(error.to_string()))?;
    let mut asked = Upgrade { to, now: args.now, secrets: args.secrets.read()? };
    if let Some(file) = &args.bundle {
        return from_bundle(&context, &app, file, asked).await;
    }
    let plan = context.client.upgrade_plan(&app, &Upgrade { secrets: Default::default(), ..asked.clone() }).await;
    if args.plan {
        return show_plan(&context, &plan?);
    }
    // A pinned app, or one from a file, is refused by the upgrade itself with the next step.
    if let Ok(plan) = &plan {
        for warning in &plan.warnings {
            context.ui.warn(warning);
        }
        if let Some(version) = &plan.asked {
            if !plan.warnings.is_empty() {
                let question = format!("Upgrade app {app} from {} to {version}?", plan.installed);
                // A script that means to follow minors must not cross a major because nobody was there to say no.
                let unattended = if asked.to.is_some() { Unattended::Proceed } else { Unattended::Refuse };
                context.confirm(&question, unattended)?;
            }
            // What was shown is what is done.
            asked.to = Some(version.clone());
        }
    }
    let done = loop {
        match context.client.upgrade(&app, &asked).await {
            Ok(done) => break done,
            Err(error) if ask_for(&context, &error, &mut asked.secrets)? => {}
            Err(error) => return Err(error.into()),
        }
    };
    show_installed(&context, &done)
}

async fn from_bundle(context: &Context<'_>, app: &str, file: &std::path::Path, mut asked: Upgrade) -> Result<()> {
    let install = context.client.install_get(app).await?;
    let (key, package) = (install.settings.key.as_deref(), Some(&install.package));
    let bundle = open_bundle(file, key, package, asked.to.as_ref()).await?;
    let done = loop {
        let request = UpgradeFromBundle {
            package: bundle.package.clone(),
            channel: bundle.channel.clone(),
            entry: bundle.entry.clone(),
            serial: bundle.serial,
            upgrade: asked.clone(),
        };
        match context.client.upgrade_bundle(app, &request, bundle.artifact().await?).await {
            Ok(done) => break done,
            Err(error) if ask_for(context, &error, &mut asked.secrets)? => {}
            Err(error) => return Err(error.into()),
        }
    };
    show_installed(context, &done)
}

fn show_plan(context: &Context<'_>, plan: &UpgradePlan) -> Result<()> {
    context.ui.show(plan, |plan| plan.steps.iter().map(|step| step.outlook.entry.version.to_string()).collect(), text)
}

fn text(plan: &UpgradePlan) -> String {
    let mut lines = vec![plan.forecast.clone()];
    lines.extend(plan.steps.iter().map(|step| format!("  {}: {}", step.outlook.entry.version, step.reason)));
    if let Some(asked) = &plan.asked {
        lines.push(format!("`milepost upgrade` installs {asked} now."));
    } else {
        lines.extend(plan.warnings.iter().cloned());
    }
    lines.join("\n")
}
