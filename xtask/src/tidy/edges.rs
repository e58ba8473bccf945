//! Checks which crates depend on which: edges point down only, and each driver appears in one
//! manifest.

use super::manifest::{Dependency, Kind, dependencies};
use super::{Finding, Source};

/// The allowed dependencies of each crate. `catalog`, `blobs` and `runtime` do not know each other:
/// `server` joins them.
const EDGES: [(&str, &[&str]); 12] = [
    ("cli", &["client", "declared", "server", "channels", "model"]),
    ("server", &["catalog", "blobs", "channels", "gateway", "runtime", "client", "model"]),
    ("channels", &["blobs", "model"]),
    ("gateway", &["model"]),
    ("runtime", &["model"]),
    ("catalog", &["model"]),
    ("blobs", &["model"]),
    ("declared", &["client", "model"]),
    ("client", &["model"]),
    ("model", &[]),
    ("testkit", &["model"]),
    ("xtask", &[]),
];

/// The only crates that may use a driver, so that the others can be read without knowing it. The
/// test kit starts databases and so needs a client. Only `cli` knows the terminal.
const DRIVERS: [(&str, &[&str]); 8] = [
    ("rusqlite", &["catalog"]),
    ("tokio-postgres", &["catalog", "testkit"]),
    ("deadpool", &["catalog"]),
    ("object_store", &["blobs"]),
    ("wasmtime", &["runtime"]),
    ("clap", &["cli"]),
    ("comfy-table", &["cli"]),
    ("indicatif", &["cli"]),
];

pub fn check(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources {
        let Some(name) = crate_name(&source.path) else { continue };
        let Some((_, allowed)) = EDGES.iter().find(|(from, _)| *from == name) else {
            findings.push(Finding::file(&source.path, "a new crate: say in xtask/src/tidy/edges.rs what it may know"));
            continue;
        };
        for dependency in dependencies(&source.text) {
            let problem = edge_problem(name, allowed, &dependency).or_else(|| driver_problem(name, &dependency));
            findings.extend(problem.map(|message| Finding::line(&source.path, dependency.line, message)));
        }
    }
    findings
}

fn crate_name(path: &str) -> Option<&str> {
    let folder = path.strip_suffix("/Cargo.toml")?;
    let name = folder.strip_prefix("crates/").unwrap_or(folder);
    (name == "xtask" || folder != name && !name.contains('/')).then_some(name)
}

fn edge_problem(name: &str, allowed: &[&str], dependency: &Dependency) -> Option<String> {
    let to = dependency.name.strip_prefix("milepost-")?;
    if to == "testkit" {
        return (dependency.kind != Kind::Dev).then(|| "`testkit` is for dev-dependencies only".to_owned());
    }
    (!allowed.contains(&to)).then(|| format!("`{name}` must not know `{to}`: edges point down only"))
}

fn driver_problem(name: &str, dependency: &Dependency) -> Option<String> {
    let (driver, homes) = DRIVERS.iter().find(|(driver, _)| *driver == dependency.name)?;
    (!homes.contains(&name)).then(|| format!("`{driver}` belongs to `{}` only", homes.join("` and `")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, manifest: &str) -> Vec<String> {
        let source = Source { path: path.to_owned(), text: manifest.to_owned() };
        check(&[source]).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn rejects_edges_that_do_not_point_down() {
        let down =
            "[dependencies]\nmilepost-model.workspace = true\n[dev-dependencies]\nmilepost-testkit.workspace = true\n";
        assert!(findings("crates/catalog/Cargo.toml", down).is_empty());
        assert_eq!(
            findings("crates/catalog/Cargo.toml", "[dependencies]\nmilepost-blobs.workspace = true\n"),
            ["crates/catalog/Cargo.toml:2: `catalog` must not know `blobs`: edges point down only"]
        );
    }

    #[test]
    fn allows_testkit_only_as_a_dev_dependency() {
        assert_eq!(
            findings("crates/cli/Cargo.toml", "[dependencies]\nmilepost-testkit.workspace = true\n"),
            ["crates/cli/Cargo.toml:2: `testkit` is for dev-dependencies only"]
        );
    }

    #[test]
    fn allows_a_driver_only_in_its_home_crate() {
        assert_eq!(
            findings("crates/server/Cargo.toml", "[dev-dependencies]\nrusqlite.workspace = true\n"),
            ["crates/server/Cargo.toml:2: `rusqlite` belongs to `catalog` only"]
        );
    }

    #[test]
    fn rejects_a_crate_without_edges() {
        assert_eq!(findings("crates/extra/Cargo.toml", "").len(), 1);
        assert!(findings("examples/hello/Cargo.toml", "").is_empty());
        assert!(findings("Cargo.toml", "").is_empty());
    }
}
