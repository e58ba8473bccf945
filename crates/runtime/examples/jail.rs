//! The smallest program that can be
//! [`JailSettings::program`](milepost_runtime::sandbox::JailSettings). Tests use it because the
//! test harness owns their `main`.

use std::process::ExitCode;

fn main() -> ExitCode {
    milepost_runtime::sandbox::jail_main(std::env::args_os()).unwrap_or_else(|| {
        eprintln!("this program is a stage of the sandbox and is not run by hand");
        ExitCode::FAILURE
    })
}
