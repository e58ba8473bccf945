use clap::Args;
use milepost_model::quota::Limits;

use crate::context::Context;
use crate::failure::Result;
use crate::output::Table;

/// List plans and their limits
#[derive(Debug, Args)]
pub struct ListArgs {}

pub async fn run(context: &Context<'_>, _args: ListArgs) -> Result<()> {
    let plans = context.client.plan_list().await?;
    context.ui.show(&plans, |plans| plans.iter().map(|limits| limits.plan.to_string()).collect(), |plans| table(plans))
}

pub fn table(plans: &[Limits]) -> String {
    let bound = |bound: Option<u64>| bound.map_or_else(|| "unlimited".to_owned(), |bound| bound.to_string());
    let mebibytes =
        |bound: Option<u64>| bound.map_or_else(|| "unlimited".to_owned(), |bound| format!("{} MiB", bound >> 20));
    let mut table =
        Table::new(["PLAN", "ACTIVE RELEASES", "FUNCTIONS", "MEMORY", "INSTANCES", "STORED"], "There are no plans.");
    for limits in plans {
        table.row([
            limits.plan.to_string(),
            bound(limits.active_releases.map(u64::from)),
            bound(limits.functions.map(u64::from)),
            mebibytes(limits.memory),
            bound(limits.instances.map(u64::from)),
            mebibytes(limits.stored_bytes),
        ]);
    }
    table.render()
}
