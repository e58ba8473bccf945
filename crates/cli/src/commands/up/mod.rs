mod server;
mod session;
mod watch;

use std::path::PathBuf;

use clap::Args;
use milepost_declared::apply::HandEdits;
use milepost_model::base::Base;
use tokio_util::sync::CancellationToken;

use super::checked::CheckArgs;
use super::deploy::{agreed_app, look_at_manifest, without_mistakes};
use super::shared::{ChangeArgs, parse_base};
use crate::args::Global;
use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::folders::tell;
use crate::output::Ui;
use crate::serve::{ServeArgs, stop_on_signals};
use server::Found;

/// Deploy a folder and follow its logs, starting a server if needed
///
/// Uses the server on this machine, or starts one that runs until Ctrl-C. Deploys the app that
/// milepost.yaml describes, prints its URLs, and follows the logs of its functions.
#[derive(Debug, Args)]
pub struct UpArgs {
    /// The folder with milepost.yaml
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Deploy again when files are saved
    #[arg(short, long)]
    watch: bool,
    /// Allow files outside the folder and its git repository
    #[arg(long)]
    allow_outside: bool,
    /// Do not follow the logs
    #[arg(long)]
    no_logs: bool,
    /// Describe this deploy, for the history
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
    /// Overwrite manual changes since the last deploy; implied by `--watch`
    #[arg(long)]
    overwrite: bool,
    /// Apply each deploy to `live`, what users get now, not to the newest app version
    #[arg(long, value_name = "BASE", value_parser = parse_base)]
    on: Option<Base>,
    #[command(flatten)]
    check: CheckArgs,
    #[command(flatten, next_help_heading = "Server options (if this command starts a server)")]
    serve: ServeArgs,
}

pub async fn run(ui: &Ui, global: &Global, args: UpArgs) -> Result<()> {
    // Reports mistakes in the manifest before it starts anything.
    let allow_outside = args.allow_outside;
    let declared = without_mistakes(ui, global, look_at_manifest(&args.dir, "up")?, (false, allow_outside)).await?;
    tell::warnings(ui, &declared);
    let asked = global.app.clone();
    let global = agreed_app(global, &declared)?;
    // A later save may rename the app in the manifest, so deploys after it use the typed options
    // only.
    let typed = |global: &Global| Global { app: asked.clone(), ..global.clone() };
    let stop = CancellationToken::new();
    stop_on_signals(stop.clone())?;
    // With `--watch` a confirmation would block the deploy: warns about overwritten changes
    // instead.
    let hand_edits = if args.overwrite || args.watch { HandEdits::Overwrite } else { HandEdits::Ask };
    let change = ChangeArgs { on: args.on, check: args.check, ..ChangeArgs::default() };
    let plan = session::Plan {
        watch: args.watch,
        logs: !args.no_logs,
        allow_outside,
        message: args.message,
        hand_edits,
        change,
    };
    match server::find_or_start(ui, &global, args.serve).await? {
        Found::Running => {
            let context = Context::new(ui, &global)?;
            session::run(&context, &typed(&global), declared, &plan, &stop, false).await
        }
        Found::Started { global, server } => {
            let drain = CancellationToken::new();
            let mut serving = tokio::spawn(server.run(drain.clone()));
            let context = Context::new(ui, &global)?;
            let typed = typed(&global);
            let session = session::run(&context, &typed, declared, &plan, &stop, true);
            let outcome = tokio::select! {
                outcome = session => outcome,
                ended = &mut serving => {
                    let failure = Failure::new("the server stopped");
                    return Err(match ended {
                        Ok(Err(error)) => failure.caused_by(&error),
                        Err(error) => failure.caused_by(&error),
                        Ok(Ok(())) => failure,
                    });
                }
            };
            if outcome.is_ok() {
                ui.say("Stopping when running requests have finished. Press Ctrl-C again to stop now.");
            }
            drain.cancel();
            tokio::select! {
                _ = &mut serving => {}
                _ = tokio::signal::ctrl_c() => serving.abort(),
            }
            outcome
        }
    }
}
