//! A server in a hermetic environment, and short ways to say what tests do with it.

pub mod files;
pub mod random;

use milepost_client::Client;
use milepost_testkit::cli::{CliEnv, Output, Server};
use serde_json::Value;

pub struct World {
    pub env: CliEnv,
    pub server: Server,
}

impl World {
    /// Repeatable ids, and a clock that steps from request to request.
    pub fn new() -> Self {
        Self::in_env(CliEnv::new(), &[])
    }

    /// The machine's own ids and time: for tests that restart the server, which would repeat both.
    pub fn on_machine_time() -> Self {
        let mut env = CliEnv::new();
        env.unset("MILEPOST_TEST_SEED");
        env.unset("MILEPOST_TEST_CLOCK");
        Self::in_env(env, &[])
    }

    pub fn in_env(env: CliEnv, args: &[&str]) -> Self {
        let server = env.server_with(args);
        Self { env, server }
    }

    /// Runs a line as it would be typed after `milepost`.
    pub fn run(&self, line: &str) -> Output {
        let words = words(line);
        self.env.run(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    #[track_caller]
    pub fn ok(&self, line: &str) -> String {
        self.run(line).success()
    }

    /// What a command that must succeed prints with `-o json`.
    #[track_caller]
    pub fn json(&self, line: &str) -> Value {
        let text = self.ok(&format!("{line} -o json"));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{line} printed no JSON ({error}):\n{text}"))
    }

    /// The administrator's client of the running server.
    pub fn client(&self) -> Client {
        let token = std::fs::read_to_string(self.env.data_dir().join("admin.token")).unwrap();
        Client::new(self.server.api(), token.trim()).unwrap()
    }
}

/// A line split as a shell would: at spaces, except between quotes.
pub fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), letter) if open == letter => quote = None,
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}
