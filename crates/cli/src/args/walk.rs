//! Where incomplete words lead in the tree of commands. clap parses only whole command lines.

use clap::{Arg, Command};

pub struct Walk<'a> {
    pub command: &'a Command,
    /// The names of the commands below the root, not their aliases.
    pub path: Vec<&'a str>,
    /// Plain arguments of the command.
    pub plain: Vec<&'a str>,
    /// Options with a value, by their long names.
    pub options: Vec<(&'a str, &'a str)>,
}

impl<'a> Walk<'a> {
    pub fn option(&self, long: &str) -> Option<&'a str> {
        self.options.iter().rev().find(|(name, _)| *name == long).map(|(_, value)| *value)
    }
}

/// Follows the words after the program's name.
pub fn walk<'a>(root: &'a Command, words: &[&'a str]) -> Walk<'a> {
    let mut walk = Walk { command: root, path: Vec::new(), plain: Vec::new(), options: Vec::new() };
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        if word.len() > 1 && word.starts_with('-') {
            let (name, joined) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
            let arg = [walk.command, root].iter().find_map(|command| find(command, name));
            if let Some(arg) = arg.filter(|arg| arg.get_action().takes_values())
                && let (Some(long), Some(value)) = (arg.get_long(), joined.or_else(|| words.next()))
            {
                walk.options.push((long, value));
            }
        } else if let Some(sub) = walk.command.find_subcommand(word).filter(|_| walk.plain.is_empty()) {
            walk.command = sub;
            walk.path.push(sub.get_name());
        } else {
            walk.plain.push(word);
        }
    }
    walk
}

fn find<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    command.get_arguments().find(|arg| match name.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long) || arg.get_all_aliases().is_some_and(|all| all.contains(&long)),
        None => arg.get_short().is_some_and(|short| name.chars().eq(['-', short])),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_command_behind_options_with_values() {
        let root = crate::args::Cli::definition();
        let found = |words: &[&str]| walk(&root, words).path.join(" ");
        assert_eq!(found(&["--app", "function", "-o", "json", "secrets", "ls"]), "secret list");
        assert_eq!(found(&["-y", "release", "nosuch", "list"]), "release");
        assert_eq!(found(&["--app=shop", "fn", "version", "get", "hello"]), "function version get");
    }

    #[test]
    fn separates_plain_arguments_from_values_of_options() {
        let root = crate::args::Cli::definition();
        let found = walk(&root, &["function", "alias", "update", "--name", "hello", "qa", "-m", "why", "--app=shop"]);
        assert_eq!(found.plain, ["qa"]);
        assert_eq!(found.option("name"), Some("hello"));
        assert_eq!(found.option("app"), Some("shop"));
        assert_eq!(found.option("version"), None);
    }
}
