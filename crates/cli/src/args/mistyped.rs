//! Errors of the command line: what was meant, and help where a command is missing.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

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
    let (command, depth) = deepest(root, &words);
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
        ErrorKind::InvalidSubcommand => improve(&mut error, command, depth, &words),
        _ => {}
    }
    error.exit()
}

/// Suggests each command once, under its own name, or the command that another tool's word means.
fn improve(error: &mut Error, command: &Command, depth: usize, words: &[&str]) {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand).cloned() else { return };
    let tip = if depth == 0 { elsewhere(command, &word, words) } else { None };
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

fn elsewhere(root: &Command, word: &str, words: &[&str]) -> Option<String> {
    if let Some((_, line)) = ELSEWHERE.iter().find(|(typed, _)| *typed == word) {
        return Some(format!("type '{line}'"));
    }
    let verb = VERBS.iter().find(|verb| **verb == word)?;
    let next = words.iter().skip_while(|typed| *typed != verb).nth(1);
    let noun = next.and_then(|noun| root.find_subcommand(noun)).map_or("function", Command::get_name);
    Some(format!("the noun comes first: 'milepost {noun} {verb}'"))
}

/// The command that the words lead to, and how many of them name it.
fn deepest<'a>(root: &'a Command, words: &[&str]) -> (&'a Command, usize) {
    let (mut command, mut depth) = (root, 0);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if let Some(option) = word.strip_prefix('-') {
            let long = option.strip_prefix('-');
            let arg = root.get_arguments().find(|arg| match long {
                Some(long) => arg.get_long() == Some(long),
                None => arg.get_short().is_some_and(|short| option.chars().eq([short])),
            });
            if arg.is_some_and(|arg| arg.get_action().takes_values()) {
                words.next();
            }
        } else if let Some(sub) = command.find_subcommand(word) {
            (command, depth) = (sub, depth + 1);
        } else {
            break;
        }
    }
    (command, depth)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> String {
        let args: Vec<&str> = line.split(' ').collect();
        let mut root = crate::args::Cli::definition();
        let mut error = root.try_get_matches_from_mut(&args).expect_err(line);
        root.build();
        let (command, depth) = deepest(&root, &args[1..]);
        improve(&mut error, command, depth, &args[1..]);
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
    fn finds_the_command_behind_options_with_values() {
        let root = crate::args::Cli::definition();
        let found = |words: &[&str]| deepest(&root, words).0.get_name().to_owned();
        assert_eq!(found(&["--app", "function", "-o", "json", "secret", "ls"]), "list");
        assert_eq!(found(&["-y", "release", "nosuch", "list"]), "release");
    }
}
