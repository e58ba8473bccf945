//! The output of a command.

use std::fmt::Write;

use super::normalize::Normalizer;

/// The result of a command. Its texts are normalised: the home directory becomes `$HOME`, a port
/// assigned by the system `PORT`.
#[derive(Debug)]
pub struct Output {
    /// The exit code, or `None` if a signal ended the command.
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    command: String,
}

impl Output {
    pub(super) fn new(args: &[&str], output: std::process::Output, normalizer: &Normalizer) -> Self {
        let text = |bytes| normalizer.apply(&String::from_utf8(bytes).expect("output in UTF-8"));
        let mut command = "milepost".to_owned();
        for arg in args {
            write!(command, " {}", quoted(arg)).unwrap();
        }
        Self {
            status: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
            command: normalizer.apply(&command),
        }
    }

    pub fn succeeded(&self) -> bool {
        self.status == Some(0)
    }

    /// The standard output of a command that must have succeeded.
    #[track_caller]
    pub fn success(self) -> String {
        assert!(self.succeeded(), "this should have succeeded:\n{}", self.snapshot());
        self.stdout
    }

    /// The command, its output and how it ended, as one text to compare with.
    pub fn snapshot(&self) -> String {
        let mut text = format!("$ {}\n", self.command);
        text.push_str(&lines(&self.stdout));
        if !self.stderr.is_empty() {
            text.push_str("[stderr]\n");
            text.push_str(&lines(&self.stderr));
        }
        match self.status {
            Some(0) => {}
            Some(code) => writeln!(text, "[exit {code}]").unwrap(),
            None => text.push_str("[ended by a signal]\n"),
        }
        text
    }
}

/// Makes a missing final newline visible in the snapshot.
fn lines(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}[no newline]\n") }
}

fn quoted(arg: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,@%+".contains(c);
    if !arg.is_empty() && arg.chars().all(plain) { arg.to_owned() } else { format!("'{}'", arg.replace('\'', r"'\''")) }
}
