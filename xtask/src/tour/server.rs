//! The server that a page's commands talk to, and the shell that they run in.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use anyhow::{Context, Result, bail};

use super::reader;

/// Begins the lines between the output of steps.
const MARK: &str = "=tour= ";

pub struct Server {
    process: Child,
    /// The ports that pages name, and those that this server has.
    ports: [(String, String); 2],
}

/// What each step printed, and its exit code.
pub struct Output(HashMap<String, (Vec<String>, Option<i32>)>);

impl Output {
    pub fn of(&self, step: &str) -> (Vec<String>, Option<i32>) {
        self.0.get(step).cloned().unwrap_or_default()
    }
}

impl Server {
    pub fn start(binary: &Path, folder: &Path) -> Result<Self> {
        let programs = folder.join("bin");
        fs::create_dir_all(&programs)?;
        std::os::unix::fs::symlink(binary, programs.join("milepost"))?;
        fs::write(folder.join(".curlrc"), "silent\nshow-error\n")?;
        let mut process = reader(&programs.join("milepost").display().to_string(), folder)
            .args(["serve", "--api", "127.0.0.1:0", "--gateway", "127.0.0.1:0"])
            .current_dir(folder)
            .stderr(Stdio::piped())
            .spawn()
            .context("could not start the server")?;
        let mut lines = BufReader::new(process.stderr.take().context("the server has no stderr")?).lines();
        let mut ready = lines.by_ref().map_while(Result::ok).skip_while(|line| !line.starts_with("Milepost is ready"));
        let api = ready.next().as_deref().and_then(port);
        let gateway = ready.next().as_deref().and_then(port);
        let (Some(api), Some(gateway)) = (api, gateway) else { bail!("the server did not start") };
        // Drains the rest, or the server would block on a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(Self { process, ports: [(":7070".to_owned(), api), (":8080".to_owned(), gateway)] })
    }

    /// The lines of the script that run one step, between marks.
    pub fn step(&self, name: &str, command: &str, folder: &Path) -> Result<String> {
        let mut command = command.to_owned();
        for (page, own) in &self.ports {
            command = command.replace(page, own);
        }
        let file = folder.join(format!("step-{name}"));
        fs::write(&file, command + "\n")?;
        Ok(format!("echo '{MARK}{name}'; . {}; code=$?; echo; echo \"{MARK}$code\"\n", file.display()))
    }

    pub fn shell(&self, script: &str, folder: &Path) -> Result<Output> {
        let file = folder.join("script");
        fs::write(&file, script)?;
        let path = std::env::var("PATH").unwrap_or_default();
        let output = reader("bash", folder)
            .arg("-c")
            .arg(format!("exec 2>&1; . {}", file.display()))
            .current_dir(folder.join("shop"))
            .env("PATH", format!("{}:{path}", folder.join("bin").display()))
            .output()
            .context("could not run bash")?;
        let mut steps = HashMap::new();
        let mut current: Option<(String, Vec<String>)> = None;
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            current = match (line.strip_prefix(MARK), current.take()) {
                (Some(name), None) => Some((name.to_owned(), Vec::new())),
                (Some(code), Some((name, mut lines))) => {
                    while lines.last().is_some_and(String::is_empty) {
                        lines.pop();
                    }
                    steps.insert(name, (lines, code.parse().ok()));
                    None
                }
                (None, Some((name, mut lines))) => {
                    lines.push(self.as_shown(line, folder));
                    Some((name, lines))
                }
                (None, None) => None,
            };
        }
        Ok(Output(steps))
    }

    fn as_shown(&self, line: &str, folder: &Path) -> String {
        let mut line = line.trim_end().to_owned();
        for (page, own) in &self.ports {
            line = line.replace(own, page);
        }
        line.replace(&folder.display().to_string(), "~")
    }
}

/// The last `:PORT` of a line.
fn port(line: &str) -> Option<String> {
    let digits: String = line.rsplit(':').next()?.chars().take_while(char::is_ascii_digit).collect();
    (!digits.is_empty()).then(|| format!(":{digits}"))
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
