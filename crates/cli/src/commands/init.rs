use std::path::{Path, PathBuf};

use clap::Args;
use milepost_declared::manifest::keys::schema::{modeline, schema};
use milepost_declared::manifest::{self, FILE_NAME, SCHEMA_PATH};
use milepost_model::AppName;

use crate::failure::{Failure, Result};
use crate::folders::write_reported;
use crate::output::Ui;

const PROGRAM: &str = "def main(request):\n    return \"hello, world\\n\"\n";

/// Write a starter milepost.yaml
///
/// Recognises Flask, FastAPI, Django, Express, Fastify and Vite, programs in `main.py` or
/// `index.js`, and folders of web pages. In an empty folder it also writes an example function.
/// The app is named after the folder, or as `--app` says. Existing files are not changed. Also writes
/// the JSON schema by which editors complete and check milepost.yaml.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// The folder of the project; created if it does not exist
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Only write the JSON schema for editors, also for an existing milepost.yaml
    #[arg(long)]
    schema: bool,
}

pub fn run(ui: &Ui, args: &InitArgs, app: Option<&AppName>) -> Result<()> {
    std::fs::create_dir_all(&args.dir)?;
    if args.schema {
        return refresh_schema(ui, &args.dir);
    }
    if args.dir.join(FILE_NAME).exists() {
        return Err(Failure::new(format!("`{}` already exists", args.dir.join(FILE_NAME).display()))
            .hint(format!("deploy it with `milepost up {}`", args.dir.display())));
    }
    if manifest::starter(&args.dir).is_none() {
        write_reported(ui, &args.dir.join("main.py"), PROGRAM)?;
    }
    let starter = manifest::starter(&args.dir).ok_or_else(|| Failure::new("found no program or page to deploy"))?;
    for (name, text) in &starter.files {
        write_reported(ui, &args.dir.join(name), text)?;
    }
    let manifest = match (app, starter.manifest.split_once('\n')) {
        (Some(app), Some((_, rest))) => format!("app: {app}\n{rest}"),
        _ => starter.manifest,
    };
    write_reported(ui, &args.dir.join(FILE_NAME), &(modeline() + &manifest))?;
    write_schema(ui, &args.dir)?;
    for note in &starter.notes {
        ui.say(note);
    }
    ui.say(&format!("Try it with `milepost up {} --watch`.", args.dir.display()));
    Ok(())
}

/// Writes the schema of this version, and says how an existing manifest refers to it.
fn refresh_schema(ui: &Ui, folder: &Path) -> Result<()> {
    write_schema(ui, folder)?;
    let line = modeline();
    let manifest = std::fs::read_to_string(folder.join(FILE_NAME)).unwrap_or_default();
    if !manifest.lines().any(|found| found == line.trim_end()) {
        ui.say(&format!("Put this line first in {FILE_NAME}:\n\n    {line}"));
    }
    Ok(())
}

/// Replaces an older schema: it is generated, and `.milepost` is ours.
fn write_schema(ui: &Ui, folder: &Path) -> Result<()> {
    let path = folder.join(SCHEMA_PATH);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::write(&path, format!("{:#}\n", schema()))?;
    ui.say(&format!("Wrote {}", path.display()));
    Ok(())
}
