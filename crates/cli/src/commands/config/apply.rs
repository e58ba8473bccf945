use clap::Args;
use milepost_model::UnitName;
use milepost_model::unit_put::{ConfigPut, UnitPut};
use std::path::PathBuf;

use super::document;
use crate::commands::shared::{self, ChangeArgs};
use crate::context::Context;
use crate::failure::{Failure, Result};

/// Replace the configuration with a file
#[derive(Debug, Args)]
pub struct ApplyArgs {
    /// YAML or JSON file; `-` reads stdin
    file: PathBuf,
    #[command(flatten)]
    change: ChangeArgs,
}

pub async fn run(context: &Context<'_>, args: ApplyArgs) -> Result<()> {
    let (text, file) = if args.file.as_os_str() == "-" {
        (std::io::read_to_string(std::io::stdin()), PathBuf::from("stdin"))
    } else {
        (std::fs::read_to_string(&args.file), args.file)
    };
    let text = text.map_err(|error| Failure::unreadable(&file, &error))?;
    let document = document::parse(&text, &file)?;
    let put = shared::put(
        UnitName::config(),
        UnitPut::Config(ConfigPut { document: Some(document), ..ConfigPut::default() }),
    );
    shared::send(context, &args.change.change(vec![put], Vec::new())).await
}
