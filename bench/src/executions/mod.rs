//! Measures executions against what the database does without Milepost: plain one-row commits, in
//! the same run.

mod accept;
mod jobs;
mod load;
mod options;
mod served;
mod stage;
mod two_servers;

use anyhow::Result;

use self::options::Options;

pub async fn run(args: &[String]) -> Result<()> {
    let options = Options::read(args)?;
    if options.wants("accept") {
        accept::run(&options).await?;
    }
    if options.wants("served") || options.wants("idle") {
        served::run(&options).await?;
    }
    if options.wants("jobs") {
        jobs::run(&options).await?;
    }
    Ok(())
}

pub async fn timers(args: &[String]) -> Result<()> {
    two_servers::run(&Options::read(args)?).await
}
