//! Errors of the command line: what was meant, and help where a command is missing.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

use super::tree;
use super::walk::walk;
use crate::failure::Failure;

/// Words that users of other tools type first, and the command to type here.
const ELSEWHERE: &[(&str, &str)] = &[
    ("call", "milepost function test NAME"),
    ("destroy", "milepost app delete NAME"),
    ("dev", "milepost up --watch"),
    ("invoke", "milepost function test NAME"),
    ("login", "milepost --server URL --token TOKEN whoami"),
    ("ps", "milepost status"),
    ("push", "milepost deploy"),
    ("run", "milepost function test NAME"),
    ("server", "milepost serve"),
    ("start", "milepost serve"),
    ("tail", "milepost logs --follow"),
    ("undo", "milepost rollback"),
    ("version", "milepost --version"),
];

/// Verbs that follow a noun here, and come first in some other tools.
const VERBS: &[&str] = &["list", "ls", "get", "show", "create", "update", "delete", "rm"];

/// Prints the error and exits the process. `root` is what parsed the arguments.
pub fn exit(mut error: Error, root: &mut Command, args: &[OsString]) -> ! {
    root.build();
    let words: Vec<&str> = args.iter().skip(1).filter_map(|arg| arg.to_str()).collect();
    let walk = walk(root, &words);
    let command = walk.command;
    match error.kind() {
        // Without any argument the help is what was asked for.
        _ if args.len() <= 1 => {
            let printed = root.print_help();
            // A closed pipe is no failure.
            std::process::exit(i32::from(printed.is_err_and(|error| error.kind() != std::io::ErrorKind::BrokenPipe)));
        }
        // clap shows the help only if no option has a value from the environment.
        ErrorKind::MissingSubcommand => {
            eprint!("{}", command.clone().render_help());
            std::process::exit(2);
        }
        ErrorKind::DisplayHelp => {
            if let Err(shown) = tree::as_shown(super::Cli::definition()).try_get_matches_from(args) {
                error = shown;
            }
        }
        ErrorKind::InvalidSubcommand => improve(&mut error, command, walk.path.is_empty(), &words),
        ErrorKind::MissingRequiredArgument | ErrorKind::TooManyValues if walk.path.first() == Some(&"route") => {
            prefix_is_a_flag(&mut error, &words);
        }
        _ => {}
    }
    report(error, root, args)
}

/// Prints the error and exits, with `-o json` as JSON.
pub fn report(error: Error, root: &Command, args: &[OsString]) -> ! {
    let words: Vec<&str> = args.iter().skip(1).filter_map(|arg| arg.to_str()).collect();
    if error.use_stderr() && walk(root, &words).option("output") == Some("json") {
        eprintln!("{}", as_failure(&error).json());
        std::process::exit(error.exit_code());
    }
    error.exit()
}

fn as_failure(error: &Error) -> Failure {
    let text = error.render().to_string();
    let mut parts = text.trim_start_matches("error: ").split("\n\n").map(|part| part.split_whitespace());
    let message = parts.next().map(|words| words.collect::<Vec<_>>().join(" "));
    let hints = parts.map(|words| words.collect::<Vec<_>>().join(" "));
    let hint = hints.filter_map(|part| part.strip_prefix("tip: ").map(str::to_owned)).next();
    Failure::usage(message.unwrap_or_default()).maybe_hint(hint)
}

/// Suggests each command once, under its own name, or the command that another tool's word means.
fn improve(error: &mut Error, command: &Command, is_root: bool, words: &[&str]) {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand).cloned() else { return };
    let tip = if is_root { elsewhere(command, &word, words) } else { None };
    if let Some(tip) = tip {
        error.remove(ContextKind::SuggestedSubcommand);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        return;
    }
    if let Some(ContextValue::Strings(similar)) = error.get(ContextKind::SuggestedSubcommand) {
        let mut own: Vec<String> = Vec::new();
        for name in similar.iter().rev().filter_map(|name| command.find_subcommand(name)).map(Command::get_name) {
            if !own.iter().any(|seen| seen == name) {
                own.push(name.to_owned());
            }
        }
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(own));
    }
}

