//! Folders with mistakes, and the complete output for each. Each folder of `broken/` is a project:
//! with a `milepost.yaml` it is deployed, otherwise its `specs` are validated. `expected.txt` is
//! the output; `INSTA_UPDATE=always cargo test -p milepost-cli --test broken` rewrites it.
#![expect(clippy::expect_used, reason = "test code: a step that fails ends the test")]

use std::fs;
use std::path::{Path, PathBuf};

use milepost_testkit::cli::CliEnv;

const EXPECTED: &str = "expected.txt";

#[test]
fn all_mistakes_of_a_folder_are_reported_at_once() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken");
    let mut cases: Vec<PathBuf> = fs::read_dir(&root).expect("the cases").flatten().map(|entry| entry.path()).collect();
    cases.sort();
    let update = std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always");
    // No server runs: mistakes visible in the folder are reported without one.
    let env = CliEnv::new();
    let (mut specs, mut manifests, mut wrong) = (0, 0, Vec::new());
    for case in &cases {
        let name = case.file_name().and_then(|name| name.to_str()).expect("a plain name");
        copy(case, &env.work_dir().join(name));
        let is_manifest = case.join("milepost.yaml").exists();
        let output = if is_manifest {
            manifests += 1;
            env.run_in(name, &["deploy"])
        } else {
            specs += 1;
            env.run_in(name, &["spec", "version", "validate"])
        };
        let told = output.snapshot();
        let expected = case.join(EXPECTED);
        if update {
            fs::write(&expected, &told).expect("written");
        } else if fs::read_to_string(&expected).unwrap_or_default() != told {
            wrong.push(format!("{name}:\n{told}"));
        }
    }
    assert!(wrong.is_empty(), "{} folders have other output than expected:\n\n{}", wrong.len(), wrong.join("\n"));
    assert!(specs >= 30 && manifests >= 8, "{specs} folders of specs and {manifests} manifests");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else if entry.file_name() != EXPECTED {
            fs::copy(entry.path(), target).expect("copied");
        }
    }
}
