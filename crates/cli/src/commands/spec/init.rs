use std::path::{Path, PathBuf};

use clap::Args;
use milepost_declared::manifest::app_name;

use crate::failure::{Failure, Result};
use crate::folders::write_reported;
use crate::output::Ui;
use crate::test_hooks;

const CONFIG: &str = "fission-deployment-config.yaml";

const README: &str = "\
# Specs

The YAML files in this folder declare functions, packages, environments and triggers of an app, as documents with
`apiVersion: fission.io/v1`. A file may contain several documents. Commit this folder together with the code.

    milepost spec version validate    checks the folder for mistakes
    milepost spec version apply       applies the folder in one change; `--dry-run` shows the plan
    milepost spec version list        lists the units that the folder created
    milepost spec version destroy     removes these units

`fission-deployment-config.yaml` identifies the folder by its `uid`. An apply removes units that an earlier apply
created under the same `uid` and that the folder no longer declares. Do not change the `uid`, and do not copy the file
into another folder.
";

/// Create a folder for specs
///
/// Writes `fission-deployment-config.yaml`, which identifies the folder's units on the server, and
/// a README. Existing files are not changed.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// The folder of the project
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// The folder for the specs, below DIR
    #[arg(long, value_name = "DIR", default_value = "specs")]
    specdir: PathBuf,
    /// Name of the deployment [default: the name of the project's folder]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Unique id of the deployment [default: random]
    #[arg(long, visible_alias = "deployuid", value_name = "UID")]
    deployid: Option<String>,
}

pub fn run(ui: &Ui, args: &InitArgs) -> Result<()> {
    // Avoids a leading `./` in messages.
    let folder = if args.dir == Path::new(".") { args.specdir.clone() } else { args.dir.join(&args.specdir) };
    let config = folder.join(CONFIG);
    if config.exists() {
        return Err(Failure::new(format!("`{}` already exists", config.display()))
            .hint("keep it, because it identifies the folder's units; create another folder with `--specdir DIR`"));
    }
    std::fs::create_dir_all(&folder)
        .map_err(|error| Failure::new(format!("could not create `{}`", folder.display())).caused_by(&error))?;
    let name = plain("--name", args.name.clone().unwrap_or_else(|| app_name(&args.dir)))?;
    let uid = plain("--deployid", args.deployid.clone().unwrap_or_else(uuid))?;
    let text = format!(
        "# Created by `milepost spec init`. The uid identifies the folder's units: do not change it.\n\
         apiVersion: fission.io/v1\nkind: DeploymentConfig\nname: {name}\nuid: {uid}\n"
    );
    let readme = folder.join("README.md");
    if !readme.exists() {
        write_reported(ui, &readme, README)?;
    }
    write_reported(ui, &config, &text)?;
    ui.say("Add specs to this folder, and apply them with `milepost spec version apply`.");
    Ok(())
}

/// Accepts a name or id that needs no quotes in YAML.
fn plain(option: &str, text: String) -> Result<String> {
    // The id of a folder without a config file contains the URL of its repository. It may be
    // written into the config file later.
    let more: &[u8] = if option == "--deployid" { b"-_.:/" } else { b"-_." };
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || more.contains(&byte);
    let starts_well = text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric());
    if starts_well && text.len() <= 200 && !text.ends_with(':') && text.bytes().all(fits) {
        return Ok(text);
    }
    Err(Failure::usage(format!("`{option} {text}` is not valid")).hint("use letters, digits, `-`, `_` and `.`"))
}

/// A random UUID, version 4.
fn uuid() -> String {
    let mut bytes = [0u8; 16];
    test_hooks::ids().fill(&mut bytes);
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}
