//! A server in a hermetic environment, and shorthands for tests.

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
    /// With repeatable ids, and a clock that steps with each request.
    pub fn new() -> Self {
        Self::in_env(CliEnv::new(), &[])
    }

    /// With real ids and the real clock, for tests that restart the server: the repeatable ones
    /// would start over.
    pub fn on_machine_time() -> Self {
        Self::on_machine_time_with(&[])
    }

    /// The same with extra arguments for the server.
    pub fn on_machine_time_with(args: &[&str]) -> Self {
        let mut env = CliEnv::new();
        env.unset("MILEPOST_TEST_SEED");
        env.unset("MILEPOST_TEST_CLOCK");
        Self::in_env(env, args)
    }

    pub fn in_env(env: CliEnv, args: &[&str]) -> Self {
        let server = env.server_with(args);
        Self { env, server }
    }

    /// Runs a command line, given without `milepost`.
    pub fn run(&self, line: &str) -> Output {
        let words = words(line);
        self.env.run(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    #[track_caller]
    pub fn ok(&self, line: &str) -> String {
        self.run(line).success()
    }

    /// Runs a command that must succeed, and returns its `-o json` output.
    #[track_caller]
    pub fn json(&self, line: &str) -> Value {
        let text = self.ok(&format!("{line} -o json"));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{line} printed no JSON ({error}):\n{text}"))
    }

    /// A client with the admin token.
    pub fn client(&self) -> Client {
        let token = std::fs::read_to_string(self.env.data_dir().join("admin.token")).unwrap();
        Client::new(self.server.api(), token.trim()).unwrap()
    }
}

/// Splits a line at spaces, except between quotes, as a shell would.
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