/// In Fission `--prefix` takes the path.
fn prefix_is_a_flag(error: &mut Error, words: &[&str]) {
    let after = words.iter().skip_while(|word| **word != "--prefix").nth(1);
    let joined = words.iter().find_map(|word| word.strip_prefix("--prefix="));
    if let Some(path) = after.copied().filter(|path| path.starts_with('/')).or(joined) {
        let tip = format!(
            "write '--url {path} --prefix', or 'milepost httptrigger create --prefix {path}' for a route that behaves \
             as in Fission"
        );
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
}

/// Adds to an error what clap adds to its own: the usage of the command that was typed.
pub fn located(error: Error, root: &mut Command, args: &[OsString]) -> Error {
    root.build();
    let words: Vec<&str> = args.iter().skip(1).filter_map(|arg| arg.to_str()).collect();
    let mut command = walk(root, &words).command.clone();
    let mut error = error.format(&mut command);
    if error.get(ContextKind::Usage).is_none() {
        error.insert(ContextKind::Usage, ContextValue::StyledStr(command.render_usage()));
    }
    error
}

fn elsewhere(root: &Command, word: &str, words: &[&str]) -> Option<String> {
    if let Some((_, line)) = ELSEWHERE.iter().find(|(typed, _)| *typed == word) {
        return Some(format!("type '{line}'"));
    }
    let verb = VERBS.iter().find(|verb| **verb == word)?;
    let next = words.iter().skip_while(|typed| *typed != verb).nth(1);
    let noun = next.and_then(|noun| root.find_subcommand(noun)).map_or("function", Command::get_name);
    Some(format!("the noun comes first: 'milepost {noun} {verb}'"))
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches;

    use super::*;

    fn said(line: &str) -> String {
        let args: Vec<&str> = line.split(' ').collect();
        let mut root = crate::args::Cli::definition();
        let mut error = root.try_get_matches_from_mut(&args).expect_err(line);
        root.build();
        let walk = walk(&root, &args[1..]);
        improve(&mut error, walk.command, walk.path.is_empty(), &args[1..]);
        error.to_string()
    }

    #[test]
    fn suggests_a_command_once_and_under_its_own_name() {
        let said = said("milepost functoin list");
        assert!(said.contains("tip: a similar subcommand exists: 'function'"), "{said}");
    }

    #[test]
    fn suggests_the_noun_before_the_verb() {
        assert!(said("milepost list functions").contains("'milepost function list'"));
        assert!(said("milepost --app shop delete secret x").contains("'milepost secret delete'"));
        assert!(said("milepost ls").contains("'milepost function ls'"));
    }

    #[test]
    fn suggests_valid_commands_for_words_of_other_tools() {
        for (word, line) in ELSEWHERE {
            let said = said(&format!("milepost {word}"));
            assert!(said.contains(&format!("tip: type '{line}'")), "{said}");
            if *word != "version" {
                super::super::tree::assert_parses(line);
            }
        }
    }

    #[test]
    fn explains_fissions_prefix_of_routes() {
        let args: Vec<&str> = "milepost route create --prefix /shop --function hello".split(' ').collect();
        let mut error = crate::args::Cli::definition().try_get_matches_from(&args).expect_err("no --url");
        prefix_is_a_flag(&mut error, &args[1..]);
        let said = error.to_string();
        assert!(said.contains("tip: write '--url /shop --prefix', or 'milepost httptrigger create"), "{said}");
    }

    #[test]
    fn usage_errors_can_be_json() {
        let mut root = crate::args::Cli::definition();
        let error = root.try_get_matches_from_mut(["milepost", "functoin"]).expect_err("mistyped");
        let json = as_failure(&error).json();
        let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(value["code"], "usage");
        assert_eq!(value["message"], "unrecognized subcommand 'functoin'");
        assert!(value["hint"].as_str().is_some_and(|hint| hint.contains("'function'")), "{json}");
    }

    #[test]
    fn missing_and_differing_values_are_errors_of_the_typed_command() {
        let said = |line: &str| {
            let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let mut root = crate::args::Cli::definition();
            let matches = root.try_get_matches_from_mut(&args).expect(line);
            let error = crate::args::Cli::from_arg_matches(&matches).expect_err(line);
            (error.exit_code(), located(error, &mut root, &args).to_string())
        };
        let (code, missing) = said("milepost function version delete --name hello");
        assert_eq!(code, 2);
        assert!(missing.contains("not provided:\n  <VERSION>\n"), "{missing}");
        assert!(missing.contains("Usage: milepost function version delete [OPTIONS] <NAME> <VERSION>"), "{missing}");
        let (code, differing) = said("milepost function get hello --name other");
        assert_eq!(code, 2);
        assert!(differing.contains("error: `hello` and `--name other` differ; give one of them"), "{differing}");
        assert!(differing.contains("Usage: milepost function get [OPTIONS] <NAME>"), "{differing}");
    }
}
