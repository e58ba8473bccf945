//! Milepost itself: a `milepost serve` with its own data directory, and commands for it.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use milepost_client::Client;
use milepost_client::api::ServerFile;

use super::client::Target;
use super::place::{self, Place};
use super::process::{self, Running, command};

pub const APP: &str = "bench";
/// Printed by the server once it accepts requests.
const READY: &str = "Milepost is ready";
const START_DEADLINE: Duration = Duration::from_secs(30);
/// How often a command's memory use is sampled.
const WATCH: Duration = Duration::from_millis(5);

pub struct Milepost {
    pub server: Running,
    port: u16,
    home: PathBuf,
    binary: PathBuf,
    pub log: PathBuf,
}

impl Milepost {
    /// Starts a server and creates an app in it. `args` are more arguments for `serve`.
    pub fn start(place: &Place, name: &str, args: &[&str]) -> Result<Self> {
        let milepost = Self::serve(place, name, args)?;
        milepost.run(&["app", "create", APP])?;
        Ok(milepost)
    }

    /// Starts a server on the directory of this name, new or left by another server.
    pub fn serve(place: &Place, name: &str, args: &[&str]) -> Result<Self> {
        let home = place.folder(name)?;
        let log = home.join("server.log");
        let port = place::free_port()?;
        let mut line = command(place.milepost());
        environment(&mut line, &home);
        line.args(["serve", "--api", "127.0.0.1:0", "--gateway", &format!("127.0.0.1:{port}")]).args(args);
        let mut server = Running::start(line, &log)?;
        let started = Instant::now();
        while !fs::read_to_string(&log).unwrap_or_default().contains(READY) {
            if server.has_ended() || started.elapsed() > START_DEADLINE {
                bail!("`milepost serve` did not become ready. It said:\n{}", fs::read_to_string(&log)?);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(Self { server, port, home, binary: place.milepost().to_owned(), log })
    }

    /// The server's data directory.
    pub fn data(&self) -> PathBuf {
        self.home.join("data")
    }

    /// Runs `milepost ARGS` against this server.
    pub fn run(&self, args: &[&str]) -> Result<()> {
        self.output(args).map(drop)
    }

    /// Like [`Self::run`], and returns the output.
    pub fn output(&self, args: &[&str]) -> Result<String> {
        let output = self.command(args).output().context("could not run `milepost`")?;
        if !output.status.success() {
            bail!("`milepost {}` failed: {}", args.join(" "), String::from_utf8_lossy(&output.stderr).trim());
        }
        String::from_utf8(output.stdout).context("`milepost` did not print text")
    }

    /// Like [`Self::run`], and returns the duration and the peak memory use, both measured from
    /// outside.
    pub fn run_watched(&self, args: &[&str]) -> Result<(Duration, u64)> {
        let started = Instant::now();
        let log = self.home.join("watched.log");
        let mut line = self.command(args);
        let mut child = line.stdout(Stdio::null()).stderr(fs::File::create(&log)?).spawn()?;
        let mut peak = 0;
        let status = loop {
            // A process that has just ended has no memory use any more.
            peak = process::peak_bytes_of(child.id()).unwrap_or_default().max(peak);
            if let Some(status) = child.try_wait()? {
                break status;
            }
            std::thread::sleep(WATCH);
        };
        let took = started.elapsed();
        if !status.success() {
            bail!("`milepost {}` failed: {}", args.join(" "), fs::read_to_string(&log)?.trim());
        }
        Ok((took, peak))
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut line = Command::new(&self.binary);
        environment(&mut line, &self.home);
        line.args(args).stdin(Stdio::null());
        line
    }

    /// An API client with full access.
    pub fn client(&self) -> Result<Client> {
        let file = fs::read(self.data().join("server.json")).context("the server has no server.json")?;
        let file: ServerFile = serde_json::from_slice(&file)?;
        let token = fs::read_to_string(self.data().join("admin.token")).context("the server has no token")?;
        Ok(Client::new(&file.api, token.trim())?)
    }

    /// Creates a function and a route to it.
    pub fn function(&self, function: &Function<'_>, path: &str) -> Result<()> {
        let code = function.code.to_str().context("the temporary folder's name is not UTF-8")?;
        let name = function.name;
        let create = ["function", "create", "--name", name, "--env", function.environment, "--code", code];
        let limits = ["--entrypoint", function.entrypoint, "--permission", "public"];
        self.run(&[&create[..], &limits, function.scale].concat())?;
        self.run(&["route", "create", "--method", "GET", "--url", path, "--function", name])
    }

    /// The app's live release, through the gateway.
    pub fn target(&self, path: &str) -> Target {
        let address = ([127, 0, 0, 1], self.port).into();
        Target { address, host: format!("{APP}.localhost"), path: path.to_owned() }
    }

    /// Retries until the response is as expected, because the gateway may not have the release yet.
    pub fn wait_for(&mut self, path: &str, body: &[u8]) -> Result<()> {
        let target = self.target(path);
        place::wait_for(&target, body, &mut self.server, &self.log)
    }
}

pub struct Function<'a> {
    pub name: &'a str,
    pub environment: &'a str,
    pub code: PathBuf,
    pub entrypoint: &'a str,
    /// Options such as `--max 2`.
    pub scale: &'a [&'a str],
}

/// Whether `milepost serve` supports a flag.
pub fn serve_knows(place: &Place, flag: &str) -> Result<bool> {
    let help = Command::new(place.milepost()).args(["serve", "--help"]).output().context("could not run `milepost`")?;
    Ok(String::from_utf8_lossy(&help.stdout).contains(flag))
}

/// Clears the developer's own settings.
fn environment(command: &mut Command, home: &std::path::Path) {
    command.env_clear().env("HOME", home).env("PATH", place::PATH).env("LANG", "C.UTF-8").env("TZ", "UTC");
    command.env("MILEPOST_DATA", home.join("data")).env("MILEPOST_APP", APP).current_dir(home);
}
