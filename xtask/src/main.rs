//! The project's chores, run as `cargo xtask NAME`. One file per command. Uses only the standard
//! library and `anyhow`, so that the first run takes only seconds.

mod bench;
mod ci;
mod deps;
mod docs;
mod lease;
mod peers;
mod setup;
mod shell;
mod soak;
mod test;
mod tidy;
mod tour;

use std::env;
use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask COMMAND

  tour [--write] [PAGE…]   run the commands of README.md or another page; --all runs every page, --write updates their output
  setup                    install what the tests need
  test [--fast] [ARG…]     run the tests; --fast is what a minute suffices for, or with -p PACKAGE what is not slow; ARGs go to the test runner
  soak [--minutes N] [--seed SEED]  run the property tests with new seeds, for 60 minutes by default
  tidy                     check what the compiler does not: sizes, crate edges, leftovers
  deps                     check dependencies: licences, duplicate versions, security advisories
  docs                     write the generated reference
  bench [PART…]            measure: static, growth, history, rate
  bench executions [OPTION…]  executions beside plain inserts; --runs 3 --seconds 4 --count 2000 --jobs 100000 --only accept,served,idle,jobs
  bench timers [OPTION…]   two servers, --timers 1000 of a second each, --seconds 60: every tick fires once
  bench serve [OPTION…]    compare serving with nginx and others; --only static,python,node,overhead,cold,resolve --runs 5
  ci                       everything a change must pass
";

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match args.as_slice() {
        ["setup"] => setup::run(),
        ["test", rest @ ..] => test::run(rest),
        ["soak", rest @ ..] => soak::run(rest),
        ["tidy"] => tidy::run(),
        ["tour", rest @ ..] => tour::run(rest),
        ["deps"] => deps::run(),
        ["docs"] => docs::run(),
        ["bench", parts @ ..] => bench::run(parts),
        ["ci"] => ci::run(),
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
