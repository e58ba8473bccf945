use std::collections::{BTreeMap, BTreeSet};

use clap::Args;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use milepost_client::ClientError;
use milepost_declared::fission;
use milepost_model::change::{Deployment, GitFacts};
use milepost_model::event::EventKind;
use milepost_model::snapshot::AppVersion;
use milepost_model::{Code, UnitKind};
use serde::Serialize;

use super::{FolderArgs, owned};
use crate::args::Global;
use crate::commands::deploy::agreed_app;
use crate::context::Context;
use crate::failure::Result;
use crate::output::{Table, Ui, git_short};

/// The search for the deployment's last change reads at most `MOST_PAGES` pages of `PAGE` events.
const PAGE: i64 = 500;
const MOST_PAGES: usize = 40;
/// Concurrent requests for app versions.
const AT_ONCE: usize = 8;
/// Characters of a commit hash that are shown.
const COMMIT: usize = 10;

/// List the units that a folder of specs created
///
/// Shows each unit with its current version, which has the uid of the app version that created it,
/// and the commit of that app version. The last line shows the folder's last change. With `-o
/// json`, the output has the id and the git facts of that change, and type, name and version of
/// each unit.
#[derive(Debug, Args)]
pub struct ListArgs {
    #[command(flatten)]
    folder: FolderArgs,
}

/// The JSON form of a group, limited to units of this deployment.
#[derive(Debug, Serialize)]
struct Group {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    git: Option<Git>,
    objects: Vec<Object>,
}

#[derive(Debug, Serialize)]
struct Git {
    commit: String,
    branch: String,
    clean: bool,
}

#[derive(Debug, Serialize)]
struct Object {
    #[serde(rename = "type")]
    kind: UnitKind,
    name: String,
    version: String,
    number: i64,
}

pub async fn run(ui: &Ui, global: &Global, args: &ListArgs) -> Result<()> {
    // Only the deployment is needed here: mistakes elsewhere in the folder are ignored.
    let (declared, _) = fission::look_at_folder(&args.folder.specdir)?;
    let context = Context::new(ui, &agreed_app(global, &declared)?)?;
    let units = owned::units(&context, &declared.deployment).await?;
    // A version and the app version of the same change have the same uid.
    let newest = units.iter().max_by_key(|unit| unit.current.created_at).map(|unit| unit.current.uid.clone());
    let objects: Vec<Object> = units
        .into_iter()
        .map(|unit| Object {
            kind: unit.kind,
            name: unit.name.to_string(),
            version: unit.current.uid,
            number: unit.current.number,
        })
        .collect();
    let made = match made_last(&context, &declared.deployment, newest).await? {
        Some(uid) => Some(context.client.app_version_get(&context.app, &uid).await?),
        None => None,
    };
    let commits = if ui.is_table() { commits(&context, &objects, made.as_ref()).await? } else { BTreeMap::new() };
    let last = made.as_ref().map(|made| {
        let commit = made.git.as_ref().map(|git| format!(", commit {}", git_short(git))).unwrap_or_default();
        format!("Last change: app version {}{commit}", made.id)
    });
    let git = |facts: GitFacts| Git { commit: facts.commit, branch: facts.branch, clean: facts.clean };
    let (id, git) = made.map_or((None, None), |made| (Some(made.id), made.git.map(git)));
    let empty = format!("Deployment {} has no units in app {}.", declared.deployment.name, context.app);
    ui.show(
        &Group { id, git, objects },
        |group| group.objects.iter().map(|object| format!("{}/{}", object.kind, object.name)).collect(),
        |group| {
            let mut table = Table::new(["TYPE", "NAME", "VERSION", "NUMBER", "COMMIT"], &empty);
            for object in &group.objects {
                table.row([
                    object.kind.to_string(),
                    object.name.clone(),
                    object.version.clone(),
                    object.number.to_string(),
                    commits.get(&object.version).cloned().unwrap_or_default(),
                ]);
            }
            let last = last.filter(|_| !group.objects.is_empty());
            [table.render()].into_iter().chain(last).collect::<Vec<_>>().join("\n")
        },
    )
}

/// Returns the commits of the objects' app versions, by id. `made` is an app version that is
/// already loaded.
async fn commits(
    context: &Context<'_>,
    objects: &[Object],
    made: Option<&AppVersion>,
) -> Result<BTreeMap<String, String>> {
    let mut wanted: BTreeSet<&str> = objects.iter().map(|object| object.version.as_str()).collect();
    let mut found = BTreeMap::new();
    if let Some(made) = made
        && wanted.remove(made.id.as_str())
    {
        found.extend(commit(made));
    }
    let asked = stream::iter(wanted).map(|id| async move {
        match context.client.app_version_get(&context.app, id).await {
            // Leaves the cell empty.
            Err(ClientError::Refused(problem)) if problem.code == Code::AppVersionNotFound.as_str() => Ok(None),
            version => version.map(|version| commit(&version)),
        }
    });
    let more: Vec<_> = asked.buffer_unordered(AT_ONCE).try_collect().await?;
    found.extend(more.into_iter().flatten());
    Ok(found)
}

fn commit(version: &AppVersion) -> Option<(String, String)> {
    let git = version.git.as_ref()?;
    Some((version.id.clone(), git.commit.chars().take(COMMIT).collect()))
}

/// Returns the last app version that the deployment created. `newest` is the last one that created
/// a version of a remaining unit; a later one that only removed units is found in the event log.
async fn made_last(context: &Context<'_>, deployment: &Deployment, newest: Option<String>) -> Result<Option<String>> {
    let mut cursor: Option<String> = None;
    for _ in 0..MOST_PAGES {
        let page = context.client.event_list(&context.app, PAGE, cursor.as_deref()).await?;
        for event in page.items.iter().filter(|event| event.kind == EventKind::AppVersionCreated.as_str()) {
            let field =
                |key: &str| event.after.as_ref().and_then(|after| after.get(key)).and_then(|text| text.as_str());
            let Some(id) = field("id") else { continue };
            if field("deployment") == Some(deployment.id.as_str()) || newest.as_deref() == Some(id) {
                return Ok(Some(id.to_owned()));
            }
        }
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    Ok(newest)
}
