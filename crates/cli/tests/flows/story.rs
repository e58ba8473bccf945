//! A transcript of commands and their output.

use serde_json::Value;

use crate::common::{World, words};

/// Starts the server with the first command that needs it.
#[derive(Default)]
pub struct Story {
    world: Option<World>,
    text: String,
}

impl Story {
    pub fn world(&mut self) -> &mut World {
        self.world.get_or_insert_with(World::new)
    }

    /// Runs a command line, given without `milepost`.
    pub fn run(&mut self, line: &str) {
        let output = self.world().run(line);
        self.text.push_str(&output.snapshot());
    }

    /// Runs a command whose output differs each time, such as a token.
    pub fn run_without_data(&mut self, line: &str) {
        let mut output = self.world().run(line);
        assert!(!output.stdout.is_empty(), "{line}");
        output.stdout = "…\n".to_owned();
        self.text.push_str(&output.snapshot());
    }

    pub fn run_with_input(&mut self, line: &str, input: &str) {
        let words = words(line);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = self.world().env.run_with_input(&words, input);
        self.text.push_str(&output.snapshot());
    }

    /// Runs a command with an environment variable.
    pub fn run_with(&mut self, variable: &str, value: &str, line: &str) {
        let words = words(line);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut env = self.world().env.clone();
        env.set(variable, value);
        let output = env.run(&words);
        self.text.push_str(&output.snapshot());
    }

    /// Adds a comment to the transcript.
    pub fn note(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(&format!("# {text}\n"));
    }

    pub fn file(&mut self, path: &str, contents: &str) {
        self.world().env.write_file(path, contents);
    }

    /// Returns a value from the output of a command that is not part of the transcript.
    pub fn value(&mut self, line: &str, pointer: &str) -> String {
        let json = self.world().json(line);
        match json.pointer(pointer) {
            Some(Value::String(text)) => text.clone(),
            other => panic!("{line}: {pointer} is {other:?} in {json}"),
        }
    }

    /// Returns the id of an active release, counted from the newest.
    pub fn release(&mut self, from_newest: usize) -> String {
        self.value("release list", &format!("/{from_newest}/id"))
    }

    pub fn text(&self) -> &str {
        &self.text
    }
}
