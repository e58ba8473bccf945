//! The `milepost` binary: the server and the command line.
//!
//! Only this crate prints, reads the user's environment or prompts. Data goes to stdout, everything
//! else to stderr. Each command is one file, `commands/<noun>/<verb>.rs`, with its arguments, whose
//! doc comments are the help text, and `run`. To add a command, copy a neighbour and add a variant
//! to the noun's `mod.rs`. The reference is generated from the help.

mod args;
mod commands;
mod complete;
mod context;
mod failure;
mod folders;
mod output;
mod phrase;
mod serve;
mod sources;
mod test_hooks;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Must come first: a worker's sandbox re-executes this program and needs a single thread.
    if let Some(code) = milepost_server::sandbox_stage(std::env::args_os()) {
        return code;
    }
    complete::answer();
    let cli = args::Cli::read(&args::mend_dashes(std::env::args_os()));
    let ui = output::Ui::new(&cli.global);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failure::Failure::from(error).report(&ui),
    };
    match runtime.block_on(commands::run(&ui, cli)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(&ui),
    }
}
