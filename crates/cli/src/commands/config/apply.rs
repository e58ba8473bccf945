use clap::Args;
use milepost_model::UnitName;
use milepost_model::unit_put::{ConfigPut, UnitPut};
use serde_json::Value;
use std::path::PathBuf;

use crate::commands::shared::{self, ChangeArgs};
use crate::context::Context;
use crate::failure::{Failure, Result};

/// Replace the configuration by a file
#[derive(Debug, Args)]
pub struct ApplyArgs {
    /// A YAML or JSON file; `-` reads stdin
    file: PathBuf,
    #[command(flatten)]
    change: ChangeArgs,
}

pub async fn run(context: &Context<'_>, args: ApplyArgs) -> Result<()> {
    let text = if args.file.as_os_str() == "-" {
        std::io::read_to_string(std::io::stdin())?
    } else {
        std::fs::read_to_string(&args.file)
            .map_err(|error| Failure::new(format!("could not read `{}`", args.file.display())).caused_by(&error))?
    };
    let put = shared::put(
        UnitName::config(),
        UnitPut::Config(ConfigPut { document: Some(parse(&text)?), ..ConfigPut::default() }),
    );
    shared::send(context, &args.change.change(vec![put], Vec::new())).await
}

/// YAML, of which JSON is a part.
pub fn parse(text: &str) -> Result<Value> {
    let document: Value = serde_saphyr::from_str(text).map_err(|error| {
        Failure::new(format!("the configuration cannot be read: {error}")).hint("mend the line that is named")
    })?;
    if document.is_null() {
        return Err(Failure::new("the configuration is empty").hint("write `{}` to clear it"));
    }
    Ok(document)
}
