use clap::Args;
use milepost_model::unit_put::{ConfigPut, UnitPut};
use milepost_model::{UnitKind, UnitName};
use std::process::Command;

use super::{document, get};
use crate::commands::shared::{self, ChangeArgs};
use crate::context::{Context, unit_key};
use crate::failure::{Failure, Result};

/// Edit the configuration in $VISUAL or $EDITOR
#[derive(Debug, Args)]
pub struct EditArgs {
    #[command(flatten)]
    change: ChangeArgs,
}

pub async fn run(context: &Context<'_>, args: EditArgs) -> Result<()> {
    let editor = editor(context.ui.can_ask())?;
    let on = args.change.on.unwrap_or_default();
    let before = match shared::version_on(context, &unit_key(UnitKind::Config, "config")?, on).await? {
        Some(version) => get::document(context, &version).await.unwrap_or_else(|_| serde_json::json!({})),
        None => serde_json::json!({}),
    };
    let text = serde_saphyr::to_string(&before).map_err(|error| Failure::new(error.to_string()))?;
    let file = tempfile::Builder::new().prefix("milepost-config-").suffix(".yaml").tempfile()?;
    std::fs::write(file.path(), text)?;
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi").to_owned();
    let ended = Command::new(&program).args(words).arg(file.path()).status();
    let ended = ended.map_err(|error| {
        Failure::new(format!("could not start the editor `{program}`")).caused_by(&error).hint("set EDITOR")
    })?;
    if !ended.success() {
        return Err(Failure::new(format!("the editor `{program}` failed; nothing was changed")));
    }
    let document = match document::parse(&std::fs::read_to_string(file.path())?, file.path()) {
        Ok(document) => document,
        Err(failure) => {
            let (_, kept) = file.keep().map_err(|error| Failure::new(error.to_string()))?;
            return Err(failure
                .hint(format!("your text is in {0}; fix it and run `milepost config apply {0}`", kept.display())));
        }
    };
    let put = shared::put(
        UnitName::config(),
        UnitPut::Config(ConfigPut { document: Some(document), ..ConfigPut::default() }),
    );
    shared::send(context, &args.change.change(vec![put], Vec::new())).await
}

/// The user's editor. The fallback `vi` needs a terminal; a configured editor may not.
fn editor(on_terminal: bool) -> Result<String> {
    let named = ["VISUAL", "EDITOR"].iter().find_map(|name| std::env::var(name).ok());
    match named.filter(|editor| !editor.trim().is_empty()) {
        Some(editor) => Ok(editor),
        None if on_terminal => Ok("vi".to_owned()),
        None => Err(Failure::usage("no terminal for an editor")
            .hint("set EDITOR, or write the configuration to a file and run `milepost config apply FILE`")),
    }
}
