use clap::Args;
use milepost_client::api::AppStatus;
use milepost_model::Timestamp;
use milepost_model::release::LiveMode;

use crate::context::Context;
use crate::failure::Result;
use crate::output::{Table, age, local, printable};

/// Number of errors shown; the log has all of them.
const ERRORS: usize = 5;

/// Show what is live and running
///
/// Counters cover only the server that responds, since it started.
#[derive(Debug, Args)]
pub struct StatusArgs {}

pub async fn run(context: &Context<'_>, _args: StatusArgs) -> Result<()> {
    let status = context.client.status(&context.app).await?;
    let now = context.ui.now();
    context.ui.show(&status, |status| vec![format!("app/{}", status.app)], |status| text(status, now))
}

fn text(status: &AppStatus, now: Timestamp) -> String {
    let mut lines = vec![format!("App:     {}", status.app)];
    lines.push(match &status.live.release {
        Some(live) => {
            let mode = match status.live.mode {
                LiveMode::Following => "following the newest release",
                LiveMode::Pinned => "pinned; run `milepost release live --follow` to follow new releases",
            };
            format!("Live:    release {}, {} old, {mode}", live.id, age(now, live.created_at))
        }
        None => "Live:    nothing; run `milepost deploy` to make a release".to_owned(),
    });
    if let Some(latest) = &status.latest {
        let same = status.live.release.as_ref().is_some_and(|live| live.id == latest.id);
        let same = if same { ", the live one" } else { "" };
        lines.push(format!("Latest:  release {}, {} old{same}", latest.id, age(now, latest.created_at)));
    }
    let urls = [("live", &status.urls.live), ("latest", &status.urls.latest)];
    let mut label = "URLs:";
    for (name, url) in urls.into_iter().filter_map(|(name, url)| Some((name, url.as_ref()?))) {
        lines.push(format!("{label:8} {url} ({name})"));
        label = "";
    }
    lines.push(String::new());
    lines.push(functions(status));
    lines.extend(errors(status));
    lines.join("\n")
}

fn functions(status: &AppStatus) -> String {
    let headers = ["FUNCTION", "VERSION", "UID", "INSTANCES", "BUSY", "QUEUED", "REQUESTS", "ERRORS"];
    let mut table = Table::new(headers, "No functions are running.");
    for function in &status.functions {
        table.row([
            function.name.clone(),
            function.number.to_string(),
            function.uid.clone(),
            function.instances.to_string(),
            function.busy.to_string(),
            function.queued.to_string(),
            function.requests.to_string(),
            function.errors.to_string(),
        ]);
    }
    table.render()
}

fn errors(status: &AppStatus) -> Vec<String> {
    let mut recent: Vec<_> = status
        .functions
        .iter()
        .flat_map(|function| function.recent_errors.iter().map(move |error| (function, error)))
        .collect();
    recent.sort_by_key(|(_, error)| std::cmp::Reverse(error.at));
    // A failed start is recorded once for the start and once for each waiting request: shows each
    // error once.
    let mut seen: Vec<(&str, &str)> = Vec::new();
    recent.retain(|(function, error)| {
        let entry = (function.name.as_str(), error.message.as_str());
        let is_new = !seen.contains(&entry);
        seen.push(entry);
        is_new
    });
    if recent.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![String::new(), "Recent errors:".to_owned()];
    for (function, error) in recent.into_iter().take(ERRORS) {
        let name = format!("{}@{}", function.name, function.number);
        lines.push(format!("  {} {name} {}", local(error.at), printable(&error.message)));
        lines.push(if error.request.is_empty() {
            format!("    milepost logs --app {} --function {}", status.app, function.name)
        } else {
            format!("    milepost logs --app {} --request {}", status.app, error.request)
        });
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn shows_live_release_functions_and_recent_errors() {
        let release = |id: &str, at: &str, live: bool| {
            json!({"id": id, "appVersion": "vvvvvv", "state": "active", "tags": [], "live": live, "latest": !live,
                "createdAt": at, "createdBy": "admin", "urls": []})
        };
        let status: AppStatus = serde_json::from_value(json!({
            "app": "shop",
            "live": {"mode": "pinned", "release": release("aaaaaa", "2026-01-02T03:00:00Z", true)},
            "latest": release("bbbbbb", "2026-01-02T03:03:00Z", false),
            "urls": {"live": "http://shop.localhost:8080/", "latest": "http://shop.latest.localhost:8080/"},
            "functions": [{"name": "hello", "number": 2, "uid": "uuuuuu", "instances": 1, "busy": 0, "queued": 0,
                "requests": 12, "errors": 1,
                "recentErrors": [{"at": "2026-01-02T03:04:00Z", "request": "r1", "message": "the function threw: oh"}]}],
        }))
        .expect("a status");
        let now = "2026-01-02T03:04:05Z".parse().expect("a time");
        insta::assert_snapshot!(text(&status, now).replace(&local(status.functions[0].recent_errors[0].at), "AT"), @r"
        App:     shop
        Live:    release aaaaaa, 4m old, pinned; run `milepost release live --follow` to follow new releases
        Latest:  release bbbbbb, 65s old
        URLs:    http://shop.localhost:8080/ (live)
                 http://shop.latest.localhost:8080/ (latest)

        FUNCTION  VERSION  UID     INSTANCES  BUSY  QUEUED  REQUESTS  ERRORS
        hello     2        uuuuuu  1          0     0       12        1

        Recent errors:
          AT hello@2 the function threw: oh
            milepost logs --app shop --request r1
        ");
    }
}
