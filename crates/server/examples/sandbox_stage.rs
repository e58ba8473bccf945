//! The smallest program that works as [`Settings::program`](milepost_server::Settings). Tests need
//! it because the test harness owns their `main`.

use std::process::ExitCode;

fn main() -> ExitCode {
    milepost_server::sandbox_stage(std::env::args_os()).unwrap_or_else(|| {
        eprintln!("this program is a stage of the sandbox and is not run by hand");
        ExitCode::FAILURE
    })
}
