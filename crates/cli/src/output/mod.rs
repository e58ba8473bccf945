//! All output of the command line: data goes to stdout, everything else to stderr.

mod changes;
mod diffs;
mod foreign;
mod git;
mod table;
mod time;

use std::io::{IsTerminal, Write};

use serde::Serialize;

use crate::args::{Format, Global};
use crate::failure::{Failure, Result};

pub use changes::{outcome_name, outcome_table, plan_table, plan_text};
pub use diffs::{Listed, diff_text, diff_text_of, line_diffs, reason_lines};
pub use foreign::{Lines, harmless, harmless_json};
pub use git::{git_short, git_whole};
pub use milepost_declared::values as amounts;
pub use table::{Table, printable};
pub use time::{age, local, parse_moment};

pub struct Ui {
    format: Format,
    quiet: bool,
    color: bool,
    data_color: bool,
    is_interactive: bool,
    now: milepost_model::Timestamp,
}

impl Ui {
    pub fn new(global: &Global) -> Self {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self {
            format: global.output,
            quiet: global.quiet,
            color: std::io::stderr().is_terminal() && !no_color,
            data_color: std::io::stdout().is_terminal() && !no_color,
            is_interactive: std::io::stdin().is_terminal() && std::io::stderr().is_terminal(),
            now: crate::test_hooks::clock().now(),
        }
    }

    pub fn now(&self) -> milepost_model::Timestamp {
        self.now
    }

    /// Whether to draw progress bars.
    pub fn shows_progress(&self) -> bool {
        std::io::stderr().is_terminal() && !self.quiet
    }

    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    pub fn is_table(&self) -> bool {
        self.format == Format::Table
    }

    pub fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    /// Whether tables may have colors: only if stdout is a terminal.
    pub fn colors_data(&self) -> bool {
        self.data_color
    }

    /// Prints one object or a list in the format of `--output`.
    pub fn show<T: Serialize>(
        &self,
        value: &T,
        name: impl FnOnce(&T) -> Vec<String>,
        table: impl FnOnce(&T) -> String,
    ) -> Result<()> {
        self.show_painted(value, name, |value| harmless(&table(value)))
    }

    /// Like `show`, for a table with color codes. The caller escapes its text with `harmless`.
    pub fn show_painted<T: Serialize>(
        &self,
        value: &T,
        name: impl FnOnce(&T) -> Vec<String>,
        table: impl FnOnce(&T) -> String,
    ) -> Result<()> {
        let text = match self.format {
            Format::Table => table(value),
            Format::Json => {
                let json = serde_json::to_string_pretty(value).map_err(|error| Failure::new(error.to_string()))?;
                harmless_json(&json)
            }
            Format::Yaml => yaml(value)?,
            Format::Name => harmless(&name(value).join("\n")),
        };
        print_data(&text)
    }

    /// Prints a message to stderr, unless `--quiet` is given.
    pub fn say(&self, text: &str) {
        if !self.quiet {
            eprintln!("{}", harmless(text));
        }
    }

    /// Prints the details of the error that follows, also with `--quiet`.
    pub fn explain(&self, text: &str) {
        eprintln!("{}", harmless(text));
    }

    pub fn warn(&self, text: &str) {
        eprintln!("{} {}", self.paint("Warning:", "33"), harmless(text));
    }

    pub fn hint(&self, text: &str) {
        eprintln!("{} {}", self.paint("Hint:", "36"), harmless(text));
    }

    pub fn error(&self, text: &str) {
        eprintln!("{} {}", self.paint("Error:", "31"), harmless(text));
    }

    fn paint(&self, text: &str, code: &str) -> String {
        if self.color { format!("\x1b[1;{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    pub fn can_ask(&self) -> bool {
        self.is_interactive
    }

    pub fn ask(&self, question: &str) -> std::io::Result<bool> {
        let answer = self.ask_for(&format!("{question} [y/N]"))?;
        Ok(matches!(answer.to_lowercase().as_str(), "y" | "yes"))
    }

    pub fn ask_for(&self, question: &str) -> std::io::Result<String> {
        eprint!("{} ", harmless(question));
        std::io::stderr().flush()?;
        let mut answer = String::new();
        std::io::stdin().read_line(&mut answer)?;
        Ok(answer.trim().to_owned())
    }
}

fn yaml<T: Serialize>(value: &T) -> Result<String> {
    // Via JSON, so that both formats have the same field names and nulls.
    match serde_json::to_value(value) {
        Ok(value) => serde_saphyr::to_string(&value).map_err(|error| Failure::new(error.to_string())),
        // An input or a result holds a number that `Value` cannot represent. JSON is valid YAML.
        Err(_) => serde_json::to_string_pretty(value).map_err(|error| Failure::new(error.to_string())),
    }
}

/// Prints to stdout. A closed pipe (`| head`) is not an error.
pub fn print_data(text: &str) -> Result<()> {
    let text = text.trim_end_matches('\n');
    if text.is_empty() {
        return Ok(());
    }
    write_data(format!("{text}\n").as_bytes()).map(drop)
}

/// Writes to stdout. Returns whether the reader is still there: a closed pipe (`| head`) is not an
/// error.
pub fn write_data(bytes: &[u8]) -> Result<bool> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        other => Ok(other.map(|()| true)?),
    }
}
