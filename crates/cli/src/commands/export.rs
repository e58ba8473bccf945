use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::Args;
use futures::{StreamExt, TryStreamExt};
use milepost_client::ClientError;
use milepost_declared::manifest::FILE_NAME;
use milepost_declared::write::{self, Download, Fetched, Held, Unsaid, absolute, failed, write_new};
use milepost_declared::{Declared, Pointer, Scanner, Session};
use milepost_model::change::UnitKey;
use milepost_model::snapshot::{AppObject, AppVersion, Unit, Version};
use milepost_model::{AppName, Selector, UnitKind, UnitSpec};
use serde_json::json;

use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::folders::{Terminal, stoppable};

/// Concurrent requests for versions that are not current.
const AT_ONCE: usize = 8;
/// Names listed in a warning; the rest are counted.
const NAMED: usize = 3;

/// Export the app as a folder with a milepost.yaml
///
/// Writes the newest app version, or the one of `--at`: a manifest, the sources of packages in
/// `packages/`, and static files in `static/`. `milepost deploy` of that folder recreates the app.
/// Secrets are exported by name only. A warning lists what a manifest cannot express.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Folder to create; it must be new or empty [default: the app's name]
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
    /// App version (uid or number), release, tag, `live`, `latest` or `head`
    #[arg(long, value_name = "VERSION", default_value = "head")]
    at: String,
}

pub async fn run(context: &Context<'_>, args: ExportArgs) -> Result<()> {
    let dir = args.dir.unwrap_or_else(|| PathBuf::from(&context.app));
    check_empty(&dir)?;
    let app = context.client.app_get(&context.app).await?;
    if app.head.is_none() {
        return Err(Failure::new(format!("app {} has no units to export", context.app))
            .hint("create some with `milepost deploy` or `milepost function create`"));
    }
    let terminal = Terminal::new(context);
    let session = terminal.session();
    let work = Box::pin(export(context, &session, &dir, &args.at));
    let done = stoppable(context.ui, &session.in_flight, work).await?;
    for warning in &done.warnings {
        context.ui.warn(warning);
    }
    let AppVersion { id, number, .. } = &done.version;
    let report = json!({
        "app": context.app,
        "appVersion": id,
        "number": number,
        "folder": dir,
        "units": done.units,
        "files": done.files,
        "warnings": done.warnings,
    });
    context.ui.show(
        &report,
        |_| vec![dir.display().to_string()],
        |_| {
            let (units, files) = (counted(done.units, "unit"), counted(done.files, "file"));
            format!("Exported app {}, version {number} ({id}), to {}: {units}, {files}.", context.app, dir.display())
        },
    )
}

struct Exported {
    version: AppVersion,
    units: usize,
    files: usize,
    warnings: Vec<String>,
}

async fn export(context: &Context<'_>, session: &Session<'_>, dir: &Path, at: &str) -> Result<Exported> {
    let version = context.client.app_version_get(&context.app, at).await?;
    let (held, mut warnings) = read(context, &version).await?;
    let whole = absolute(dir)?;
    let parent = whole.parent().ok_or_else(|| Failure::usage(format!("`{}` cannot be created", dir.display())))?;
    std::fs::create_dir_all(parent).map_err(|error| failed(parent, error))?;
    // Written to a scratch directory next to the target, then moved when complete. An existing
    // target may be the current directory of a process, so it is kept and the scratch directory is
    // inside it.
    let beside = if whole.is_dir() { &whole } else { parent };
    let scratch = tempfile::Builder::new().prefix(".milepost-export-").tempdir_in(beside);
    let scratch = scratch.map_err(|error| failed(beside, error))?;
    let folder = scratch.path().join("app");
    std::fs::create_dir(&folder).map_err(|error| failed(&folder, error))?;

    let downloads = write::downloads(&held, &folder);
    let paths = write::download_all(session, &downloads).await?;
    let fetched = Fetched { folder: &folder, downloads: &downloads, paths: &paths };
    let (mut outline, notes) = write::of_app(&held, &fetched);
    outline.app = Some(context.app.parse::<AppName>()?);
    outline.deployment = deployment(context, &held, &mut warnings);
    outline.heading =
        vec![format!("App {}, version {} ({}), by `milepost export`.", context.app, version.number, version.id)];
    let (text, unsaid) = outline.write();
    warnings.extend(notes.into_iter().chain(unsaid).map(|Unsaid { key, message }| format!("{key}: {message}")));
    write_new(&folder.join(FILE_NAME), &text)?;
    put_in_place(&folder, &whole).map_err(|error| failed(dir, error))?;
    drop(scratch);

    let read = milepost_declared::read_manifest(dir)?;
    warnings.extend(only_in_this_app(&read));
    warnings.extend(other_files(session.scanner, &read, &downloads, &paths).await);
    let files = paths.iter().map(BTreeSet::len).sum();
    Ok(Exported { version, units: read.units.len(), files, warnings })
}

