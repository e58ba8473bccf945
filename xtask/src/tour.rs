//! `cargo xtask tour`: builds Milepost, starts it with its embedded default in a temporary
//! directory, and walks through a deploy that goes wrong and is rolled back. Commands are printed,
//! so that they can be repeated.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::shell::{cargo, run as run_command, target_dir};

/// An introduction, the files to write, and the commands to run.
type Scene = (&'static str, &'static [(&'static str, &'static str)], &'static [&'static str]);

const SCENES: [Scene; 7] = [
    (
        "A function, its settings and a page: three changes, each an app version and a release",
        &[("hello.py", "def main():\n    return 'hello, one'\n"), ("site/index.html", "<h1>Shop</h1>\n")],
        &[
            "app create shop",
            "function version create --name hello --env python --code hello.py --version v1.0.0",
            "config set greeting=hi mail.from=shop@example.org",
            "static add site --path /",
        ],
    ),
    ("A name for what works, so that it never expires", &[], &["release tag live good"]),
    (
        "A new version: first what it would do, then for real",
        &[("hello.py", "def main():\n    return 'hello, tow'\n")],
        &[
            "function version update --name hello --code hello.py --dry-run",
            "function version update --name hello --code hello.py --label v1.0.1",
        ],
    ),
    ("And a change of the configuration on top", &[], &["config set greeting=ho"]),
    ("Something is wrong: back to what worked, the whole app in one move", &[], &["rollback good -m typo"]),
    ("What there is, and what is live", &[], &["app list-version", "function version list --name hello"]),
    ("Who moved what, and when", &[], &["release history live", "diff good latest"]),
];

pub fn run() -> Result<()> {
    // Not quiet, because the first time this takes minutes.
    run_command(&mut cargo(&["build", "--locked", "-p", "milepost-cli"]))?;
    let binary = target_dir()?.join("debug/milepost");
    let folder = std::env::temp_dir().join(format!("milepost-tour-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let outcome = walk(&binary, &folder);
    let removed = fs::remove_dir_all(&folder).context("could not remove the folder of the tour");
    outcome.and(removed)
}

fn walk(binary: &Path, folder: &Path) -> Result<()> {
    let server = Server::start(binary, folder)?;
    for (what, files, commands) in SCENES {
        println!("\n# {what}");
        for (path, text) in files {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap_or(folder))?;
            fs::write(path, text)?;
        }
        for line in commands {
            println!("$ milepost {line}");
            server.milepost(line)?;
        }
    }
    println!(
        "\nThat was all in {}; it is gone now. Start your own with `cargo run --release -- serve`.",
        folder.display()
    );
    Ok(())
}

struct Server {
    binary: PathBuf,
    folder: PathBuf,
    process: Child,
}

impl Server {
    fn start(binary: &Path, folder: &Path) -> Result<Self> {
        let mut process = Command::new(binary)
            .args(["serve", "--api", "127.0.0.1:0", "--gateway", "127.0.0.1:0", "--data"])
            .arg(folder.join("data"))
            .current_dir(folder)
            .stderr(Stdio::piped())
            .spawn()
            .context("could not start the server")?;
        let mut lines = BufReader::new(process.stderr.take().context("the server has no stderr")?).lines();
        let ready = lines.by_ref().map_while(Result::ok).find(|line| line.starts_with("Milepost is ready"));
        let Some(ready) = ready else { bail!("the server did not start") };
        println!("{ready}");
        // Drains the rest, or the server would block on a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(Self { binary: binary.to_owned(), folder: folder.to_owned(), process })
    }

    fn milepost(&self, line: &str) -> Result<()> {
        let mut command = Command::new(&self.binary);
        command.args(line.split_whitespace()).arg("--yes").current_dir(&self.folder);
        command.env("MILEPOST_DATA", self.folder.join("data")).env("XDG_CACHE_HOME", self.folder.join("cache"));
        if !line.starts_with("app create") {
            command.env("MILEPOST_APP", "shop");
        }
        run_command(&mut command)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
