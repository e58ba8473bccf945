use clap::Args;
use milepost_model::UnitName;
use milepost_model::unit_put::{ConfigPut, UnitPut};
use std::process::Command;

use super::{apply, get};
use crate::commands::shared::{self, ChangeArgs};
use crate::context::Context;
use crate::failure::{Failure, Result};

/// Edit the configuration in your editor ($VISUAL or $EDITOR)
#[derive(Debug, Args)]
pub struct EditArgs {
    #[command(flatten)]
    change: ChangeArgs,
}

pub async fn run(context: &Context<'_>, args: EditArgs) -> Result<()> {
    let before = get::document(context, "latest").await.unwrap_or_else(|_| serde_json::json!({}));
    let text = serde_saphyr::to_string(&before).map_err(|error| Failure::new(error.to_string()))?;
    let file = tempfile::Builder::new().prefix("milepost-config-").suffix(".yaml").tempfile()?;
    std::fs::write(file.path(), text)?;
    let editor =
        ["VISUAL", "EDITOR"].iter().find_map(|name| std::env::var(name).ok()).unwrap_or_else(|| "vi".to_owned());
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi").to_owned();
    let ended = Command::new(&program).args(words).arg(file.path()).status();
    let ended = ended.map_err(|error| {
        Failure::new(format!("could not start the editor `{program}`")).caused_by(&error).hint("set EDITOR")
    })?;
    if !ended.success() {
        return Err(Failure::new("the editor failed, so nothing was changed"));
    }
    let document = match apply::parse(&std::fs::read_to_string(file.path())?) {
        Ok(document) => document,
        Err(failure) => {
            let (_, kept) = file.keep().map_err(|error| Failure::new(error.to_string()))?;
            return Err(failure
                .hint(format!("your text is in {0}; mend it and run `milepost config apply {0}`", kept.display())));
        }
    };
    let put = shared::put(
        UnitName::config(),
        UnitPut::Config(ConfigPut { document: Some(document), ..ConfigPut::default() }),
    );
    shared::send(context, &args.change.change(vec![put], Vec::new())).await
}
