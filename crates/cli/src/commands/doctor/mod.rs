//! Checks for problems that keep apps from running here, each with a fix.

mod check;
mod clock;
mod gateway;
mod machine;
mod ports;
mod programs;
mod server;

use std::net::SocketAddr;

use clap::Args;

use crate::args::Global;
use crate::context::data_folder;
use crate::failure::{Failure, Result};
use crate::output::Ui;
use check::{Check, State};

/// Check this machine for problems and suggest fixes
///
/// Works with and without a running server. Fails if a check is `bad`. A `warn` works, but with
/// limits.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// API address to check [default: 127.0.0.1:7070]
    #[arg(long, env = "MILEPOST_API", value_name = "ADDR", hide_env_values = true, hide_env = true)]
    api: Option<SocketAddr>,
    /// Gateway address to check [default: 127.0.0.1:8080]
    #[arg(long, env = "MILEPOST_GATEWAY", value_name = "ADDR", hide_env_values = true, hide_env = true)]
    gateway: Option<SocketAddr>,
}

pub async fn run(ui: &Ui, global: &Global, args: DoctorArgs) -> Result<()> {
    let mut checks = Vec::new();
    let data = data_folder(global.data.as_deref())?;
    let found = server::find(ui, global).await;
    if global.server.is_none() {
        checks.extend(machine::checks(&data));
        checks.extend(clock::of_this_machine(&data));
    }
    match &found {
        server::Found::None(check) => {
            checks.push(check.clone());
            checks.push(ports::check("api port", "--api", args.api.unwrap_or(([127, 0, 0, 1], 7070).into())));
            checks.push(ports::check(
                "gateway port",
                "--gateway",
                args.gateway.unwrap_or(([127, 0, 0, 1], 8080).into()),
            ));
            checks.extend(programs::checks().await);
        }
        server::Found::Unwell(check) => checks.push(check.clone()),
        server::Found::Some { context, facts } => {
            checks.extend(server::checks(context, facts).await);
            checks.push(clock::of_the_server(ui.now(), facts.now));
            checks.extend(clock::of_the_database(facts.clock_ahead_ms));
            checks.push(gateway::check(&context.app, facts).await);
        }
    }
    ui.show(
        &checks,
        |checks| checks.iter().map(|check| format!("check/{}", check.name)).collect(),
        |checks| table(checks),
    )?;
    match checks.iter().filter(|check| check.state == State::Bad).count() {
        0 => Ok(()),
        1 => Err(Failure::new("1 check failed")),
        count => Err(Failure::new(format!("{count} checks failed"))),
    }
}

fn table(checks: &[Check]) -> String {
    let width = checks.iter().map(|check| check.name.chars().count()).max().unwrap_or(0);
    let mut lines = Vec::new();
    for check in checks {
        lines.push(format!("{:4}  {:width$}  {}", check.state.word(), check.name, check.detail));
        lines.extend(check.fix.iter().map(|fix| format!("{:4}  {:width$}  fix: {fix}", "", "")));
    }
    lines.join("\n")
}
