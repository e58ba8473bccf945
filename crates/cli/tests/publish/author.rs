//! An author with an app that has files, configuration and a secret.

use milepost_testkit::cli::Output;
use serde_json::Value;

use crate::common::World;

pub struct Author {
    pub world: World,
}

impl Author {
    pub fn new() -> Self {
        Self::of(World::new())
    }

    pub fn of(world: World) -> Self {
        let author = Self { world };
        author.manifest("1.0.0", "one");
        author.deploy();
        author
    }

    /// Writes a manifest with this version and a page with this text.
    pub fn manifest(&self, version: &str, page: &str) {
        let manifest = format!(
            "app: shop\nversion: {version}\nconfig:\n  greeting: Hello\nstatic:\n  - src: public\n    path: /\n"
        );
        self.world.env.write_file("milepost.yaml", manifest);
        self.world.env.write_file("public/index.html", format!("<h1>{page}</h1>"));
    }

    pub fn deploy(&self) {
        self.world.ok("deploy");
    }

    /// Raises the version, changes the page, deploys, and publishes.
    pub fn release(&self, version: &str, options: &str) -> Value {
        self.manifest(version, version);
        self.deploy();
        self.json(&format!("publish {options}"))
    }

    pub fn run(&self, line: &str) -> Output {
        self.world.run(line)
    }

    #[track_caller]
    pub fn ok(&self, line: &str) -> String {
        self.world.ok(line)
    }

    #[track_caller]
    pub fn json(&self, line: &str) -> Value {
        self.world.json(line)
    }

    /// Runs a command that must fail, and returns its error.
    #[track_caller]
    pub fn refused(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(output.status != Some(0), "`{line}` was not refused:\n{}", output.stdout);
        output.stderr
    }

    /// The default path of `channel key`.
    pub fn key_file(&self) -> String {
        self.world.env.home().join(".config/milepost/channel.key").to_str().unwrap().to_owned()
    }

    /// The versions that `channel show` lists.
    #[track_caller]
    pub fn versions(&self, channel: &str) -> Vec<String> {
        let shown = self.json(&format!("channel show {channel}"));
        shown["versions"].as_array().unwrap().iter().map(|entry| text(&entry["version"])).collect()
    }
}

pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}
