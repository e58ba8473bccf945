use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::declared::manifest::{self, FILE_NAME};
use crate::failure::{Failure, Result};
use crate::output::Ui;

const PROGRAM: &str = "def main(request):\n    return \"hello, world\\n\"\n";

/// Write a milepost.yaml to start from
///
/// A folder with a `main.py`, an `index.js` or an `index.html` gets a manifest for it; an empty one gets a function too. Nothing
/// that is there is changed.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// The folder; it is made if it does not exist
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,
}

pub fn run(ui: &Ui, args: &InitArgs) -> Result<()> {
    std::fs::create_dir_all(&args.dir)?;
    if args.dir.join(FILE_NAME).exists() {
        return Err(Failure::new(format!("`{}` is there already", args.dir.join(FILE_NAME).display()))
            .hint(format!("deploy it with `milepost up {}`", args.dir.display())));
    }
    if manifest::starter(&args.dir).is_none() {
        write(ui, &args.dir.join("main.py"), PROGRAM)?;
    }
    let starter = manifest::starter(&args.dir).ok_or_else(|| Failure::new("there is nothing to describe"))?;
    write(ui, &args.dir.join(FILE_NAME), &starter)?;
    ui.say(&format!("Try it with `milepost up {} --watch`.", args.dir.display()));
    Ok(())
}

/// Only where nothing is: a file of the user's is never written over.
fn write(ui: &Ui, path: &Path, text: &str) -> Result<()> {
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(|error| Failure::new(format!("could not write `{}`", path.display())).caused_by(&error))?;
    file.write_all(text.as_bytes())?;
    ui.say(&format!("Wrote {}", path.display()));
    Ok(())
}
