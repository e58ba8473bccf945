mod server;
mod session;
mod watch;

use std::path::PathBuf;

use clap::Args;
use milepost_model::base::Base;
use tokio_util::sync::CancellationToken;

use super::checked::CheckArgs;
use super::deploy::{agreed_app, look_at_manifest, without_mistakes};
use super::shared::{ChangeArgs, parse_base};
use crate::args::Global;
use crate::context::Context;
use crate::declared::apply::{HandEdits, tell};
use crate::failure::{Failure, Result};
use crate::output::Ui;
use crate::serve::{ServeArgs, stop_on_signals};
use server::Found;

/// Deploy a folder and follow it: the first command to type
///
/// Uses the server of this machine, or starts one that lives until Ctrl-C. Deploys the app that milepost.yaml describes,
/// prints where it is served, and shows what its functions write.
#[derive(Debug, Args)]
pub struct UpArgs {
    /// The folder with milepost.yaml in it
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Deploy again whenever a file is saved
    #[arg(short, long)]
    watch: bool,
    /// Also take files outside of the folder, or of the git repository that it is in
    #[arg(long)]
    allow_outside: bool,
    /// Do not show what functions write
    #[arg(long)]
    no_logs: bool,
    /// What this deploy is about, for the history
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
    /// Undo changes that were made by hand since the last deploy of this folder; `--watch` implies it
    #[arg(long)]
    overwrite: bool,
    /// Add each deploy to `live`, what users get now, not to the newest app version
    #[arg(long, value_name = "BASE", value_parser = parse_base)]
    on: Option<Base>,
    #[command(flatten)]
    check: CheckArgs,
    #[command(flatten, next_help_heading = "Settings of a server that is started here")]
    serve: ServeArgs,
}

pub async fn run(ui: &Ui, global: &Global, args: UpArgs) -> Result<()> {
    // A mistake in the manifest is told before anything is started.
    let allow_outside = args.allow_outside;
    let declared = without_mistakes(ui, global, look_at_manifest(&args.dir, "up")?, (false, allow_outside)).await?;
    tell::warnings(ui, &declared);
    let asked = global.app.clone();
    let global = agreed_app(global, &declared)?;
    // What is saved later may be about another app: only what was typed holds for all of it.
    let typed = |global: &Global| Global { app: asked.clone(), ..global.clone() };
    let stop = CancellationToken::new();
    stop_on_signals(stop.clone())?;
    // Whoever watches has the folder open and must not be stopped by a question: a warning says what is undone.
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
                    let failure = Failure::new("the server ended");
                    return Err(match ended {
                        Ok(Err(error)) => failure.caused_by(&error),
                        Err(error) => failure.caused_by(&error),
                        Ok(Ok(())) => failure,
                    });
                }
            };
            if outcome.is_ok() {
                ui.say("Stopping; requests that run are let end. Ctrl-C again to not wait.");
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
