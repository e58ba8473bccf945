//! Completions: the shell runs `milepost` with [`VARIABLE`] set and gets the words that fit. Names
//! come from the server. Without a quick answer nothing is offered and nothing is printed.

mod names;

use std::ffi::OsStr;
use std::time::Duration;

use clap::{Arg, Command, ValueHint};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell};

use crate::args::Cli;
use crate::args::walk::{Walk, walk};
use crate::failure::{Failure, Result};

/// The variable by which the script of the shell asks for completions.
const VARIABLE: &str = "MILEPOST_COMPLETE";

/// How long a shell may wait for names.
const PATIENCE: Duration = Duration::from_millis(700);

/// Answers the shell and exits the process if it asks for completions. Must run before any thread
/// is started.
pub fn answer() {
    CompleteEnv::with_factory(definition).var(VARIABLE).complete();
}

/// The script that makes a shell ask for completions.
pub fn script(shell: Shell) -> Result<String> {
    let shells = Shells::builtins();
    let completer = shells
        .completer(&shell.to_string())
        .ok_or_else(|| Failure::usage(format!("there are no completions for `{shell}`")))?;
    let mut script = Vec::new();
    completer.write_registration(VARIABLE, "milepost", "milepost", "milepost", &mut script)?;
    Ok(String::from_utf8_lossy(&script).into_owned())
}

fn definition() -> Command {
    // clap adds these two to every command, where they would be offered between names.
    let root = Cli::definition().disable_help_flag(true).disable_version_flag(true);
    with_names(root, &mut Vec::new())
}

/// Adds completers to every value that names something on the server.
fn with_names(command: Command, path: &mut Vec<String>) -> Command {
    let here: Vec<&str> = path.iter().map(String::as_str).collect();
    // Hidden options are offered only where nothing else fits, so not between names.
    let command = command.mut_args(|arg| if arg.is_positional() { arg } else { arg.hide(true) });
    let command = command.mut_args(|arg| match names::wanted(&here, &arg) {
        Some(wanted) => arg.add(ArgValueCompleter::new(move |typed: &OsStr| fitting(wanted, typed))),
        None => without_files(arg),
    });
    command.mut_subcommands(|sub| {
        path.push(sub.get_name().to_owned());
        let sub = with_names(sub, path);
        path.pop();
        sub
    })
}

/// Offers files only for values that are files.
fn without_files(arg: Arg) -> Arg {
    let is_file =
        arg.get_value_names().is_some_and(|names| names.iter().any(|name| matches!(name.as_str(), "FILE" | "DIR")));
    match arg.get_value_hint() {
        ValueHint::Unknown if arg.get_action().takes_values() && !is_file => arg.value_hint(ValueHint::Other),
        _ => arg,
    }
}

fn fitting(wanted: names::Wanted, typed: &OsStr) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str() else { return Vec::new() };
    let all: Vec<String> = std::env::args_os().filter_map(|arg| arg.into_string().ok()).collect();
    let line: Vec<&str> = all.iter().map(String::as_str).skip_while(|word| *word != "--").skip(2).collect();
    let root = Cli::definition();
    let mut words = walk(&root, &line);
    // The word that is typed is not a value yet.
    if words.plain.last() == Some(&typed) {
        words.plain.pop();
    }
    let found = ask(wanted, &words).unwrap_or_default();
    found
        .into_iter()
        .filter(|(name, _)| name.starts_with(typed))
        .map(|(name, about)| CompletionCandidate::new(name).help((!about.is_empty()).then(|| about.into())))
        .collect()
}

/// Asks the server. `None` if there is no answer in time.
fn ask(wanted: names::Wanted, words: &Walk<'_>) -> Option<Vec<(String, String)>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let names = runtime.block_on(async { tokio::time::timeout(PATIENCE, names::find(wanted, words)).await.ok()?.ok() });
    // A lookup of a host name may still block a thread of the runtime.
    runtime.shutdown_background();
    names
}
