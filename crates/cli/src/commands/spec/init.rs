use std::path::{Path, PathBuf};

use clap::Args;

use crate::declared::manifest::app_name;
use crate::declared::write::write_told;
use crate::failure::{Failure, Result};
use crate::output::Ui;
use crate::test_hooks;

const CONFIG: &str = "fission-deployment-config.yaml";

const README: &str = "\
# Specs

The YAML files in this folder say what a part of an app should be: functions, packages, environments, triggers
(`apiVersion: fission.io/v1`), any number of documents a file. Check this folder in beside the code.

    milepost spec version validate    finds the mistakes in it
    milepost spec version apply       makes the app as it says, in one change; `--dry-run` only tells the plan
    milepost spec version list        shows what it made
    milepost spec version destroy     removes that again

`fission-deployment-config.yaml` names the folder. What an apply made under its `uid`, and does not find in the folder
any more, the next apply removes: do not change it, and do not copy it into another folder.
";

/// Start a folder of specs
///
/// Writes `fission-deployment-config.yaml`, by which the server knows what the folder made, and a README. Nothing that is
/// there is changed.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// The folder of the project
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// The folder for the specs, in it
    #[arg(long, value_name = "DIR", default_value = "specs")]
    specdir: PathBuf,
    /// How people call the deployment [default: the name of the folder]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// What tells it from others [default: chosen at random]
    #[arg(long, visible_alias = "deployuid", value_name = "UID")]
    deployid: Option<String>,
}

pub fn run(ui: &Ui, args: &InitArgs) -> Result<()> {
    // The current folder is not worth a `./` in every message.
    let folder = if args.dir == Path::new(".") { args.specdir.clone() } else { args.dir.join(&args.specdir) };
    let config = folder.join(CONFIG);
    if config.exists() {
        return Err(Failure::new(format!("`{}` is there already", config.display()))
            .hint("what it made belongs to it; start another folder with `--specdir DIR`"));
    }
    std::fs::create_dir_all(&folder)
        .map_err(|error| Failure::new(format!("could not make `{}`", folder.display())).caused_by(&error))?;
    let name = plain("--name", args.name.clone().unwrap_or_else(|| app_name(&args.dir)))?;
    let uid = plain("--deployid", args.deployid.clone().unwrap_or_else(uuid))?;
    let text = format!(
        "# Made by `milepost spec init`. The uid says what this folder made: do not change it.\n\
         apiVersion: fission.io/v1\nkind: DeploymentConfig\nname: {name}\nuid: {uid}\n"
    );
    let readme = folder.join("README.md");
    if !readme.exists() {
        write_told(ui, &readme, README)?;
    }
    write_told(ui, &config, &text)?;
    ui.say("Put specs beside it, and apply them with `milepost spec version apply`.");
    Ok(())
}

/// What needs no quotes in YAML, and no explanation anywhere else.
fn plain(option: &str, text: String) -> Result<String> {
    // An id that a folder had before it was written down has the address of its repository in it.
    let more: &[u8] = if option == "--deployid" { b"-_.:/" } else { b"-_." };
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || more.contains(&byte);
    let starts_well = text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric());
    if starts_well && text.len() <= 200 && !text.ends_with(':') && text.bytes().all(fits) {
        return Ok(text);
    }
    Err(Failure::usage(format!("`{option} {text}` cannot be used")).hint("use letters, digits, `-`, `_` and `.`"))
}

/// Random, in the form that other tools write it.
fn uuid() -> String {
    let mut bytes = [0u8; 16];
    test_hooks::ids().fill(&mut bytes);
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}
