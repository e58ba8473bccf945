//! Measurements, printed as tables. Not a test: a slow machine fails nothing here.
//!
//! `cargo xtask bench` builds this with optimisation and runs the parts about the ledger, `cargo
//! xtask bench static` one of them. `cargo xtask bench serve` compares serving with its peers,
//! `cargo xtask bench executions` measures executions, and `cargo xtask bench timers` has two
//! servers fire a thousand timers for a minute. Every number is printed beside a peer that was
//! measured in the same run, and every line shows its spread, because the machine is shared.
//! `bench/README.md` has the conclusions.

mod engine;
mod executions;
mod growth;
mod history;
mod measure;
mod rate;
mod serve;
mod static_tree;

use std::path::Path;

use anyhow::Result;

#[tokio::main]
async fn main() -> Result<()> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let runs = |name: &str| wanted.is_empty() || wanted.iter().any(|part| part == name);
    println!("Milepost {}, {} cores", env!("CARGO_PKG_VERSION"), std::thread::available_parallelism()?);
    if let Some(("serve", args)) = wanted.split_first().map(|(first, rest)| (first.as_str(), rest.to_vec())) {
        // On a dedicated thread: servers end with the thread that started them.
        return tokio::task::spawn_blocking(move || serve::run(&args)).await?;
    }
    match wanted.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        Some(("executions", args)) => return executions::run(args).await,
        Some(("timers", args)) => return executions::timers(args).await,
        // Started by `serve` itself.
        Some(("relay", [socket])) => return serve::relay::run(Path::new(socket)),
        _ => {}
    }
    if runs("static") {
        static_tree::run().await?;
    }
    if runs("growth") {
        growth::run().await?;
    }
    if runs("history") {
        history::run().await?;
    }
    if runs("rate") {
        rate::run().await?;
    }
    Ok(())
}
