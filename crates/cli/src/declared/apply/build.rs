//! Runs builds on the server, several at once, and shows their progress.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use milepost_model::UnitName;
use milepost_model::build::{BuildEvent, BuildRequest};

use crate::context::Context;
use crate::declared::app_option;
use crate::failure::{Failure, Result};
use crate::output::printable;

/// Concurrent requests. The server decides how many of them run at once.
const AT_ONCE: usize = 4;
/// How many lines of a failed build are shown.
const LAST: usize = 20;

/// How progress is shown: one updating line for each build on a terminal, else every line of
/// output.
struct View {
    moving: Option<MultiProgress>,
    several: bool,
}

/// Runs all builds. If one fails, the others are dropped, which cancels them.
pub async fn all(context: &Context<'_>, requests: Vec<BuildRequest>, verbose: bool) -> Result<()> {
    let moving = (context.ui.shows_progress() && !verbose).then(MultiProgress::new);
    let view = View { moving, several: requests.len() > 1 };
    let builds = futures::stream::iter(requests).map(|request| one(context, &view, request)).buffer_unordered(AT_ONCE);
    let outcome = builds.try_for_each(|()| std::future::ready(Ok(()))).await;
    if let Some(moving) = &view.moving {
        let _ = moving.clear();
    }
    outcome
}

async fn one(context: &Context<'_>, view: &View, request: BuildRequest) -> Result<()> {
    let package = request.package.clone();
    let mut shown = Shown::new(context, view, &package);
    let mut events = std::pin::pin!(context.client.build(&context.app, &request).await?);
    let mut started = None;
    while let Some(event) = events.next().await {
        match event? {
            BuildEvent::Waiting => shown.note("waiting for other builds"),
            BuildEvent::Started { id, command } => {
                started = Some(id);
                shown.note(&format!("running {}", printable(&command)));
            }
            BuildEvent::Log { line } => shown.line(&line),
            BuildEvent::Done { cached, .. } => {
                shown.done(cached);
                return Ok(());
            }
            BuildEvent::Failed { id, reason } => {
                let last = shown.end();
                return Err(failed(context, view, &package, id.or(started).as_deref(), &reason, &last));
            }
        }
    }
    Err(Failure::new(format!("the build of package `{package}` ended without a result")).hint("run the command again"))
}

/// The progress of one build.
struct Shown<'a> {
    context: &'a Context<'a>,
    bar: Option<(MultiProgress, ProgressBar)>,
    package: UnitName,
    last: VecDeque<String>,
    since: Instant,
}

impl<'a> Shown<'a> {
    fn new(context: &'a Context<'a>, view: &View, package: &UnitName) -> Self {
        let bar = view.moving.as_ref().map(|moving| {
            let bar = moving.add(ProgressBar::new_spinner());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix} {elapsed}  {wide_msg}") {
                bar.set_style(style);
            }
            bar.set_prefix(package.to_string());
            bar.enable_steady_tick(Duration::from_millis(120));
            (moving.clone(), bar)
        });
        Self { context, bar, package: package.clone(), last: VecDeque::new(), since: Instant::now() }
    }

    fn note(&self, text: &str) {
        match &self.bar {
            Some((_, bar)) => bar.set_message(text.to_owned()),
            None => self.context.ui.say(&format!("[{}] {text}", self.package)),
        }
    }

    fn line(&mut self, line: &str) {
        let line = printable(line.trim_end());
        self.note(&line);
        if self.last.len() == LAST {
            self.last.pop_front();
        }
        self.last.push_back(line);
    }

    fn done(self, cached: bool) {
        let text = if cached {
            format!("Package {} is already built.", self.package)
        } else {
            format!("Package {} built in {:.1} s.", self.package, self.since.elapsed().as_secs_f64())
        };
        match &self.bar {
            Some((moving, bar)) => {
                bar.finish_and_clear();
                // Print above the progress lines.
                moving.suspend(|| self.context.ui.say(&text));
            }
            None => self.context.ui.say(&text),
        }
    }

    fn end(self) -> VecDeque<String> {
        if let Some((moving, bar)) = &self.bar {
            bar.finish_and_clear();
            let _ = moving.clear();
        }
        self.last
    }
}

fn failed(
    context: &Context<'_>,
    view: &View,
    package: &UnitName,
    id: Option<&str>,
    reason: &str,
    last: &VecDeque<String>,
) -> Failure {
    // A single build whose lines were all printed needs no summary.
    if view.moving.is_some() || view.several || context.ui.is_quiet() {
        for line in last {
            eprintln!("[{package}] {line}");
        }
    }
    let reason = reason.trim_end_matches('.');
    let message = match id {
        Some(id) => format!("build {id} of package `{package}` failed: {reason}; nothing was changed"),
        None => format!("the build of package `{package}` failed: {reason}; nothing was changed"),
    };
    let failure = Failure::new(message);
    match id {
        Some(id) => {
            failure.hint(format!("run `milepost build log {id}{}` to see its full output", app_option(&context.app)))
        }
        None => failure,
    }
}
