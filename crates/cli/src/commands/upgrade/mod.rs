//! `milepost upgrade`: upgrades an installed app by hand, or shows its upgrade plan.

use std::path::PathBuf;

use clap::Args;
use milepost_model::channel::SemVer;
use milepost_model::install::{Upgrade, UpgradeFromBundle, UpgradePlan};

use super::install::{SecretArgs, ask_for, open_bundle, show_installed, which};
use crate::args::Global;
use crate::context::{Context, Unattended};
use crate::failure::{Failure, Result};
use crate::folders::spinner;
use crate::output::Ui;
use crate::phrase;

/// Upgrade an installed app, or show its upgrade plan
///
/// Installs the newest version that the policy allows, including versions that are `manual`.
/// Versions with `window` are installed only within a window. `--plan` shows which versions are
/// installed automatically and when, and changes nothing.
#[derive(Debug, Args)]
pub struct UpgradeArgs {
    /// The installed app [default: the only one]
    #[arg(value_name = "APP")]
    name: Option<String>,
    /// Show which upgrades come when, and change nothing
    #[arg(long)]
    plan: bool,
    /// Install this version; a lower one holds upgrades, like a rollback
    #[arg(long, value_name = "VERSION")]
    to: Option<String>,
    /// Ignore `--window` and `--deny`; the history records who did this
    #[arg(long)]
    now: bool,
    /// Upgrade from a file made by `milepost bundle`, without a network
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
        return show_plan(&context, app.as_str(), &plan?);
    }
    // The plan fails for a pinned app and for one from a bundle: the upgrade itself reports why.
    if let Ok(plan) = &plan {
        for warning in phrase::warnings(app.as_str(), &plan.notices, &plan.warnings) {
            context.ui.warn(&warning);
        }
        if let Some(version) = &plan.asked {
            if !plan.warnings.is_empty() {
                let question = format!("Upgrade app {app} from {} to {version}?", plan.installed);
                // Without a terminal, only an explicit version may cross a major version.
                let unattended = if asked.to.is_some() { Unattended::Proceed } else { Unattended::Refuse };
                context.confirm(&question, unattended)?;
            }
            // Installs the version that was shown.
            asked.to = Some(version.clone());
        }
    }
    let done = loop {
        let waiting = spinner(context.ui, "Installing, then checking that the app is healthy");
        let upgraded = context.client.upgrade(&app, &asked).await;
        drop(waiting);
        match upgraded {
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

fn show_plan(context: &Context<'_>, app: &str, plan: &UpgradePlan) -> Result<()> {
    context.ui.show(
        plan,
        |plan| plan.steps.iter().map(|step| step.outlook.entry.version.to_string()).collect(),
        |plan| text(app, plan),
    )
}

fn text(app: &str, plan: &UpgradePlan) -> String {
    let mut lines = vec![plan.forecast.clone()];
    lines.extend(plan.steps.iter().map(|step| format!("  {}: {}", step.outlook.entry.version, step.reason)));
    if let Some(asked) = &plan.asked {
        lines.push(format!("Run `milepost upgrade` to install {asked} now."));
    } else {
        lines.extend(phrase::warnings(app, &plan.notices, &plan.warnings));
    }
    lines.join("\n")
}
