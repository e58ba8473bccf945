//! Command line options.

use std::time::Duration;

use anyhow::{Context, Result, bail};

const PARTS: [&str; 4] = ["accept", "served", "idle", "jobs"];

pub struct Options {
    only: Vec<String>,
    /// How often everything is measured.
    pub runs: usize,
    /// The duration of load, and how long timers fire.
    pub seconds: Option<u64>,
    /// Executions of one end-to-end run.
    pub count: usize,
    /// Sequential executions on an idle server.
    pub idle: usize,
    pub jobs: i64,
    pub timers: usize,
}

impl Options {
    pub fn read(args: &[String]) -> Result<Self> {
        let mut options =
            Self { only: Vec::new(), runs: 3, seconds: None, count: 2000, idle: 200, jobs: 100_000, timers: 1000 };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().with_context(|| format!("`{arg}` needs a value"));
            let number = |text: &String| text.parse::<usize>().with_context(|| format!("`{arg}` is a number"));
            match arg.as_str() {
                "--only" => options.only = value()?.split(',').map(str::to_owned).collect(),
                "--runs" => options.runs = number(value()?)?.max(1),
                "--seconds" => options.seconds = Some(number(value()?)?.max(1) as u64),
                "--count" => options.count = number(value()?)?.max(1),
                "--idle" => options.idle = number(value()?)?.max(1),
                "--jobs" => options.jobs = number(value()?)?.max(1000) as i64,
                "--timers" => options.timers = number(value()?)?.max(1),
                _ => bail!("`{arg}` is unknown; use --only, --runs, --seconds, --count, --idle, --jobs or --timers"),
            }
        }
        if let Some(unknown) = options.only.iter().find(|part| !PARTS.contains(&part.as_str())) {
            bail!("there is no part `{unknown}`; the parts are {}", PARTS.join(", "));
        }
        Ok(options)
    }

    pub fn wants(&self, part: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|wanted| wanted == part)
    }

    pub fn length(&self) -> Duration {
        Duration::from_secs(self.seconds.unwrap_or(4))
    }
}
