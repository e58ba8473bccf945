use clap::Args;
use milepost_declared::write::Archives;
use milepost_model::UnitKind;
use milepost_model::unit_put::{Put, PutOnly, TimerPut, UnitPut};

use crate::commands::shared::{self, ChangeArgs, NameArgs, TargetArgs};
use crate::commands::spec_file::{self, SpecFileArgs};
use crate::context::Context;
use crate::failure::Result;
use crate::output::Ui;

/// Create a timer
#[derive(Debug, Args)]
pub struct CreateArgs {
    #[command(flatten)]
    pub timer: TimerArgs,
    #[command(flatten)]
    pub spec: SpecFileArgs,
}

/// Replace a timer with a new version
#[derive(Debug, Args)]
pub struct UpdateArgs {
    #[command(flatten)]
    pub timer: TimerArgs,
}

#[derive(Debug, Args)]
pub struct TimerArgs {
    #[command(flatten)]
    name: NameArgs,
    /// The cron pattern: five fields, six with seconds, or `@every 5m`
    #[arg(long, value_name = "CRON")]
    cron: String,
    /// Time zone of the pattern, like `Europe/Berlin` [default: UTC]
    #[arg(long, value_name = "ZONE", default_value = "", hide_default_value = true)]
    zone: String,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    change: ChangeArgs,
}

impl TimerArgs {
    fn put(&self) -> Result<Put> {
        let put = TimerPut { cron: self.cron.clone(), zone: self.zone.clone(), target: self.target.target()? };
        let name = self.name.key(UnitKind::Timer)?.name;
        // Reports mistakes that need no server before it sends anything.
        put.resolve(None)?;
        Ok(shared::put(name, UnitPut::Timer(put)))
    }
}

pub async fn run(context: &Context<'_>, args: TimerArgs, only: PutOnly) -> Result<()> {
    let mut put = args.put()?;
    put.only = Some(only);
    shared::send(context, &args.change.change(vec![put], Vec::new())).await
}

/// `--spec`: writes the timer as a Fission document.
pub fn write(ui: &Ui, args: &CreateArgs) -> Result<()> {
    spec_file::write(ui, &args.spec, &[args.timer.put()?], &Archives::default())
}
