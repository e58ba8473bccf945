//! 200 functions that share 20 packages with 5,000 files.

use std::process::Command;
use std::time::Duration;

use crate::project::{Project, requests};

const PACKAGES: usize = 20;
const FILES: usize = 250;
const FUNCTIONS: usize = 200;

fn specs() -> String {
    let mut text = String::new();
    for package in 0..PACKAGES {
        text.push_str(&format!(
            "---\napiVersion: fission.io/v1\nkind: Package\nmetadata:\n  name: pkg-{package}\nspec:\n  environment:\n    name: python-27\n  deployment:\n    url: archive://archive-{package}\n---\nkind: ArchiveUploadSpec\nname: archive-{package}\ninclude:\n  - \"code/p{package}/**\"\n"
        ));
    }
    for function in 0..FUNCTIONS {
        let package = function % PACKAGES;
        text.push_str(&format!(
            "---\napiVersion: fission.io/v1\nkind: Function\nmetadata:\n  name: fn-{function}\nspec:\n  environment:\n    name: python-27\n  package:\n    packageref:\n      name: pkg-{package}\n    functionName: m0.main\n"
        ));
    }
    text
}

/// The processor time of a command, as measured by its parent shell.
fn cpu_of(project: &Project, args: &[&str]) -> (Duration, String) {
    let inner = project.env().command(args);
    let mut shell = Command::new("bash");
    shell.args(["-c", "TIMEFORMAT='%U %S'; time \"$0\" \"$@\""]).arg(inner.get_program()).args(inner.get_args());
    shell.env_clear().envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = shell.current_dir(project.env().work_dir()).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{stderr}");
    let times = stderr.lines().last().unwrap().split(' ').map(|seconds| seconds.parse::<f64>().unwrap()).sum();
    (Duration::from_secs_f64(times), String::from_utf8(output.stdout).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_a_large_folder_is_planned_in_no_time_and_one_changed_file_goes_alone() {
    let project = Project::new(&[]);
    project.file("specs/all.yaml", &specs());
    for package in 0..PACKAGES {
        for file in 0..FILES {
            let text = format!("# {package} {file}\ndef main():\n    return '{package}'\n");
            project.file(&format!("code/p{package}/m{file}.py"), &text);
        }
    }
    project.commit("all of it");
    project.stage.world.ok("plan set unlimited");
    let first = project.run("spec version apply");
    assert!(first.succeeded(), "{}", first.snapshot());
    assert!(first.stderr.contains("Uploaded 5000 files"), "{}", first.snapshot());

    // The first run fills the stat cache. Before, the files were too recently modified to be
    // cached.
    let before = requests(&project).await;
    let runs: Vec<(Duration, String)> = (0..4).map(|_| cpu_of(&project, &["spec", "version", "apply"])).collect();
    for (_, said) in &runs {
        assert_eq!(said, "Everything up to date.\n");
    }
    let after = requests(&project).await;
    assert_eq!((after.all - before.all, after.uploads - before.uploads), (4, 0));
    let least = runs.iter().map(|(cpu, _)| *cpu).min().unwrap();
    println!("planning {FUNCTIONS} functions, {PACKAGES} packages, {} files: {least:?} of CPU", PACKAGES * FILES);
    // Debug builds are several times slower.
    let bound = if cfg!(debug_assertions) { 5 } else { 1 };
    assert!(least < Duration::from_secs(bound), "{least:?}");

    project.file("code/p7/m77.py", "def main():\n    return 'changed'\n");
    let output = project.run("spec version apply");
    assert!(output.succeeded(), "{}", output.snapshot());
    assert!(output.stderr.contains("Uploaded 1 file"), "{}", output.snapshot());
    let versions = project.json("app show");
    let uid = versions["id"].as_str().unwrap();
    let new = versions["objects"].as_array().unwrap().iter().filter(|object| object["version"] == uid).count();
    assert_eq!(new, 1 + FUNCTIONS / PACKAGES, "the package, and the functions that share it");
}
