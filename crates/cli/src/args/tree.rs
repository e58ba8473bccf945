//! What every command of the tree gets, so that no command is forgotten: second names for verbs,
//! plurals for nouns, a usage line and examples.

use std::collections::BTreeSet;
use std::fmt::Write;

use clap::{Arg, ArgAction, Command};

use super::examples;
use super::plain::Needed;

/// Verbs that mean the same. A command that has one of these names also gets the others, unless a
/// sibling has them.
const SAME: &[&[&str]] = &[&["list", "ls"], &["get", "show"], &["delete", "rm"], &["log", "logs"]];

/// Adds to a command and everything below it. `path` is how the command is typed.
pub fn dress(command: Command, path: &str) -> Command {
    let mut command = command;
    if command.get_subcommands().next().is_none() {
        let line = usage(&command, path);
        command = command.override_usage(line);
    }
    if let Some(text) = examples::of(path, command.get_styles()) {
        command = command.after_help(text);
    }
    let is_root = !path.contains(' ');
    let mut taken: BTreeSet<String> = command.get_subcommands().flat_map(names).collect();
    command.mut_subcommands(|sub| {
        let sub = if is_root { sub } else { with_same_verbs(sub, &mut taken) };
        let sub = with_plural(sub, &mut taken);
        let path = format!("{path} {}", sub.get_name());
        dress(sub, &path)
    })
}

/// The tree for its help, where clap must write `<NAME>` for what the commands require themselves.
pub fn as_shown(command: Command) -> Command {
    command
        .mut_args(|arg| if arg.get::<Needed>().is_some() { arg.required(true) } else { arg })
        .mut_subcommands(as_shown)
}

fn names(command: &Command) -> Vec<String> {
    std::iter::once(command.get_name()).chain(command.get_all_aliases()).map(str::to_owned).collect()
}

fn with_same_verbs(mut command: Command, taken: &mut BTreeSet<String>) -> Command {
    let own = names(&command);
    for verbs in SAME.iter().filter(|verbs| own.iter().any(|name| verbs.contains(&name.as_str()))) {
        for verb in *verbs {
            if taken.insert((*verb).to_owned()) {
                command = command.visible_alias(*verb);
            }
        }
    }
    command
}

/// `functions` for `function`: a command with commands below it is a noun.
fn with_plural(command: Command, taken: &mut BTreeSet<String>) -> Command {
    if command.get_subcommands().next().is_none() {
        return command;
    }
    let name = command.get_name();
    let plural = if name.ends_with('s') { format!("{name}es") } else { format!("{name}s") };
    if taken.insert(plural.clone()) { command.alias(plural) } else { command }
}

/// The usage line. The one of clap lists every option that has a value from the environment as if
/// it were required, and writes `<NAME|--name <NAME>>` for a value that can be given in two ways.
fn usage(command: &Command, path: &str) -> String {
    let own = |arg: &&Arg| {
        let built_in = matches!(arg.get_action(), ArgAction::Help | ArgAction::Version);
        !arg.is_hide_set() && !arg.is_global_set() && !built_in
    };
    let is_required = |arg: &Arg| arg.is_required_set() || arg.get::<Needed>().is_some();
    let mut line = path.to_owned();
    if command.get_opts().chain(flags(command)).filter(own).any(|arg| !is_required(arg)) {
        line.push_str(" [OPTIONS]");
    }
    for option in command.get_opts().filter(own).filter(|option| option.is_required_set()) {
        let _ = write!(line, " --{} <{}>", option.get_long().unwrap_or_default(), value_name(option));
    }
    for value in command.get_positionals().filter(own) {
        let name = value_name(value);
        let many = if matches!(value.get_action(), ArgAction::Append) { "..." } else { "" };
        let _ = if is_required(value) { write!(line, " <{name}>{many}") } else { write!(line, " [{name}]{many}") };
    }
    line
}

fn value_name(arg: &Arg) -> &str {
    arg.get_value_names().and_then(|names| names.first()).map_or("VALUE", |name| name.as_str())
}

fn flags(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| !arg.is_positional() && !arg.get_action().takes_values())
}

#[cfg(test)]
#[track_caller]
pub fn assert_parses(line: &str) {
    // Quoted text in the examples holds no quotes of the other kind.
    let mut words = Vec::new();
    for (index, part) in line.split('\'').enumerate() {
        match index % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    let parsed = super::Cli::definition().try_get_matches_from(&words);
    assert!(parsed.is_ok(), "{line}: {parsed:?}");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls `check` with every command that has commands below it, and with how it is typed.
    fn each_parent(command: &Command, path: &str, check: &mut dyn FnMut(&Command, &str)) {
        if command.get_subcommands().next().is_none() {
            return;
        }
        check(command, path);
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            each_parent(sub, &format!("{path} {}", sub.get_name()), check);
        }
    }

    #[test]
    fn verbs_that_mean_the_same_work_wherever_one_of_them_does() {
        let pairs = [("list", "ls"), ("get", "show"), ("delete", "rm"), ("log", "logs")];
        let mut missing = Vec::new();
        let mut found = 0;
        each_parent(&super::super::Cli::definition(), "milepost", &mut |command, path| {
            for (one, other) in pairs {
                let has = |verb: &str| command.find_subcommand(verb).is_some();
                if path == "milepost" || !(has(one) || has(other)) {
                    continue;
                }
                found += 1;
                if !(has(one) && has(other)) {
                    missing.push(format!("{path}: {one} and {other}"));
                }
            }
        });
        assert!(missing.is_empty(), "{missing:#?}");
        assert!(found > 60, "{found}");
    }

    #[test]
    fn nouns_have_plurals() {
        let root = super::super::Cli::definition();
        for (plural, name) in [("functions", "function"), ("secrets", "secret"), ("apps", "app")] {
            assert_eq!(root.find_subcommand(plural).map(Command::get_name), Some(name), "{plural}");
        }
    }

    #[test]
    fn usage_shows_what_is_required() {
        let root = super::super::Cli::definition();
        let route = root.find_subcommand("route").and_then(|route| route.find_subcommand("create"));
        let route = route.cloned().expect("route create").render_usage().to_string();
        assert!(route.contains("milepost route create [OPTIONS] --url <PATH> --function <FUNCTION>"), "{route}");
        let expire = root.find_subcommand("release").and_then(|release| release.find_subcommand("rm"));
        let expire = expire.cloned().expect("release rm").render_usage().to_string();
        assert!(expire.contains("milepost release expire [OPTIONS] <RELEASE>"), "{expire}");
    }

    #[test]
    fn every_command_has_a_first_line_in_plain_english() {
        fn walk(command: &Command, path: &str, wrong: &mut Vec<String>) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let starts_well = about.starts_with(char::is_uppercase);
            if !starts_well || about.ends_with('.') || about.chars().count() > 80 {
                wrong.push(format!("{path}: {about}"));
            }
            for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
                walk(sub, &format!("{path} {}", sub.get_name()), wrong);
            }
        }
        let mut wrong = Vec::new();
        walk(&super::super::Cli::definition(), "milepost", &mut wrong);
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
