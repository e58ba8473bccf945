use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use futures::StreamExt;
use milepost_model::UnitKind;

use crate::args::slots::VersionArgs;
use crate::context::Context;
use crate::failure::{Failure, Result};

/// Download the files of a version as a zip
#[derive(Debug, Args)]
pub struct DownloadArgs {
    #[command(flatten)]
    version: VersionArgs,
    /// Write to this file [default: NAME-NUMBER.zip]
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// The files to download: `source` or `deployment` [default: the files that run]
    #[arg(long, value_name = "PART")]
    part: Option<String>,
}

pub async fn run(context: &Context<'_>, kind: UnitKind, args: DownloadArgs) -> Result<()> {
    let key = args.version.key(kind)?;
    let version = context.client.version_get(&context.app, &key, args.version.version()).await?;
    let target = args.to.unwrap_or_else(|| PathBuf::from(format!("{}-{}.zip", version.name, version.number)));
    let response =
        context.client.version_download(&context.app, &key, &version.number.to_string(), args.part.as_deref()).await?;
    let folder = target
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .map_or_else(|| PathBuf::from("."), PathBuf::from);
    // Writes to a temporary file first, so that an interrupted download leaves no partial file.
    let mut file = tempfile::NamedTempFile::new_in(&folder).map_err(|error| cannot_write(&folder, &error))?;
    let mut stream = response.bytes_stream();
    while let Some(chunk) = stream.next().await {
        file.write_all(&chunk.map_err(|error| Failure::new("the download was interrupted").caused_by(&error))?)?;
    }
    file.persist(&target)
        .map_err(|error| Failure::new(format!("could not write `{}`", target.display())).caused_by(&error))?;
    context.ui.say(&format!("Wrote version {} of {key} to {}", version.number, target.display()));
    Ok(())
}

/// Reports the folder only: the name of the temporary file means nothing to the user.
fn cannot_write(folder: &Path, error: &std::io::Error) -> Failure {
    let message = match error.kind() {
        std::io::ErrorKind::NotFound => format!("folder `{}` does not exist", folder.display()),
        std::io::ErrorKind::PermissionDenied => format!("no permission to write to folder `{}`", folder.display()),
        _ => return Failure::new(format!("could not write to folder `{}`", folder.display())).caused_by(error),
    };
    Failure::new(message).hint("create it first, or choose another file with `--to FILE`")
}