fn check_empty(dir: &Path) -> Result<()> {
    let hint = "name another folder, like `milepost export copy-of-it`";
    match std::fs::read_dir(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Failure::unreadable(dir, &error).hint(hint)),
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(Failure::usage(format!("the folder `{}` is not empty", dir.display())).hint(hint)),
        },
    }
}

fn put_in_place(folder: &Path, to: &Path) -> std::io::Result<()> {
    if !to.is_dir() {
        return std::fs::rename(folder, to);
    }
    // The manifest is moved last, so that a process that waits for it finds its files.
    std::fs::read_dir(folder)?.try_for_each(|entry| {
        let entry = entry?;
        if entry.file_name() == FILE_NAME { Ok(()) } else { std::fs::rename(entry.path(), to.join(entry.file_name())) }
    })?;
    std::fs::rename(folder.join(FILE_NAME), to.join(FILE_NAME))
}

/// The units of an app version with their content, and a warning for each that was deleted.
async fn read(context: &Context<'_>, version: &AppVersion) -> Result<(Vec<Held>, Vec<String>)> {
    let now = units_now(context).await?;
    let reads = futures::stream::iter(&version.objects).map(|object| {
        let key = UnitKey { kind: object.kind, name: object.name.clone() };
        let unit = now.get(&key);
        async move {
            let deployment = unit.and_then(|unit| unit.deployment.clone());
            if object.kind == UnitKind::Secret {
                return Ok(Ok(Held { deployment, ..held(key, object) }));
            }
            let found = match unit.filter(|unit| unit.current.number == object.number) {
                Some(unit) => Ok(unit.current.clone()),
                None => context.client.version_get(&context.app, &key, &object.number.to_string()).await,
            };
            match found {
                Ok(found) => {
                    let spec = Some(spec_of(&found)?);
                    let description = found.description;
                    Ok(Ok(Held { deployment, spec, description, ..held(key, object) }))
                }
                Err(ClientError::Refused(problem)) if matches!(problem.status, 404 | 410) => {
                    let detail = problem.detail.trim_end_matches('.').to_owned();
                    Ok(Err(format!("{key}, version {}, is not exported: {detail}", object.number)))
                }
                Err(error) => Err(Failure::from(error)),
            }
        }
    });
    let found: Vec<Result<Held, String>> = reads.buffered(AT_ONCE).try_collect().await?;
    let (mut units, mut left_out) = (Vec::new(), Vec::new());
    for unit in found {
        match unit {
            Ok(unit) => units.push(unit),
            Err(why) => left_out.push(why),
        }
    }
    Ok((units, left_out))
}

fn held(key: UnitKey, object: &AppObject) -> Held {
    let (number, digest) = (object.number, object.digest);
    Held { key, number, digest, description: String::new(), spec: None, deployment: None }
}

