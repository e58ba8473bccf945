//! The `milepost` command: the server, and everything people type.
//!
//! Only this crate prints, reads the environment of the user, or asks questions. Data goes to stdout and everything else to
//! stderr. A command is one file in `commands/<noun>/<verb>.rs`: its arguments, whose doc comments are its help, and `run`.
//! To add one, copy a neighbour and add a line to the noun's `mod.rs`; the reference is generated from it.

mod args;
mod commands;
mod context;
mod declared;
mod failure;
mod output;
mod serve;
mod sources;
mod test_hooks;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // First of all: the sandbox of a worker is this program once more, and it must have one thread.
    if let Some(code) = milepost_server::sandbox_stage(std::env::args_os()) {
        return code;
    }
    let cli = args::Cli::read(args::mend_dashes(std::env::args_os()));
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
