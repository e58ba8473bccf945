//! Log lines as text or JSON.

use std::io::IsTerminal;

use jiff::tz::TimeZone;
use milepost_client::api::{LogEntry, LogSource};

use crate::failure::{Failure, Result};
use crate::output::{Ui, harmless, harmless_json, write_data};

/// Which fields a line shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Date, time and request.
    Full,
    /// The time of day only, for live output.
    Short,
}

pub struct LogPrinter {
    detail: Detail,
    json: bool,
    color: bool,
    zone: TimeZone,
    /// The longest function name so far; aligns the text column.
    width: usize,
}

impl LogPrinter {
    pub fn new(ui: &Ui, detail: Detail) -> Self {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let color = std::io::stdout().is_terminal() && !plain;
        Self { detail, json: !ui.is_table(), color, zone: TimeZone::system(), width: 0 }
    }

    /// Prints a line. Returns false if stdout was closed.
    pub fn print(&mut self, entry: &LogEntry) -> Result<bool> {
        let text = if self.json {
            serde_json::to_string(entry)
                .map(|json| harmless_json(&json))
                .map_err(|error| Failure::new(error.to_string()))?
        } else {
            self.line(entry)
        };
        write_data(format!("{text}\n").as_bytes())
    }

    fn line(&mut self, entry: &LogEntry) -> String {
        let at = entry.at.to_zoned(self.zone.clone());
        let at = match self.detail {
            Detail::Full => at.strftime("%Y-%m-%d %H:%M:%S%.3f").to_string(),
            Detail::Short => at.strftime("%H:%M:%S").to_string(),
        };
        let name = format!("{}@{}", entry.function, entry.number);
        self.width = self.width.max(name.chars().count());
        let request = match (self.detail, &entry.request) {
            (Detail::Full, Some(request)) => format!("{} ", self.paint(request, "2")),
            _ => String::new(),
        };
        let (source, color) = match entry.source {
            LogSource::Stdout => ("out", "0"),
            LogSource::Stderr => ("err", "33"),
            LogSource::Runtime => ("---", "36"),
        };
        let name = format!("{name:width$}", width = self.width);
        let text = self.paint(&one_line(&entry.text), color);
        format!("{} {} {source} {request}{text}", self.paint(&at, "2"), self.paint(&name, "1"))
    }

    fn paint(&self, text: &str, code: &str) -> String {
        if self.color && code != "0" { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// Escapes newlines, so that a log entry stays on one line.
fn one_line(text: &str) -> String {
    harmless(text.trim_end_matches(['\n', '\r'])).replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printer(detail: Detail) -> LogPrinter {
        LogPrinter { detail, json: false, color: false, zone: TimeZone::UTC, width: 0 }
    }

    fn entry(function: &str, source: LogSource, text: &str) -> LogEntry {
        LogEntry {
            at: "2026-01-02T03:04:05.678Z".parse().expect("a time"),
            function: function.to_owned(),
            number: 3,
            uid: "abcdef".to_owned(),
            instance: 1,
            request: Some("r1".to_owned()),
            source,
            text: text.to_owned(),
        }
    }

    #[test]
    fn lines_are_aligned_in_columns() {
        let mut full = printer(Detail::Full);
        assert_eq!(full.line(&entry("hello", LogSource::Stdout, "hi")), "2026-01-02 03:04:05.678 hello@3 out r1 hi");
        let mut short = printer(Detail::Short);
        assert_eq!(short.line(&entry("longer", LogSource::Runtime, "started")), "03:04:05 longer@3 --- started");
        assert_eq!(short.line(&entry("a", LogSource::Stderr, "oh")), "03:04:05 a@3      err oh");
    }

    #[test]
    fn escapes_control_characters_in_log_lines() {
        let mut short = printer(Detail::Short);
        let line = short.line(&entry("a", LogSource::Stdout, "\x1b[2Jgone\ttab\r\n"));
        assert_eq!(line, "03:04:05 a@3 out \\u{1b}[2Jgone\ttab");
    }
}
