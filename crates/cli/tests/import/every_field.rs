//! `import` drops nothing silently: a folder with every known field of specs, each annotated with
//! the expected result.

use std::fs;
use std::path::Path;

use milepost_testkit::cli::CliEnv;

use crate::copy_folder;

#[test]
fn every_field_of_specs_is_in_the_manifest_or_in_the_list_of_losses() {
    let env = CliEnv::new();
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/import/every_field");
    copy_folder(&case, &env.work_dir().join("project"));
    let output = env.run_in("project", &["import", "-o", "json"]);
    assert!(output.succeeded(), "{}", output.snapshot());
    let report: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    let lost = report["lost"].as_array().unwrap().iter();
    let lost: Vec<String> = lost.map(|lost| format!("{}:{}", lost["file"].as_str().unwrap(), lost["line"])).collect();
    let manifest = fs::read_to_string(env.work_dir().join("project/milepost.yaml")).unwrap();
    let specs = fs::read_to_string(case.join("specs/all.yaml")).unwrap();
    let mut wrong = Vec::new();
    let mut fields = 0;
    for (line, number) in specs.lines().zip(1..).filter(|(line, _)| !line.starts_with('#') && *line != "---") {
        let at = format!("specs/all.yaml:{number}");
        let is_lost = lost.contains(&at);
        let becomes = match line.split_once("  # ") {
            None if line.trim_end().ends_with(':') => continue,
            None => "nothing",
            Some((_, becomes)) => becomes,
        };
        fields += 1;
        let is_right = match becomes.split_once(' ').unwrap_or((becomes, "")) {
            ("kept", text) => manifest.contains(text) && !is_lost,
            ("lost", _) => is_lost,
            ("form", why) => !why.is_empty() && !is_lost,
            _ => false,
        };
        if !is_right {
            wrong.push(format!("{at}: {line}"));
        }
    }
    assert!(wrong.is_empty(), "not as it is said there:\n{}\n{manifest}\n{lost:#?}", wrong.join("\n"));
    assert!(fields > 100, "{fields}");
}
