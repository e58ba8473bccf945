use clap::Args;
use milepost_declared::{bounds, fission};
use milepost_model::change::UnitKey;
use serde_json::json;

use super::FolderArgs;
use crate::args::Global;
use crate::commands::deploy::{agreed_app, check};
use crate::context::private_folders;
use crate::failure::Result;
use crate::folders::{mistakes, tell};
use crate::output::Ui;

/// Check a folder of specs for mistakes
///
/// Reports all mistakes at once, each with file, line and a hint. If a server can be reached, names
/// that the folder uses but does not declare are looked up in the app. Nothing is changed.
#[derive(Debug, Args)]
pub struct ValidateArgs {
    #[command(flatten)]
    folder: FolderArgs,
    /// Allow files outside the folder and its git repository
    #[arg(long)]
    allow_outside: bool,
}

pub async fn run(ui: &Ui, global: &Global, args: &ValidateArgs) -> Result<()> {
    let (mut declared, mut errors) = fission::look_at_folder(&args.folder.specdir)?;
    agreed_app(global, &declared)?;
    if !args.allow_outside {
        errors.extend(bounds::take_outside(&mut declared, &private_folders(global)));
    }
    // Conflicts with other deployments are reported by apply.
    drop(check::complete(ui, global, &mut declared, &mut errors).await);
    if !errors.is_empty() {
        return Err(mistakes(errors, declared.warnings));
    }
    tell::warnings(ui, &declared);
    tell::unnamed(ui, &declared);
    let place = args.folder.specdir.display();
    let warnings = declared.warnings.iter().map(|warning| format!("{}: {}", warning.place, warning.message));
    let report = json!({
        "deployment": declared.deployment,
        "units": declared.keys().collect::<Vec<UnitKey>>(),
        "warnings": warnings.collect::<Vec<_>>(),
    });
    ui.show(
        &report,
        |_| declared.keys().map(|key| format!("{}/{}", key.kind, key.name)).collect(),
        |_| match declared.units.len() {
            1 => format!("{place}: 1 unit, no mistakes."),
            count => format!("{place}: {count} units, no mistakes."),
        },
    )
}
