use clap::Args;
use milepost_model::unit_put::{SecretPut, UnitPut};
use milepost_model::{AppName, Code, PlanName, UnitKind};
use std::path::PathBuf;

use crate::args::slots::SecretNameArgs;
use crate::commands::shared::{self, ChangeArgs};
use crate::context::Context;
use crate::failure::{Failure, Result};

/// Set a secret
///
/// The value is read from a prompt, from stdin or from a file, because the shell history would keep
/// a value on the command line.
#[derive(Debug, Args)]
pub struct SetArgs {
    #[command(flatten)]
    name: SecretNameArgs,
    /// Read the value from this file
    #[arg(long, value_name = "FILE")]
    from_file: Option<PathBuf>,
    #[command(flatten)]
    change: ChangeArgs,
}

pub async fn run(context: &Context<'_>, args: SetArgs) -> Result<()> {
    let name = args.name.name();
    if name.contains('=') {
        let name = name.split('=').next().unwrap_or_default();
        return Err(Failure::usage(
            "secret values are not accepted on the command line, because the shell history would keep them",
        )
        .hint(format!("run `milepost secret set {name}` and type the value, or pipe it in")));
    }
    let key = args.name.key(UnitKind::Secret)?;
    let value = match &args.from_file {
        Some(path) => std::fs::read_to_string(path).map_err(|error| Failure::unreadable(path, &error))?,
        None if context.ui.can_ask() => rpassword::prompt_password(format!("Value of {name}: "))?,
        None => std::io::read_to_string(std::io::stdin()).map_err(|error| {
            Failure::new("could not read the value")
                .caused_by(&error)
                .hint("the value must be UTF-8 text; encode binary data, for example with `base64`")
        })?,
    };
    // `echo` and editors add a newline, which is hardly ever part of the secret.
    let value = value.strip_suffix('\n').unwrap_or(&value).to_owned();
    if value.is_empty() {
        return Err(Failure::usage("the value is empty").hint("type a value, pipe one in, or use `--from-file FILE`"));
    }
    let secret = SecretPut { value };
    secret.check(&key.name)?;
    let put = shared::put(key.name, UnitPut::Secret(secret));
    let change = args.change.change(vec![put], Vec::new());
    match context.change(&change).await {
        Err(failure) if failure.code() == Some(Code::AppNotFound) && !change.dry_run && change.expect.is_none() => {
            // Creates the app, so that secrets can be set before its first deploy.
            let name: AppName = context.app.parse()?;
            context.client.app_create(&name, PlanName::default()).await?;
            context.ui.say(&format!("Created app `{name}`."));
            shared::send(context, &change).await
        }
        outcome => shared::show(context, &outcome?).await,
    }
}
