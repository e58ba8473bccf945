//! Installs as text.

use milepost_model::channel::{Window, WindowsText};
use milepost_model::install::{CheckResult, Install, InstallMode, Installed};
use serde_json::Value;

use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::output::{local, printable};
use crate::phrase;

pub fn one(context: &Context<'_>, install: &Install) -> Result<()> {
    context.ui.show(install, |install| vec![install.app.to_string()], text)
}

/// Prints the result of an install or upgrade. Returns an error if the new version was unhealthy
/// and live went back, so that scripts notice.
pub fn installed(context: &Context<'_>, installed: &Installed) -> Result<()> {
    context.ui.show(installed, |installed| vec![installed.install.app.to_string()], done_text)?;
    let app = installed.install.app.as_str();
    for warning in phrase::warnings(app, &installed.notices, &installed.warnings) {
        context.ui.warn(&warning);
    }
    match &installed.went_back {
        Some(why) => Err(Failure::new(printable(why)).hint(format!(
            "run `milepost logs --app {}` to see its logs, or `milepost install status {}` for the state of the install",
            installed.install.app, installed.install.app
        ))),
        None => Ok(()),
    }
}

fn done_text(done: &Installed) -> String {
    let install = &done.install;
    let app = &install.app;
    let mut lines = Vec::new();
    match (&done.from, &done.to) {
        // `install` describes the version that live went back to.
        (Some(_), Some(to)) if done.went_back.is_some() => {
            return format!("{to} is unhealthy; app {app} is at {}.", install.entry.version);
        }
        (Some(from), Some(to)) if to.cmp_precedence(from).is_lt() => {
            lines.push(format!("Downgraded app {app} from {from} to {to}."));
        }
        (Some(from), Some(to)) => lines.push(format!("Upgraded app {app} from {from} to {to}.")),
        (None, Some(to)) => lines.push(format!("Installed {} {to} as app {app}.", install.package)),
        (_, None) => lines.push(format!("App {app} stays at {}.", install.entry.version)),
    }
    if done.to.is_none() && (install.brakes.hold.is_some() || !install.brakes.skipped.is_empty()) {
        lines.push(format!("Run `milepost install lift {app}` to lift the hold and allow skipped versions."));
    }
    if done.to.is_some() {
        lines.push(format!("Digest   {}", install.entry.id));
    }
    if let Some(release) = &done.release {
        let live = if release.live { ", live" } else { "" };
        lines.push(format!("Release  {}{live}", release.id));
        lines.extend(release.urls.iter().map(|url| format!("         {url}")));
    }
    if let Some(plan) = &install.plan {
        lines.push(format!("Next     {}", plan.forecast));
    }
    lines.join("\n")
}

fn text(install: &Install) -> String {
    let mut lines = Lines::default();
    let settings = &install.settings;
    lines.add("App", install.app.to_string());
    lines.add("Package", format!("{} {}", install.package, install.entry.version));
    lines.add("Digest", install.entry.id.to_string());
    lines.add("Channel", place(install));
    lines.add("Installed", format!("{} by {}", local(install.installed_at), install.installed_by));
    let elsewhere = install.live.as_ref().filter(|live| **live != install.entry.version);
    match elsewhere {
        Some(live) if install.on_trial => {
            lines.add("Live", format!("{live}, until {} passes its health check", install.entry.version));
        }
        Some(live) => lines.add("Live", format!("{live}, pinned; run `milepost release live --follow` to unpin it")),
        None if install.on_trial => lines.add("Health", "check not finished".to_owned()),
        None => {}
    }
    if install.mode == InstallMode::Channel {
        lines.add("Policy", settings.policy.to_string());
        if !settings.windows.is_empty() {
            lines.add("Windows", windows(&settings.windows.clone().into()));
        }
    }
    if let Some(health) = &settings.health {
        lines.add("Check", format!("{health} within {} s", settings.health_deadline_s));
    }
    if let Some(key) = &settings.key {
        lines.add("Key", key.clone());
    }
    for (key, value) in overrides(&settings.overrides) {
        lines.add("Override", format!("{key} = {value}"));
    }
    if let Some(hold) = &install.brakes.hold {
        lines.add("Held", hold.to_string());
    }
    if !install.brakes.skipped.is_empty() {
        let skipped: Vec<String> = install.brakes.skipped.iter().map(ToString::to_string).collect();
        lines.add("Skipped", skipped.join(", "));
    }
    if let Some(failure) = &install.last_failure {
        lines.add("Failed", format!("{}, {}: {}", failure.version, local(failure.at), failure.reason));
    }
    if !install.changed_by_hand.is_empty() {
        let units = install.changed_by_hand.join(", ");
        lines.add("By hand", format!("{units} (overwritten by the next upgrade; overrides are kept)"));
    }
    if let Some(check) = &install.last_check {
        let again = if check.failures > 1 { format!(", {} times in a row", check.failures) } else { String::new() };
        let result = match check.result {
            CheckResult::Ok => "ok".to_owned(),
            other => format!("{other}{again} ({})", check.kind),
        };
        lines.add("Checked", format!("{}, {result}: {}", local(check.at), check.message));
    }
    if let Some(plan) = &install.plan {
        lines.add("Next", plan.forecast.clone());
        for step in &plan.steps {
            lines.add("", format!("{}: {}", step.outlook.entry.version, step.reason));
        }
    }
    if let Some(next) = install.next_check_at {
        lines.add("Next poll", local(next));
    }
    lines.text()
}

fn place(install: &Install) -> String {
    let channel = install.channel.as_ref().map_or_else(String::new, |channel| format!("{channel}, "));
    match install.mode {
        InstallMode::Channel => format!("{channel}{}", install.place),
        InstallMode::Pinned => format!("{channel}{}; pinned, never upgraded automatically", install.place),
        InstallMode::Bundle => format!("{channel}from a bundle; upgrade it with `milepost upgrade --bundle FILE`"),
    }
}

/// `sun 02:00-04:00, not 2026-12-20..2027-01-06, Europe/Berlin`
fn windows(windows: &WindowsText) -> String {
    let parsed = |texts: &[String]| {
        texts
            .iter()
            .map(|text| text.parse::<Window>().map_or_else(|_| text.clone(), |window| window.to_string()))
            .collect::<Vec<_>>()
    };
    let mut parts = parsed(&windows.allow);
    parts.extend(parsed(&windows.deny).into_iter().map(|deny| format!("not {deny}")));
    parts.push(windows.zone.clone());
    parts.join(", ")
}

/// The leaves of a document as dotted keys and values.
fn overrides(document: &Value) -> Vec<(String, String)> {
    fn walk(prefix: &str, value: &Value, found: &mut Vec<(String, String)>) {
        match value {
            Value::Object(keys) => {
                for (key, value) in keys {
                    let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                    walk(&path, value, found);
                }
            }
            value => found.push((prefix.to_owned(), value.to_string())),
        }
    }
    let mut found = Vec::new();
    walk("", document, &mut found);
    found
}

#[derive(Default)]
struct Lines(Vec<String>);

impl Lines {
    fn add(&mut self, label: &str, value: String) {
        self.0.push(format!("{label:<9}  {}", printable(&value)));
    }

    fn text(self) -> String {
        self.0.join("\n")
    }
}
