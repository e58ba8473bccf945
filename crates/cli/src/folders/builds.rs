//! The progress of builds: one updating line for each build on a terminal, else every line of
//! output.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use milepost_declared::reporter::Builds;
use milepost_model::UnitName;
use milepost_model::build::BuildEvent;

use crate::output::{Ui, printable};

/// How many lines of a failed build are shown.
const LAST: usize = 20;

pub struct View<'a> {
    ui: &'a Ui,
    moving: Option<MultiProgress>,
    several: bool,
    shown: Mutex<BTreeMap<UnitName, Shown>>,
}

/// The progress of one build.
struct Shown {
    bar: Option<ProgressBar>,
    last: VecDeque<String>,
    since: Instant,
}

impl<'a> View<'a> {
    pub fn new(ui: &'a Ui, count: usize, verbose: bool) -> Self {
        let moving = (ui.shows_progress() && !verbose).then(MultiProgress::new);
        Self { ui, moving, several: count > 1, shown: Mutex::default() }
    }

    fn note(&self, package: &UnitName, shown: &Shown, text: &str) {
        match &shown.bar {
            Some(bar) => bar.set_message(text.to_owned()),
            None => self.ui.say(&format!("[{package}] {text}")),
        }
    }

    fn done(&self, package: &UnitName, shown: &Shown, cached: bool) {
        let text = if cached {
            format!("Package {package} is already built.")
        } else {
            format!("Package {package} built in {:.1} s.", shown.since.elapsed().as_secs_f64())
        };
        match (&self.moving, &shown.bar) {
            (Some(moving), Some(bar)) => {
                bar.finish_and_clear();
                // Print above the progress lines.
                moving.suspend(|| self.ui.say(&text));
            }
            _ => self.ui.say(&text),
        }
    }

    fn failed(&self, package: &UnitName, shown: &Shown) {
        if let (Some(moving), Some(bar)) = (&self.moving, &shown.bar) {
            bar.finish_and_clear();
            let _ = moving.clear();
        }
        // A single build whose lines were all printed needs no summary.
        if self.moving.is_some() || self.several || self.ui.is_quiet() {
            for line in &shown.last {
                eprintln!("[{package}] {line}");
            }
        }
    }
}

impl Builds for View<'_> {
    fn begin(&self, package: &UnitName) {
        let bar = self.moving.as_ref().map(|moving| {
            let bar = moving.add(ProgressBar::new_spinner());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix} {elapsed}  {wide_msg}") {
                bar.set_style(style);
            }
            bar.set_prefix(package.to_string());
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        let begun = Shown { bar, last: VecDeque::new(), since: Instant::now() };
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).insert(package.clone(), begun);
    }

    fn event(&self, package: &UnitName, event: &BuildEvent) {
        let mut all = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(shown) = all.get_mut(package) else { return };
        match event {
            BuildEvent::Waiting => self.note(package, shown, "waiting for other builds"),
            BuildEvent::Started { command, .. } => {
                self.note(package, shown, &format!("running {}", printable(command)));
            }
            BuildEvent::Log { line } => {
                let line = printable(line.trim_end());
                self.note(package, shown, &line);
                if shown.last.len() == LAST {
                    shown.last.pop_front();
                }
                shown.last.push_back(line);
            }
            BuildEvent::Done { cached, .. } => self.done(package, shown, *cached),
            BuildEvent::Failed { .. } => self.failed(package, shown),
        }
    }
}

impl Drop for View<'_> {
    fn drop(&mut self) {
        if let Some(moving) = &self.moving {
            let _ = moving.clear();
        }
    }
}
