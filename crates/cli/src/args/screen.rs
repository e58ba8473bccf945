//! The first screen: `milepost`, `milepost -h` and the top of `milepost --help`.

use std::fmt::Write;

use clap::Command;
use clap::builder::styling::Style;

/// All visible commands, in the order in which a new user needs them.
pub const GROUPS: &[(&str, &[&str])] = &[
    ("Start here", &["init", "up", "open", "doctor"]),
    ("Ship", &["deploy", "diff", "rollback", "release", "spec", "import"]),
    ("Look", &["status", "logs", "app", "whoami"]),
    ("Functions", &["function", "package", "environment", "execution", "build", "group"]),
    ("Data and triggers", &["config", "secret", "static", "route", "httptrigger", "timer", "job", "webhook"]),
    ("Share", &["publish", "unpublish", "channel", "install", "upgrade", "bundle", "export"]),
    ("Operate", &["serve", "token", "plan", "storage", "completion"]),
];

const EXAMPLES: &[(&str, &str)] = &[
    ("milepost up --watch", "Deploy this folder, and again when files change"),
    ("milepost deploy -m 'new cart'", "Deploy it and record the reason"),
    ("milepost rollback", "Put the previous release live again"),
];

/// Replaces clap's flat list of commands with the groups.
pub fn add(root: Command) -> Command {
    let groups = groups(&root);
    let end =
        "Run `milepost COMMAND --help` for help on a command,\nand `milepost --help` for the options of all commands.";
    let header = *root.get_styles().get_header();
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{{before-help}}{header}Options:{header:#}\n\
         {{options}}{{after-help}}"
    );
    root.help_template(template).before_help(groups).after_help(end).override_usage("milepost [OPTIONS] <COMMAND>")
}

fn groups(root: &Command) -> String {
    let styles = root.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut text = String::new();
    for (heading, names) in GROUPS {
        let _ = writeln!(text, "{header}{heading}:{header:#}");
        for name in *names {
            let about = root.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
            let _ = writeln!(text, "  {literal}{name:<11}{literal:#}  {}", about.unwrap_or_default());
        }
        text.push('\n');
    }
    text.push_str(&examples(EXAMPLES, *header, *literal));
    text
}

/// A section of commands, each with what it does.
pub fn examples(examples: &[(&str, &str)], header: Style, literal: Style) -> String {
    let width = examples.iter().map(|(line, _)| line.chars().count()).max().unwrap_or(0);
    let mut text = format!("{header}Examples:{header:#}\n");
    for (line, what) in examples {
        let _ = writeln!(text, "  {literal}{line:<width$}{literal:#}  {what}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_visible_command_is_in_exactly_one_group() {
        let root = crate::args::Cli::definition();
        let mut visible: Vec<&str> =
            root.get_subcommands().filter(|command| !command.is_hide_set()).map(Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        visible.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(visible, grouped);
    }

    #[test]
    fn first_screen_fits_80_columns() {
        let screen = crate::args::Cli::definition().term_width(100).render_help().to_string();
        let wide: Vec<&str> = screen.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(wide.is_empty(), "{wide:#?}");
    }

    #[test]
    fn examples_of_the_first_screen_are_valid_commands() {
        for (line, _) in EXAMPLES {
            super::super::tree::assert_parses(line);
        }
    }
}
