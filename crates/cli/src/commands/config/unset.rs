use clap::Args;
use milepost_model::UnitName;
use milepost_model::unit_put::{ConfigPut, UnitPut};

use crate::commands::shared::{self, ChangeArgs};
use crate::context::Context;
use crate::failure::Result;

/// Remove keys from the configuration
#[derive(Debug, Args)]
pub struct UnsetArgs {
    /// Dotted keys to remove
    #[arg(value_name = "KEY", required = true)]
    keys: Vec<String>,
    #[command(flatten)]
    change: ChangeArgs,
}

pub async fn run(context: &Context<'_>, args: UnsetArgs) -> Result<()> {
    let put = shared::put(UnitName::config(), UnitPut::Config(ConfigPut { unset: args.keys, ..ConfigPut::default() }));
    shared::send(context, &args.change.change(vec![put], Vec::new())).await
}
