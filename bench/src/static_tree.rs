//! Adds and deploys an unchanged tree of 10,000 files, compared with `git status` in the same tree.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use milepost_testkit::cli::CliEnv;

use crate::measure::{Runs, table};

const FOLDERS: usize = 100;
const FILES: usize = 100;
const ROUNDS: usize = 15;

pub async fn run() -> Result<()> {
    tokio::task::spawn_blocking(measure).await?
}

fn measure() -> Result<()> {
    let binary = std::env::var_os("MILEPOST_BIN")
        .map(PathBuf::from)
        .context("MILEPOST_BIN names the binary; use `cargo xtask bench`")?;
    let env = CliEnv::with_binary(&binary);
    let server = env.server();
    let tree = env.work_dir().join("tree");
    make_tree(&tree)?;
    commit(&tree)?;
    // Both caches distrust recently modified files, so the files must age before the first scan.
    std::thread::sleep(std::time::Duration::from_secs(3));
    let add = |env: &CliEnv| {
        let started = Instant::now();
        let output = env.run(&["static", "add", "tree", "--path", "/static"]);
        let took = started.elapsed();
        if output.status != Some(0) {
            bail!("static add failed: {}", output.stderr);
        }
        Ok((output, took))
    };
    let (_, first) = add(&env)?;
    let uploads_before = uploads(&env, server.api())?;
    let (mut ours, mut git) = (Runs::default(), Runs::default());
    add(&env)?;
    for _ in 0..ROUNDS {
        let (output, took) = add(&env)?;
        if !output.stdout.contains("Nothing changed.") {
            bail!("the tree did not change, but: {}", output.stdout);
        }
        ours.push(took);
        let started = Instant::now();
        run_quietly(Command::new("git").args(["status", "--porcelain"]).current_dir(&tree))?;
        git.push(started.elapsed());
    }
    let carried = uploads(&env, server.api())? - uploads_before;
    std::fs::write(tree.join("folder-7/file-7.txt"), "one changed file")?;
    let (changed, one_file) = add(&env)?;
    let rows = vec![
        vec![
            "first time, everything sent".to_owned(),
            format!("{:.0} ms", first.as_secs_f64() * 1000.0),
            String::new(),
            String::new(),
        ],
        vec!["unchanged".to_owned(), ours.text(), git.text(), format!("{:.2}x", ours.ratio(&git))],
        vec![
            "one file changed".to_owned(),
            format!("{:.0} ms", one_file.as_secs_f64() * 1000.0),
            String::new(),
            String::new(),
        ],
    ];
    table("`static add` of 10,000 files, whole command", &["case", "milepost", "git status", "ratio"], &rows);
    println!(
        "\nUploads that carried data in {} unchanged runs: {carried}. The changed file: {}",
        ROUNDS + 1,
        changed.stderr.trim()
    );
    deploy(&env)
}

/// `deploy` of a whole folder, as a team's pipeline runs it: manifest, files and git facts.
fn deploy(env: &CliEnv) -> Result<()> {
    let folder = env.work_dir().join("site");
    make_tree(&folder.join("public"))?;
    std::fs::write(folder.join("milepost.yaml"), "app: site\nstatic:\n  - { src: public/, path: / }\n")?;
    commit(&folder)?;
    std::thread::sleep(std::time::Duration::from_secs(3));
    let deploy = || {
        let started = Instant::now();
        let output = env.run(&["deploy", "site"]);
        let took = started.elapsed();
        if output.status != Some(0) {
            bail!("deploy failed: {}", output.stderr);
        }
        Ok((output, took))
    };
    let (_, first) = deploy()?;
    deploy()?;
    let (mut ours, mut git) = (Runs::default(), Runs::default());
    for _ in 0..ROUNDS {
        let (output, took) = deploy()?;
        if !output.stdout.contains("up to date") {
            bail!("the folder did not change, but: {}", output.stdout);
        }
        ours.push(took);
        let started = Instant::now();
        run_quietly(Command::new("git").args(["status", "--porcelain"]).current_dir(&folder))?;
        git.push(started.elapsed());
    }
    let first = format!("{:.0} ms", first.as_secs_f64() * 1000.0);
    let rows = vec![
        vec!["first time, everything sent".to_owned(), first, String::new(), String::new()],
        vec!["unchanged".to_owned(), ours.text(), git.text(), format!("{:.2}x", ours.ratio(&git))],
    ];
    table("`deploy` of a folder of 10,000 files, whole command", &["case", "milepost", "git status", "ratio"], &rows);
    Ok(())
}

fn commit(folder: &Path) -> Result<()> {
    for args in [
        &["init", "-q"][..],
        &["add", "-A"],
        &["-c", "user.name=b", "-c", "user.email=b@b.invalid", "commit", "-qm", "all"],
    ] {
        run_quietly(Command::new("git").args(args).current_dir(folder))?;
    }
    Ok(())
}

fn make_tree(root: &Path) -> Result<()> {
    for folder in 0..FOLDERS {
        let folder = root.join(format!("folder-{folder}"));
        std::fs::create_dir_all(&folder)?;
        for file in 0..FILES {
            let text = format!("{} {file}\n", folder.display()).repeat(20 + file);
            std::fs::write(folder.join(format!("file-{file}.txt")), text)?;
        }
    }
    Ok(())
}

fn run_quietly(command: &mut Command) -> Result<()> {
    let status = command.stdout(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { bail!("{command:?} failed") }
}

/// The number of uploads according to the server's metrics.
fn uploads(env: &CliEnv, api: &str) -> Result<u64> {
    let token = std::fs::read_to_string(env.data_dir().join("admin.token")).context("the server has no token")?;
    let authorization = format!("authorization: Bearer {}", token.trim());
    let output = Command::new("curl")
        .args(["-s", "-H", &authorization, &format!("{api}/metrics")])
        .output()
        .context("curl is needed to read the metrics")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let lines =
        text.lines().filter(|line| line.starts_with("milepost_api_requests_total") && line.contains("/blobs\""));
    Ok(lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum())
}
