use clap::Args;
use milepost_model::UnitKind;
use serde_json::Value;

use super::super::shared::cell;
use crate::context::{Context, unit_key};
use crate::failure::{Failure, Result};
use crate::output::{harmless, print_data};

/// Show the configuration, or one key of it
#[derive(Debug, Args)]
pub struct GetArgs {
    /// Dotted key, like `mail.from`
    key: Option<String>,
    /// Version to show: `latest`, a number, a uid, a label or `sha256:…`
    #[arg(long, value_name = "VERSION", default_value = "latest")]
    version: String,
}

pub async fn run(context: &Context<'_>, args: GetArgs) -> Result<()> {
    let document = document(context, &args.version).await?;
    let Some(key) = &args.key else {
        return context.ui.show(
            &document,
            |_| vec!["config".to_owned()],
            |document| serde_json::to_string_pretty(document).unwrap_or_default(),
        );
    };
    let found = key.split('.').try_fold(&document, |value, part| value.get(part));
    match found {
        Some(value) if context.ui.is_table() => print_data(&harmless(&cell(value))),
        Some(value) => context.ui.show(value, |value| vec![cell(value)], cell),
        None => Err(Failure::new(format!("the key `{key}` is not set"))
            .hint(format!("set it with `milepost config set {key}=VALUE`"))),
    }
}

pub async fn document(context: &Context<'_>, version: &str) -> Result<Value> {
    let found = context.client.version_get(&context.app, &unit_key(UnitKind::Config, "config")?, version).await?;
    Ok(found.spec.get("document").cloned().unwrap_or_default())
}
