//! A transcript of what somebody typed.

use serde_json::Value;

use crate::common::{World, words};

/// The server starts with the first command that needs it.
#[derive(Default)]
pub struct Story {
    world: Option<World>,
    text: String,
}

impl Story {
    pub fn world(&mut self) -> &mut World {
        self.world.get_or_insert_with(World::new)
    }

    /// A line as it is typed after `milepost`.
    pub fn run(&mut self, line: &str) {
        let output = self.world().run(line);
        self.text.push_str(&output.snapshot());
    }

    /// The same for a line that prints what is different each time, like a token.
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

    /// A line typed by somebody who has this variable set.
    pub fn run_with(&mut self, variable: &str, value: &str, line: &str) {
        let words = words(line);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut env = self.world().env.clone();
        env.set(variable, value);
        let output = env.run(&words);
        self.text.push_str(&output.snapshot());
    }

    /// What a reader should know about the lines that follow.
    pub fn note(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(&format!("# {text}\n"));
    }

    pub fn file(&mut self, path: &str, contents: &str) {
        self.world().env.write_file(path, contents);
    }

    /// Something that was printed, for use in a later line; not part of the story.
    pub fn value(&mut self, line: &str, pointer: &str) -> String {
        let json = self.world().json(line);
        match json.pointer(pointer) {
            Some(Value::String(text)) => text.clone(),
            other => panic!("{line}: {pointer} is {other:?} in {json}"),
        }
    }

    /// The id of an active release, counted from the newest.
    pub fn release(&mut self, from_newest: usize) -> String {
        self.value("release list", &format!("/{from_newest}/id"))
    }

    pub fn text(&self) -> &str {
        &self.text
    }
}
