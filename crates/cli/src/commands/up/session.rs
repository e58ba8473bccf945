//! A session of `milepost up`, from the first deploy to Ctrl-C.

use std::time::Instant;

use milepost_client::api::LogEntry;
use milepost_client::{ClientError, LogQuery, LogStream};
use milepost_declared::Declared;
use milepost_declared::apply::{Applied, HandEdits, Options};
use tokio_util::sync::CancellationToken;

use super::watch::{Saved, Watcher};
use crate::args::Global;
use crate::commands::deploy;
use crate::commands::logs::{Detail, LogPrinter};
use crate::commands::shared::{ChangeArgs, report_check};
use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::folders::{Terminal, tell};
use crate::output::{harmless, outcome_table, print_data};

/// The options of a session.
pub struct Plan {
    pub watch: bool,
    pub logs: bool,
    pub allow_outside: bool,
    pub message: Option<String>,
    pub hand_edits: HandEdits,
    /// Base and check of every deploy of the session.
    pub change: ChangeArgs,
}

/// `global` has the options as typed, without the manifest's app.
pub async fn run(
    context: &Context<'_>,
    global: &Global,
    mut declared: Declared,
    plan: &Plan,
    stop: &CancellationToken,
    own_server: bool,
) -> Result<()> {
    // Watches before the first deploy, so that a save during the deploy is not missed.
    let mut watcher = if plan.watch { Some(Watcher::new(&declared)?) } else { None };
    let change = ChangeArgs { message: plan.message.clone(), ..plan.change.clone() }.options();
    let (allow_outside, hand_edits) = (plan.allow_outside, plan.hand_edits);
    let options = Options { change, allow_outside, hand_edits, ..Options::default() };
    let started = Instant::now();
    let terminal = Terminal::new(context);
    let mut applied = tokio::select! {
        applied = terminal.apply(&declared, &options) => applied?,
        () = stop.cancelled() => return Ok(()),
    };
    if !applied.outcome.changed {
        // An unchanged deploy returns no URLs.
        applied.urls = context.client.status(&context.app).await?.urls;
    }
    // Follows the logs before it prints the URLs, so that no line of the first request is missed.
    let mut logs = if plan.logs { Some(follow(context).await?) } else { None };
    announce(context, &applied, started)?;
    let mut last_failed = false;
    match report_check(context, &applied.outcome).await {
        // The next save may fix it.
        Err(failure) if watcher.is_some() => {
            last_failed = true;
            failure.report(context.ui);
        }
        loaded => loaded?,
    }
    if watcher.is_none() && logs.is_none() && !own_server {
        return Ok(());
    }
    let what = match (plan.watch, plan.logs) {
        (true, true) => "Watching for saved files and following the logs",
        (true, false) => "Watching for saved files",
        (false, true) => "Following the logs",
        (false, false) => "Serving",
    };
    context.ui.say(&format!("{what}. Press Ctrl-C to stop."));
    let mut printer = LogPrinter::new(context.ui, Detail::Short);
    loop {
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            entry = next_line(&mut logs) => match entry {
                Ok(Some(entry)) => {
                    if !printer.print(&entry)? {
                        return Ok(());
                    }
                }
                Ok(None) | Err(_) if stop.is_cancelled() => return Ok(()),
                Ok(None) => return Err(gone()),
                Err(error) => return Err(error.into()),
            },
            saved = next_save(&mut watcher) => {
                match redeploy(context, global, &mut declared, &saved, plan).await {
                    Ok(changed) => {
                        if last_failed && !changed {
                            context.ui.say(&format!("saved {}: nothing to deploy", saved.names()));
                        }
                        last_failed = false;
                        if let Some(watcher) = &mut watcher {
                            watcher.follow(&declared)?;
                        }
                    }
                    // The live release stays; the next save deploys again.
                    Err(failure) => {
                        last_failed = true;
                        failure.report(context.ui);
                    }
                }
            }
        }
    }
}

async fn follow(context: &Context<'_>) -> Result<LogStream> {
    let query = LogQuery { limit: Some(0), follow: true, ..LogQuery::default() };
    Ok(context.client.logs(&context.app, &query).await?)
}

async fn next_line(logs: &mut Option<LogStream>) -> Result<Option<LogEntry>, ClientError> {
    match logs {
        Some(logs) => logs.next().await,
        None => std::future::pending().await,
    }
}

async fn next_save(watcher: &mut Option<Watcher>) -> Saved {
    match watcher {
        Some(watcher) => watcher.saved().await,
        None => std::future::pending().await,
    }
}

fn gone() -> Failure {
    Failure::new("the server has stopped").hint("run `milepost up` again to start one")
}

fn announce(context: &Context<'_>, applied: &Applied, started: Instant) -> Result<()> {
    for warning in &applied.outcome.warnings {
        context.ui.warn(warning);
    }
    let mut lines =
        if applied.outcome.changed { vec![outcome_table(&applied.outcome)] } else { vec![tell::UP_TO_DATE.to_owned()] };
    lines.extend(deploy::url_lines(applied));
    if applied.outcome.release.is_none()
        && let Some(latest) = &applied.urls.latest
    {
        lines.push(format!("  latest   {latest}"));
    }
    // In other formats, only log lines are data.
    if context.ui.is_table() {
        print_data(&harmless(&lines.join("\n")))?;
    }
    if applied.outcome.changed {
        context.ui.say(&format!("Deployed app {} in {} ms.", context.app, started.elapsed().as_millis()));
    }
    Ok(())
}

/// Deploys the saved files. Returns whether the app changed.
async fn redeploy(
    context: &Context<'_>,
    global: &Global,
    declared: &mut Declared,
    saved: &Saved,
    plan: &Plan,
) -> Result<bool> {
    let allow_outside = plan.allow_outside;
    if saved.manifest {
        let read = milepost_declared::look_at_manifest(&declared.origin)?;
        let read = deploy::without_mistakes(context.ui, global, read, (false, allow_outside)).await?;
        tell::warnings(context.ui, &read);
        let app = deploy::with_app(global, &read).app;
        if app.as_deref() != Some(context.app.as_str()) {
            let message = format!("the manifest now describes app {}", app.unwrap_or_default());
            return Err(Failure::new(message).hint("stop with Ctrl-C and run `milepost up` again"));
        }
        *declared = read;
    }
    let change = plan.change.options();
    let options = Options { change, watching: true, allow_outside, ..Options::default() };
    let outcome = Terminal::new(context).apply(declared, &options).await?.outcome;
    report_check(context, &outcome).await?;
    if !outcome.changed {
        return Ok(false);
    }
    let took = saved.at.elapsed().as_millis();
    let what = saved.names();
    match &outcome.release {
        Some(release) if release.live => context.ui.say(&format!("saved {what} → live in {took} ms")),
        Some(release) => context.ui.say(&format!("saved {what} → release {} in {took} ms; live is pinned", release.id)),
        None => context.ui.say(&format!("saved {what} → deployed in {took} ms")),
    }
    Ok(true)
}
