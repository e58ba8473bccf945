use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::spec::FolderArgs;
use crate::declared::manifest::FILE_NAME;
use crate::declared::write::{self, Unsaid, absolute, write_new};
use crate::declared::{self, Declared, Place, Problem, fission};
use crate::failure::{Failure, Result};
use crate::output::Ui;

/// Turn a folder of specs into one milepost.yaml
///
/// The manifest makes the same units under the same names, and they go on to belong to the same deployment: `milepost deploy`
/// after it changes nothing. Code that stands in the specs themselves is written out to `imported/`. What a manifest cannot say
/// is listed with its file and line. Comments are not taken over, and the specs stay as they are.
#[derive(Debug, Args)]
pub struct ImportArgs {
    #[command(flatten)]
    folder: FolderArgs,
    /// The manifest to write [default: milepost.yaml beside the specs]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Also take files outside of the folder, or of the git repository that it is in
    #[arg(long)]
    allow_outside: bool,
}

pub async fn run(ui: &Ui, args: ImportArgs) -> Result<()> {
    let specs = &args.folder.specdir;
    let declared = fission::read_folder(specs)?;
    let wrong = if args.allow_outside { Vec::new() } else { declared::bounds::outside(&declared) };
    if !wrong.is_empty() {
        return Err(declared::failure(wrong, declared.warnings));
    }
    let out = match args.out {
        Some(out) if out.is_dir() => out.join(FILE_NAME),
        Some(out) => out,
        None => beside(specs),
    };
    if out.symlink_metadata().is_ok() {
        return Err(Failure::usage(format!("`{}` is there already", out.display()))
            .hint("name another file with `--out FILE`, or take this one away"));
    }
    let folder = out.parent().map(Path::to_owned).unwrap_or_default();
    let whole = absolute(&folder)?;
    if !whole.is_dir() {
        let message = format!("there is no folder `{}`", folder.display());
        return Err(Failure::usage(message).hint("make it first, or name another file with `--out FILE`"));
    }

    // Before anything is written: what is written must not become a part of it.
    let roots = write::roots(&declared).await;
    let name = out.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut sheet = write::of_specs(&declared, &whole, &name).await?;
    sheet.outline.heading = vec![format!("Made from {} by `milepost import`.", specs.display())];
    let (text, unsaid) = sheet.outline.write();
    let copied = sheet.copies.len();
    let files = sheet.place_copies(&whole)?;
    write_new(&out, &text)?;

    let read = declared::read_manifest(&out)?;
    let mut lost: Vec<Problem> = declared.warnings.iter().chain(&declared.notes).cloned().collect();
    let more = write::differences(&declared, &roots, &read).await;
    // What has no word in a manifest is not the same there; once is enough.
    let more = more.into_iter().filter(|found| unsaid.iter().all(|known| known.key != found.key));
    lost.extend(sheet.notes.into_iter().chain(unsaid.iter().cloned()).chain(more).map(|found| told(&declared, found)));
    lost.extend(elsewhere(&declared, &read));
    lost.sort_by(|one, other| one.place.cmp(&other.place));

    ui.say(&format!("Wrote {}", out.display()));
    if copied > 0 {
        let files = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
        ui.say(&format!("Wrote {files} to {}", folder.join(write::COPIES).display()));
    }
    for Problem { place, message, hint } in &lost {
        ui.warn(&format!("{place}: {message}"));
        if let Some(hint) = hint {
            ui.hint(hint);
        }
    }
    let listed: Vec<_> = lost
        .iter()
        .map(|lost| json!({ "file": lost.place.file, "line": lost.place.line, "message": lost.message, "hint": lost.hint }))
        .collect();
    let report = json!({
        "manifest": out,
        "deployment": declared.deployment,
        "units": declared.keys().collect::<Vec<_>>(),
        "files": files,
        "lost": listed,
    });
    let units = declared.units.len();
    ui.show(
        &report,
        |_| vec![out.display().to_string()],
        |_| {
            let units = if units == 1 { "1 unit".to_owned() } else { format!("{units} units") };
            match lost.len() {
                0 => format!("{units}, nothing was lost."),
                1 => format!("{units}; 1 thing was lost or is worth a look."),
                count => format!("{units}; {count} things were lost or are worth a look."),
            }
        },
    )?;
    ui.say(&format!("`milepost deploy{} --dry-run` tells what a deploy of it would change.", named(&out, &folder)));
    Ok(())
}

/// The manifest in the folder around the specs.
fn beside(specs: &Path) -> PathBuf {
    match specs.components().next_back() {
        Some(std::path::Component::Normal(_)) => specs.parent().unwrap_or(Path::new("")).join(FILE_NAME),
        _ => specs.join("..").join(FILE_NAME),
    }
}

/// How `deploy` is told of it.
fn named(out: &Path, folder: &Path) -> String {
    let usual = out.file_name().is_some_and(|name| name == FILE_NAME);
    let path = if usual { folder } else { out };
    if path.as_os_str().is_empty() { String::new() } else { format!(" {}", path.display()) }
}

/// Where it stands in the specs.
fn told(declared: &Declared, unsaid: Unsaid) -> Problem {
    let Unsaid { key, message } = unsaid;
    let place = declared.unit(key.kind, &key.name).map(|unit| unit.place.clone());
    let start = || Place { file: declared.origin.clone(), line: 1 };
    Problem { place: place.unwrap_or_else(start), message: format!("{key}: {message}"), hint: None }
}

/// What belongs to no unit.
fn elsewhere(declared: &Declared, read: &Declared) -> Vec<Problem> {
    let place = || Place { file: declared.origin.clone(), line: 1 };
    let mut found = Vec::new();
    if declared.deployment != read.deployment {
        let message = format!("the deployment {} is {} in the manifest", declared.deployment.id, read.deployment.id);
        found.push(Problem { place: place(), message, hint: None });
    }
    if declared.app != read.app {
        found.push(Problem { place: place(), message: "the manifest is about another app".to_owned(), hint: None });
    }
    found
}