fn spec_of(version: &Version) -> Result<UnitSpec> {
    UnitSpec::from_json(version.kind, &version.spec.to_string()).map_err(|error| {
        Failure::new(format!("the server returned a {} that this version of Milepost does not support", version.kind))
            .caused_by(&error)
            .hint("use the same version of `milepost` as the server")
    })
}

async fn units_now(context: &Context<'_>) -> Result<BTreeMap<UnitKey, Unit>> {
    let mut found = BTreeMap::new();
    let mut cursor: Option<String> = None;
    loop {
        let page = context.client.unit_list(&context.app, None, 1000, cursor.as_deref()).await?;
        let keyed = |unit: Unit| (UnitKey { kind: unit.kind, name: unit.name.clone() }, unit);
        found.extend(page.items.into_iter().map(keyed));
        cursor = page.next;
        if cursor.is_none() {
            return Ok(found);
        }
    }
}

/// The deployment that the units belong to. None, with a warning, if they belong to several.
fn deployment(
    context: &Context<'_>,
    held: &[Held],
    warnings: &mut Vec<String>,
) -> Option<milepost_model::change::Deployment> {
    let (owners, free) = write::owners(held);
    if owners.len() > 1 {
        let names: Vec<String> = owners
            .values()
            .map(
                |owner| {
                    if owner.id == owner.name { owner.name.clone() } else { format!("{} ({})", owner.name, owner.id) }
                },
            )
            .collect();
        warnings.push(format!(
            "the units of app {} belong to several deployments: {}; the manifest names none, so deploying it needs \
             `--allow-conflicts` to take them over",
            context.app,
            names.join(", ")
        ));
        return None;
    }
    let owner = owners.into_values().next()?;
    if !free.is_empty() {
        let free: Vec<String> = free.iter().map(ToString::to_string).collect();
        warnings.push(format!("a deploy adds these units to deployment {}: {}", owner.name, some(&free)));
    }
    Some(owner)
}

/// Warns about triggers that refer to an alias or a version. These exist in this app, but an
/// exported folder does not contain them, so a new app will not have them.
fn only_in_this_app(read: &Declared) -> Vec<String> {
    let warning = |Pointer { by, function, version, .. }: &Pointer| match version {
        Selector::Alias(alias) => format!(
            "{by} follows alias `{alias}` of function `{function}`; for another app, remove `alias` before the first deploy, \
             and add it again after `milepost function alias create --name {function} --alias {alias}`"
        ),
        version => format!(
            "{by} is pinned to version {version} of function `{function}`; for another app, remove `version`, or name one that it has"
        ),
    };
    read.pointers.iter().map(warning).collect()
}

/// Warns about units whose files, read back from the folder, differ from those that were fetched.
/// Ignore files and names that a deploy always skips cause this.
async fn other_files(
    scanner: &Scanner,
    read: &Declared,
    downloads: &[Download],
    paths: &[BTreeSet<String>],
) -> Vec<String> {
    let mut warnings = Vec::new();
    for (download, paths) in downloads.iter().zip(paths) {
        let Some(unit) = read.unit(download.key.kind, &download.key.name) else { continue };
        let mut taken = None;
        for (_, files) in &unit.trees {
            match scanner.files(files).await {
                Ok(source) if source.root().is_ok_and(|root| root == download.root) => taken = Some(BTreeSet::new()),
                Ok(source) if taken.is_none() => {
                    let found = source.tree().map(|tree| tree.iter().map(|(path, _)| path.to_owned()).collect());
                    taken = Some(paths.difference(&found.unwrap_or_default()).cloned().collect::<BTreeSet<String>>());
                }
                _ => {}
            }
        }
        let key = &download.key;
        match taken {
            Some(left_out) if left_out.is_empty() => {}
            Some(left_out) => {
                let left_out: Vec<String> = left_out.into_iter().collect();
                warnings.push(format!("{key}: a deploy of the folder skips {}", some(&left_out)));
            }
            None => warnings.push(format!("{key}: could not read its files back from the folder")),
        }
    }
    warnings
}

fn some(names: &[String]) -> String {
    let shown = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
