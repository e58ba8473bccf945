use std::path::{Path, PathBuf};

use clap::Args;
use milepost_declared::manifest::FILE_NAME;
use milepost_declared::write::{self, Unsaid, absolute, write_new};
use milepost_declared::{Declared, Place, Problem, fission};
use milepost_model::AppName;
use serde_json::json;

use super::spec::FolderArgs;
use crate::args::Global;
use crate::context::private_folders;
use crate::failure::{Failure, Result};
use crate::folders::{hint, mistakes, scanner};
use crate::output::Ui;

/// Convert a folder of specs into one milepost.yaml
///
/// The manifest declares the same units under the same names, and they keep their deployment, so
/// `milepost deploy` after an import changes nothing. Code that is embedded in the specs is written
/// to `imported/`. Everything that a manifest cannot express is listed with its file and line.
/// Comments are not copied. The specs are not changed. With `--app`, the manifest names that app.
#[derive(Debug, Args)]
pub struct ImportArgs {
    #[command(flatten)]
    folder: FolderArgs,
    /// Write the manifest to this file [default: milepost.yaml next to the folder of specs]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Allow files outside the folder and its git repository
    #[arg(long)]
    allow_outside: bool,
}

pub async fn run(ui: &Ui, global: &Global, args: ImportArgs, app: Option<AppName>) -> Result<()> {
    let specs = &args.folder.specdir;
    let mut declared = fission::read_folder(specs)?;
    if app.is_some() {
        declared.app = app;
    }
    let outside = || milepost_declared::bounds::outside(&declared, &private_folders(global));
    let wrong = if args.allow_outside { Vec::new() } else { outside() };
    if !wrong.is_empty() {
        return Err(mistakes(wrong, declared.warnings));
    }
    let out = match args.out {
        Some(out) if out.is_dir() => out.join(FILE_NAME),
        Some(out) => out,
        None => beside(specs),
    };
    if out.symlink_metadata().is_ok() {
        return Err(Failure::usage(format!("`{}` already exists", out.display()))
            .hint("choose another file with `--out FILE`, or remove this one"));
    }
    let folder = out.parent().map(Path::to_owned).unwrap_or_default();
    let whole = absolute(&folder)?;
    if !whole.is_dir() {
        let message = format!("folder `{}` does not exist", folder.display());
        return Err(Failure::usage(message).hint("create it first, or choose another file with `--out FILE`"));
    }

    // Scans before it writes, so that the written files are not part of the scan.
    let scanner = scanner();
    let roots = write::roots(&scanner, &declared).await;
    let name = out.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut sheet = write::of_specs(&scanner, &declared, &whole, &name).await?;
    sheet.outline.heading = vec![format!("Generated from {} by `milepost import`.", specs.display())];
    let (text, unsaid) = sheet.outline.write();
    let copied = sheet.copies.len();
    let files = sheet.place_copies(&whole)?;
    write_new(&out, &text)?;

    let read = milepost_declared::read_manifest(&out)?;
    let mut lost: Vec<Problem> = declared.warnings.iter().chain(&declared.notes).cloned().collect();
    let more = write::differences(&scanner, &declared, &roots, &read).await;
    // A unit that a manifest cannot express also differs: it is reported once.
    let more = more.into_iter().filter(|found| unsaid.iter().all(|known| known.key != found.key));
    lost.extend(
        sheet.notes.into_iter().chain(unsaid.iter().cloned()).chain(more).map(|found| located(&declared, found)),
    );
    lost.extend(elsewhere(&declared, &read));
    lost.sort_by(|one, other| one.place.cmp(&other.place));

    ui.say(&format!("Wrote {}", out.display()));
    if copied > 0 {
        let files = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
        ui.say(&format!("Wrote {files} to {}", folder.join(write::COPIES).display()));
    }
    for problem in &lost {
        ui.warn(&format!("{}: {}", problem.place, problem.message));
        if let Some(hint) = hint(problem) {
            ui.hint(&hint);
        }
    }
    let listed: Vec<_> = lost
        .iter()
        .map(|lost| json!({ "file": lost.place.file, "line": lost.place.line, "message": lost.message, "hint": hint(lost) }))
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
                0 => format!("Imported {units} without loss."),
                1 => format!("Imported {units}; review 1 warning."),
                count => format!("Imported {units}; review {count} warnings."),
            }
        },
    )?;
    ui.say(&format!("Run `milepost deploy{} --dry-run` to see what a deploy would change.", argument(&out, &folder)));
    Ok(())
}

/// The path of a manifest in the parent folder of the specs.
fn beside(specs: &Path) -> PathBuf {
    match specs.components().next_back() {
        Some(std::path::Component::Normal(_)) => specs.parent().unwrap_or(Path::new("")).join(FILE_NAME),
        _ => specs.join("..").join(FILE_NAME),
    }
}

/// The argument of `milepost deploy` for this manifest, with a leading space.
fn argument(out: &Path, folder: &Path) -> String {
    let usual = out.file_name().is_some_and(|name| name == FILE_NAME);
    let path = if usual { folder } else { out };
    if path.as_os_str().is_empty() { String::new() } else { format!(" {}", path.display()) }
}

/// A warning about a unit, at its place in the specs.
fn located(declared: &Declared, unsaid: Unsaid) -> Problem {
    let Unsaid { key, message } = unsaid;
    let place = declared.unit(key.kind, &key.name).map(|unit| unit.place.clone());
    let start = || Place { file: declared.origin.clone(), line: 1 };
    Problem::new(place.unwrap_or_else(start), format!("{key}: {message}"), None)
}

/// Differences that belong to no unit.
fn elsewhere(declared: &Declared, read: &Declared) -> Vec<Problem> {
    let place = || Place { file: declared.origin.clone(), line: 1 };
    let mut found = Vec::new();
    if declared.deployment != read.deployment {
        let message = format!("deployment {} becomes {} in the manifest", declared.deployment.id, read.deployment.id);
        found.push(Problem::new(place(), message, None));
    }
    if declared.app != read.app {
        found.push(Problem::new(place(), "the manifest describes another app", None));
    }
    found
}
