//! A program that can run the stages of the sandbox, for tests of this crate.
#![expect(clippy::expect_used, reason = "this is test code: a failure to prepare a test should end it at once")]

use std::path::PathBuf;

/// `examples/jail.rs`, which cargo builds with the tests, in a directory beside theirs.
pub fn stages() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let program = test.ancestors().nth(2).expect("a test is in a folder of the target folder").join("examples/jail");
    assert!(program.exists(), "{} is not built: run `cargo build -p milepost-runtime --examples`", program.display());
    program
}
