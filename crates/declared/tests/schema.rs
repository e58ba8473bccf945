//! The JSON schema of `milepost.yaml` against the manifests of this repository: examples, pages of
//! the documentation, and the manifests of other tests.

#![expect(clippy::expect_used, clippy::panic, reason = "test code: a step that fails ends the test")]

use std::fs;
use std::path::{Path, PathBuf};

use boon::{Compiler, SchemaIndex, Schemas};
use milepost_declared::manifest::keys::schema::schema;
use serde_json::Value;

struct Validator {
    schemas: Schemas,
    root: SchemaIndex,
}

impl Validator {
    fn compiled() -> Self {
        const URL: &str = "https://milepost.test/schema.json";
        let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
        compiler.add_resource(URL, schema()).expect("a resource");
        let root = compiler.compile(URL, &mut schemas).expect("a valid schema");
        Self { schemas, root }
    }

    fn check(&self, text: &str) -> Result<(), String> {
        let document: Value = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        self.schemas.validate(&document, self.root).map_err(|error| format!("{error:#}"))
    }

    #[track_caller]
    fn accepts(&self, place: &Path, text: &str) {
        self.check(text).unwrap_or_else(|error| panic!("{}: {error}\n{text}", place.display()));
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The manifests in the folders below one.
fn manifests(of: &str) -> Vec<PathBuf> {
    let folder = repository().join(of);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let found = entries.flatten().map(|entry| entry.path().join("milepost.yaml")).filter(|path| path.is_file());
    let mut found: Vec<PathBuf> = found.collect();
    found.sort();
    found
}

#[test]
fn accepts_the_examples_and_the_manifests_of_other_tests() {
    let validator = Validator::compiled();
    let mut valid = [manifests("examples"), manifests("crates/cli/tests/e2e/cases")].concat();
    valid.push(repository().join("crates/declared/tests/mistakes/milepost.yaml"));
    assert!(valid.len() >= 8, "{valid:?}");
    valid.iter().for_each(|path| validator.accepts(path, &read(path)));
}

#[test]
fn accepts_the_manifests_in_the_documentation() {
    let validator = Validator::compiled();
    let docs = fs::read_dir(repository().join("docs")).expect("the pages").flatten().map(|entry| entry.path());
    let pages = docs.chain([repository().join("README.md")]);
    let mut count = 0;
    for page in pages.filter(|path| path.extension().is_some_and(|extension| extension == "md")) {
        let text = read(&page);
        let written = text.split("cat > milepost.yaml <<'END'\n").skip(1).map(|rest| rest.split("\nEND").next());
        let fenced = text.split("\n```yaml\n").skip(1).map(|rest| rest.split("```").next());
        for manifest in written.chain(fenced).flatten() {
            // Specs of Fission, and the keys of other files, have other outermost keys.
            if manifest.starts_with("app:") || manifest.starts_with("static:") {
                validator.accepts(&page, manifest);
                count += 1;
            }
        }
    }
    assert!(count >= 8, "{count} manifests");
}

#[test]
fn refuses_the_broken_manifests_with_structural_mistakes() {
    let validator = Validator::compiled();
    let structural = [
        "manifest_both_of_two",
        "manifest_empty",
        "manifest_other_forms",
        "manifest_unknown_keys",
        "manifest_variables_in_env",
        "manifest_what_is_missing",
        "manifest_wrong_kinds",
    ];
    let broken = manifests("crates/cli/tests/broken");
    for name in structural {
        let path = broken.iter().find(|path| path.to_string_lossy().contains(name)).expect(name);
        assert!(validator.check(&read(path)).is_err(), "the schema accepts {}", path.display());
    }
}
