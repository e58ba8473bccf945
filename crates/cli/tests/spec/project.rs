//! A git project with a folder of specs, and a server to apply it to.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use milepost_testkit::cli::{CliEnv, Output};
use serde_json::Value;

use crate::stage::Stage;

/// Does what `build.sh` files of Fission do, without installing anything.
pub const BUILD: &str = "#!/bin/sh\necho building in \"$PWD\"\ncp -r ${SRC_PKG} ${DEPLOY_PKG}\n";

pub struct Project {
    pub stage: Stage,
}

impl Project {
    /// A server with the seed's environment, and an empty repository in the working folder.
    pub fn new(args: &[&str]) -> Self {
        let stage = Stage::new("default", args, &[]);
        stage.world.ok("environment create --name python-27 --image python");
        let project = Self { stage };
        git(project.env(), "", &["init", "--quiet", "--initial-branch=main"]);
        project
    }

    pub fn env(&self) -> &CliEnv {
        &self.stage.world.env
    }

    pub fn file(&self, path: &str, text: &str) {
        let path = self.env().write_file(path, text);
        if text.starts_with("#!") {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    /// Writes a Python module that returns a word, and its build script.
    pub fn code(&self, folder: &str, module: &str, says: &str) {
        self.file(&format!("{folder}/{module}.py"), &says_word(says));
        self.file(&format!("{folder}/build.sh"), BUILD);
        self.file(&format!("{folder}/requirements.txt"), "");
    }

    /// Commits everything and returns the commit.
    pub fn commit(&self, subject: &str) -> String {
        commit(self.env(), "", subject)
    }

    pub fn json(&self, line: &str) -> Value {
        self.stage.world.json(line)
    }

    /// Commits, applies, and returns the uid of the app version.
    pub fn apply(&self, subject: &str) -> String {
        self.commit(subject);
        let outcome = self.json("spec version apply");
        assert_eq!(outcome["changed"], true, "{outcome}");
        outcome["appVersion"].as_str().unwrap().to_owned()
    }

    pub fn run(&self, line: &str) -> Output {
        self.stage.world.run(line)
    }

    /// The uids of the versions of a unit, newest first.
    pub fn uids(&self, kind: &str, name: &str) -> Vec<String> {
        let versions = self.json(&format!("{kind} version list --name {name}"));
        versions.as_array().unwrap().iter().map(|version| version["uid"].as_str().unwrap().to_owned()).collect()
    }

    /// Type, name and version of the objects of an app version, without the environment that
    /// existed before.
    pub fn objects(&self, app_version: &str) -> Vec<(String, String, String)> {
        let shown = self.json(&format!("app show {app_version}"));
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let objects = shown["objects"].as_array().unwrap().iter();
        let mut objects: Vec<_> = objects
            .filter(|object| object["type"] != "environment")
            .map(|object| (text(&object["type"]), text(&object["name"]), text(&object["version"])))
            .collect();
        objects.sort();
        objects
    }
}

pub fn says_word(word: &str) -> String {
    format!("def main():\n    return '{word}'\n")
}

/// Runs git in a folder below the working folder and returns its output.
pub fn git(env: &CliEnv, folder: &str, args: &[&str]) -> String {
    let folder = env.work_dir().join(folder);
    fs::create_dir_all(&folder).unwrap();
    git_in(env, &folder, args)
}

fn git_in(env: &CliEnv, folder: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"]);
    command.args(args).current_dir(folder).env("HOME", env.home()).env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

pub fn commit(env: &CliEnv, folder: &str, subject: &str) -> String {
    git(env, folder, &["add", "--all"]);
    git(env, folder, &["commit", "--quiet", "--allow-empty", "-m", subject]);
    git(env, folder, &["rev-parse", "HEAD"])
}

/// Request counts from the server's metrics.
pub struct Requests {
    pub all: u64,
    /// Requests that carried files.
    pub uploads: u64,
}

pub async fn requests(project: &Project) -> Requests {
    let url = format!("{}/metrics", project.stage.world.server.api());
    let token = std::fs::read_to_string(project.stage.world.env.data_dir().join("admin.token")).unwrap();
    let text = project.stage.client.get(url).bearer_auth(token.trim()).send().await.unwrap().text().await.unwrap();
    let counted = |line: &&str| line.starts_with("milepost_api_requests_total{") && !line.contains("/metrics\"");
    let count = |line: &str| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap();
    let all = text.lines().filter(counted).map(count).sum();
    let uploads = text.lines().filter(counted).filter(|line| line.contains("/blobs\"")).map(count).sum();
    Requests { all, uploads }
}
