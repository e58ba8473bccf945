//! Runs the commands of docs/backup.md unchanged, while the server deploys and sweeps.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use milepost_testkit::cli::CliEnv;
use serde_json::Value;

use crate::author::{Author, text};
use crate::common::World;

/// The two shell blocks: the backup and the restore.
fn documented() -> [String; 2] {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/backup.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut blocks = page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_owned());
    [blocks.next().unwrap(), blocks.next().unwrap()]
}

/// An author with several versions of a function, whose server sweeps unreferenced blobs at once.
fn author() -> Author {
    let mut env = CliEnv::new();
    env.unset("MILEPOST_TEST_SEED");
    env.unset("MILEPOST_TEST_CLOCK");
    let author = Author::of(World::in_env(env, &["--sweep-grace", "0"]));
    author.world.env.write_file("f.py", code(1));
    author.ok("function create --name f --env python --code f.py --app shop");
    for number in 2..=6 {
        change(&author, number);
    }
    author.ok("publish --app-version live");
    author
}

fn code(number: usize) -> String {
    format!("def main(request):\n    return 'this is {number}'\n")
}

fn change(author: &Author, number: usize) {
    author.world.env.write_file("f.py", code(number));
    author.ok("function version update --name f --code f.py --app shop");
}

/// Deletes a version that existed before the backup began, with its files.
fn forget(author: &Author, number: usize) {
    author.ok(&format!("package version delete --name f-pkg --version {number} --yes --app shop"));
    author.ok("storage sweep");
}

struct Places {
    env: CliEnv,
    restored: String,
}

impl Places {
    fn of(author: &Author) -> Self {
        let mut env = author.world.env.clone();
        let place = |name: &str| env.home().join(name).display().to_string();
        let (data, backup, keys, restored) = (place("data"), place("backup"), place("keys"), place("restored"));
        for folder in [&backup, &keys] {
            std::fs::create_dir(folder).unwrap();
        }
        for (name, value) in [("DATA", data), ("BACKUP", backup), ("KEYS", keys), ("RESTORED", restored.clone())] {
            env.set(name, &value);
        }
        Self { env, restored }
    }

    #[track_caller]
    fn run(&self, script: &str) {
        // Takes the environment of the tests, but not the program.
        let command = self.env.command(&[]);
        let variables = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
        let output = Command::new("sh").args(["-euc", script]).env_clear().envs(variables).output().unwrap();
        assert!(output.status.success(), "{script}\n{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Checks that every version's files and every channel of the restored ledger exist.
    fn check(&self, author: &Author) {
        self.run(&documented()[1]);
        let mut env = author.world.env.clone();
        env.set("MILEPOST_DATA", &self.restored);
        let world = World::in_env(env, &["--sweep-grace", "0"]);
        let versions = world.json("package version list --name f-pkg --app shop");
        assert!(versions.as_array().unwrap().len() > 2, "{versions:#}");
        for version in versions.as_array().unwrap() {
            let number = &version["number"];
            let file = world.env.home().join(format!("v{number}.zip")).display().to_string();
            world.ok(&format!("package version download --name f-pkg --version {number} --to {file} --app shop"));
        }
        let releases = world.json("release list --app shop");
        for release in releases.as_array().unwrap().iter().filter(|release| release["state"] == "active") {
            world.ok(&format!("diff {} latest --app shop", text(&release["id"])));
        }
        assert!(world.ok("function test f --app shop").contains("this is"));
        assert!(world.ok("channel show --app shop").contains("1.0.0"));
        let channel: Value = world.json("channel show --app shop");
        let file = world.env.home().join("all.bundle").display().to_string();
        world.ok(&format!("bundle --app shop --file {file}"));
        assert!(!channel["versions"].as_array().unwrap().is_empty());
        // Deleted files can be uploaded again.
        for number in 1..=4 {
            world.env.write_file("f.py", code(number));
            world.ok("function version update --name f --code f.py --app shop");
            assert!(world.ok("function test f --app shop").contains(&format!("this is {number}")));
        }
    }
}

#[test]
fn a_backup_is_whole_whatever_happens_between_its_commands() {
    let author = author();
    let places = Places::of(&author);
    let [backup, _] = documented();
    let lines: Vec<&str> = backup.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    for (at, line) in lines.iter().enumerate() {
        places.run(line);
        change(&author, 10 + at);
        if at < 4 {
            forget(&author, at + 1);
        }
        author.release(&format!("1.1.{at}"), "");
    }
    places.check(&author);
}

#[test]
fn a_backup_is_whole_under_deploys_and_sweeps() {
    let author = author();
    let places = Places::of(&author);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let busy = scope.spawn(|| {
            let mut rounds = 0;
            while !done.load(Ordering::Relaxed) || rounds < 4 {
                change(&author, 10 + rounds);
                if rounds < 4 {
                    forget(&author, rounds + 1);
                }
                rounds += 1;
            }
        });
        places.run(&documented()[0]);
        done.store(true, Ordering::Relaxed);
        busy.join().unwrap();
    });
    places.check(&author);
}
