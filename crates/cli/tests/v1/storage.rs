//! The storage cost of versions, and what is deleted with them.

use reqwest::Method;
use serde_json::json;

use crate::stage::{Stage, zip};

const MAIN: &str = "def main(**kwargs):\n    return 1\n";

fn stored(stage: &Stage) -> u64 {
    stage.cli(&["app", "get", "default", "-o", "json"])["storedBytes"].as_u64().unwrap()
}

fn files(stage: &Stage) -> usize {
    fn count(folder: &std::path::Path) -> usize {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.map(|path| if path.is_dir() { count(&path) } else { 1 }).sum()
    }
    count(&stage.env.data_dir().join("blobs"))
}

#[test]
fn a_version_without_a_change_shares_the_stored_package() {
    let stage = Stage::new(&["--executions", "0"]);
    let function = stage.function(&stage.python(), MAIN);
    let before = (stored(&stage), files(&stage));
    for number in 1..=3 {
        assert_eq!(stage.publish(&function), number);
    }
    assert_eq!((stored(&stage), files(&stage)), before);
    let download = |rest: &str| {
        let path = format!("/v1/functions/{function}{rest}?download=true");
        stage.bytes(stage.request(Method::GET, &path))
    };
    // Deleting one version keeps the files that others need.
    assert_eq!(stage.send(stage.request(Method::DELETE, &format!("/v1/functions/{function}/versions/2"))).0, 204);
    for rest in ["", "/versions/1", "/versions/3"] {
        assert!(download(rest) == zip(&[("main.py", MAIN)]), "{rest}");
    }
    stage.update(&function, "def main(**kwargs):\n    return 2\n");
    assert!(download("") == zip(&[("main.py", "def main(**kwargs):\n    return 2\n")]), "the newest only");
    assert!(download("/versions/3") == zip(&[("main.py", MAIN)]));
}

#[test]
fn the_command_line_shows_units_of_the_interface() {
    let stage = Stage::new(&["--executions", "0"]);
    let function = stage.function(&stage.python(), MAIN);
    assert_eq!(stage.publish(&function), 1);
    stage.update(&function, "def main(**kwargs):\n    return 2\n");
    let run = |args: &[&str]| drop(stage.env.run(args).success());
    run(&["function", "version", "download", "f", "--version", "1", "--to", "one.zip"]);
    let file = std::fs::File::open(stage.env.work_dir().join("one.zip")).unwrap();
    let mut archive = zip::ZipArchive::new(file).unwrap();
    let text = std::io::read_to_string(archive.by_name("main.py").unwrap()).unwrap();
    assert_eq!((archive.len(), text.as_str()), (1, MAIN));
    run(&["function", "version", "download", "f", "--part", "source", "--to", "source.zip"]);
    let file = std::fs::File::open(stage.env.work_dir().join("source.zip")).unwrap();
    let mut archive = zip::ZipArchive::new(file).unwrap();
    let mut inner = Vec::new();
    std::io::copy(&mut archive.by_name("package.zip").unwrap(), &mut inner).unwrap();
    assert!(inner == zip(&[("main.py", "def main(**kwargs):\n    return 2\n")]), "the zip that went in");

    // New code from the command line becomes the head of the interface, and its aliases move along.
    stage.json(Method::POST, "/v1/aliases", &json!({ "name": "newest", "function_id": function }), 201);
    stage.env.write_file("main.py", "def main(**kwargs):\n    return 3\n");
    run(&["function", "version", "update", "--name", "f", "--code", "main.py"]);
    let body = json!({ "function_alias": "newest", "sync": true });
    let execution = stage.json(Method::POST, "/v1/executions", &body, 201);
    assert!(execution["result"].as_str().unwrap().starts_with("{\"output\": 3, \"duration\": "), "{execution}");
    let shown = stage.json(Method::GET, &format!("/v1/functions/{function}"), &json!({}), 200);
    assert_eq!(shown["code"], json!({ "source": "package" }), "no checksum of a zip that never was");
}
