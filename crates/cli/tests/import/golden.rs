//! Folders of specs and the manifests that `import` makes of them. `expected.txt` has the output
//! and the written files; `INSTA_UPDATE=always cargo test -p milepost-cli --test roundtrip`
//! rewrites it.

use std::fs;
use std::path::{Path, PathBuf};

use milepost_testkit::cli::CliEnv;

use crate::copy_folder;

const EXPECTED: &str = "expected.txt";

#[test]
fn import_lists_everything_it_drops() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/import");
    let mut cases: Vec<PathBuf> = fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.retain(|case| case.is_dir());
    cases.sort();
    let update = std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always");
    let env = CliEnv::new();
    let mut wrong = Vec::new();
    for case in &cases {
        let name = case.file_name().unwrap().to_str().unwrap();
        let work = env.work_dir().join(name);
        copy_folder(case, &work);
        let mut told = env.run_in(name, &["import"]).snapshot();
        for file in ["milepost.yaml", "imported"] {
            show(&work, &work.join(file), &mut told);
        }
        if !told.ends_with('\n') {
            told.push_str("\n(no newline at its end)\n");
        }
        let expected = case.join(EXPECTED);
        if update {
            fs::write(&expected, &told).unwrap();
        } else if fs::read_to_string(&expected).unwrap_or_default() != told {
            wrong.push(format!("{name}:\n{told}"));
        }
        // A second import does not overwrite the first.
        let again = env.run_in(name, &["import"]);
        assert_eq!(again.status, Some(2), "{}", again.snapshot());
        assert!(again.stderr.contains("--out FILE"), "{}", again.snapshot());
    }
    assert!(wrong.is_empty(), "{} folders are imported otherwise than expected:\n\n{}", wrong.len(), wrong.join("\n"));
    assert!(cases.len() >= 4, "{cases:?}");
}

#[test]
fn a_manifest_in_another_folder_names_the_same_files() {
    let env = CliEnv::new();
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/import/whole_project");
    copy_folder(&case, &env.work_dir().join("project"));
    fs::create_dir_all(env.work_dir().join("else/where")).unwrap();
    let output = env.run(&["import", "--specdir", "project/specs", "--out", "else/where", "-o", "json"]);
    assert!(output.succeeded(), "{}", output.snapshot());
    let report: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(report["manifest"], "else/where/milepost.yaml");
    // Files and units are equal. Only the environment differs.
    let lost = report["lost"].as_array().unwrap().iter().map(|lost| lost["message"].as_str().unwrap());
    assert_eq!(lost.filter(|lost| !lost.contains("of environment `py`")).collect::<Vec<_>>(), [""; 0], "{report}");
    let manifest = fs::read_to_string(env.work_dir().join("else/where/milepost.yaml")).unwrap();
    assert!(manifest.contains("src: ../../project/api"), "{manifest}");
    assert!(!manifest.contains("/milepost.yaml"), "nothing of it is among the files: {manifest}");
}

#[test]
fn a_folder_with_mistakes_is_not_imported() {
    let env = CliEnv::new();
    env.write_file("specs/a.yaml", "apiVersion: fission.io/v1\nkind: Function\nmetadata: { name: f }\nspec: {}\n");
    let output = env.run(&["import"]);
    assert_eq!(output.status, Some(2), "{}", output.snapshot());
    assert!(output.stderr.contains("specs/a.yaml:1: function `f` has no `package`"), "{}", output.snapshot());
    assert!(!env.work_dir().join("milepost.yaml").exists());
}

/// Appends each file with its content, mode or link target.
fn show(root: &Path, path: &Path, to: &mut String) {
    use std::os::unix::fs::PermissionsExt;
    let Ok(metadata) = path.symlink_metadata() else { return };
    let name = path.strip_prefix(root).unwrap().display();
    if metadata.is_symlink() {
        to.push_str(&format!("\n== {name} -> {}\n", fs::read_link(path).unwrap().display()));
    } else if metadata.is_dir() {
        let mut entries: Vec<PathBuf> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        entries.iter().for_each(|entry| show(root, entry, to));
    } else {
        let executable = if metadata.permissions().mode() & 0o100 == 0 { "" } else { " (executable)" };
        to.push_str(&format!("\n== {name}{executable}\n{}", fs::read_to_string(path).unwrap()));
    }
}

#[test]
fn the_manifest_names_the_app_that_was_asked_for() {
    let env = CliEnv::new();
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/import/whole_project");
    copy_folder(&case, &env.work_dir().join("project"));
    env.run_in("project", &["import", "--app", "renamed"]).success();
    let manifest = fs::read_to_string(env.work_dir().join("project/milepost.yaml")).unwrap();
    assert!(manifest.contains("\napp: renamed\n"), "{manifest}");
}
