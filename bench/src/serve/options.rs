//! Command line options.

use std::time::Duration;

use anyhow::{Context, Result, bail};

/// The parts, in the order in which they run.
const PARTS: [&str; 8] = ["static", "python", "node", "overhead", "cold", "resolve", "move", "large"];

pub struct Options {
    only: Vec<String>,
    /// How often each server is measured.
    pub runs: usize,
    /// The duration of one measurement under load.
    pub seconds: u64,
    /// How long to wait for an idle machine before each measurement.
    pub wait: Duration,
    /// Measures only the peers, for work on the measurements themselves.
    pub peers_only: bool,
    /// The size of the file of the part `large`.
    pub large_bytes: u64,
}

impl Options {
    pub fn read(args: &[String]) -> Result<Self> {
        let mut options = Self {
            only: Vec::new(),
            runs: 5,
            seconds: 4,
            wait: Duration::from_secs(60),
            peers_only: false,
            large_bytes: 4 << 30,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().with_context(|| format!("`{arg}` needs a value"));
            match arg.as_str() {
                "--only" => options.only = value()?.split(',').map(str::to_owned).collect(),
                "--runs" => options.runs = value()?.parse().context("`--runs` is a number")?,
                "--seconds" => options.seconds = value()?.parse().context("`--seconds` is a number")?,
                "--wait" => options.wait = Duration::from_secs(value()?.parse().context("`--wait` is in seconds")?),
                "--size" => {
                    let mebibytes: u64 = value()?.parse().context("`--size` is in MiB")?;
                    options.large_bytes = mebibytes << 20;
                }
                "--peers-only" => options.peers_only = true,
                _ => bail!("`{arg}` is unknown; use --only, --runs, --seconds, --wait, --size or --peers-only"),
            }
        }
        if let Some(unknown) = options.only.iter().find(|part| !PARTS.contains(&part.as_str())) {
            bail!("there is no part `{unknown}`; the parts are {}", PARTS.join(", "));
        }
        if options.runs == 0 || options.seconds == 0 || options.large_bytes == 0 {
            bail!("`--runs`, `--seconds` and `--size` are at least 1");
        }
        Ok(options)
    }

    pub fn wants(&self, part: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|wanted| wanted == part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Options> {
        Options::read(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn without_options_every_part_runs_five_times() {
        let options = read("").expect("nothing is asked for");
        assert_eq!(options.runs, 5);
        assert!(PARTS.iter().all(|part| options.wants(part)));
    }

    #[test]
    fn only_the_named_parts_run() {
        let options = read("--only static,cold --runs 7 --size 16").expect("both are known");
        assert!(options.wants("static") && options.wants("cold") && !options.wants("python"));
        assert_eq!((options.runs, options.large_bytes), (7, 16 << 20));
    }

    #[test]
    fn rejects_unknown_and_invalid_options() {
        for line in ["--only statics", "--runs", "--runs many", "--runs 0", "--size 0", "--fast"] {
            assert!(read(line).is_err(), "{line}");
        }
    }
}
