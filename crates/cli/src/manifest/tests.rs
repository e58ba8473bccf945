use std::fs;

use milepost_model::unit_put::UnitPut;
use serde_json::json;

use super::*;

/// A folder with `hello/hello.py` and `public/index.html` in it.
fn place() -> (tempfile::TempDir, Place) {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, text) in [("hello/hello.py", "def main(): pass\n"), ("public/index.html", "<p>hi\n")] {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    let place = Place { file: PathBuf::from("milepost.yaml"), folder: folder.path().to_owned() };
    (folder, place)
}

fn parse(text: &str) -> Result<Manifest, ManifestError> {
    let (_folder, place) = place();
    Manifest::parse(text, place)
}

/// `line: message | hint`
#[track_caller]
fn refused(text: &str, expected: &str) {
    let (_folder, place) = place();
    let folder = place.folder.display().to_string();
    let error = Manifest::parse(text, place).expect_err("a manifest that is wrong");
    let hint = error.hint.map(|hint| format!(" | {hint}")).unwrap_or_default();
    assert_eq!(format!("{}: {}{hint}", error.line, error.message).replace(&folder, "DIR"), expected, "of\n{text}");
}

const WHOLE: &str = r#"
app: shop
version: 1.4.0
functions:
  hello:
    env: python
    src: hello/
    entrypoint: hello.main
    exclude: ["*.md"]
    vars: { MODE: fast, LEVEL: 1.10, DEBUG: true }
    secrets: [DATABASE_URL]
    permission: token
    memory: 128Mi
    timeout: 10s
    scale: { min: 0, max: 8, concurrency: 1, idle: 5m }
  shared:
    package: common
config:
  greeting: hi
  deep: { list: [1, 2.5, null, "x"] }
static:
  - src: public/index.html
    path: /
  - src: public
    exclude: [public/video/very-large-one.mp4]
    path: /static/
    fallback: index.html
routes:
  - GET /hello: hello
  - post,get /orders/{id}: { function: orders, alias: stable }
  - /any: { function: hello, version: v1.0.0, prefix: true }
timers:
  nightly: { cron: "0 3 * * *", zone: Europe/Berlin, function: report }
"#;

#[test]
fn the_manifest_of_the_design_is_read_whole() {
    let manifest = parse(WHOLE).expect("a good manifest");
    assert_eq!(manifest.app.as_ref().map(ToString::to_string).as_deref(), Some("shop"));
    assert_eq!(manifest.config, Some(json!({"greeting": "hi", "deep": {"list": [1, 2.5, null, "x"]}})));
    let keys: Vec<String> = manifest.keys().iter().map(ToString::to_string).collect();
    assert_eq!(
        keys,
        [
            "config",
            "package hello-pkg",
            "function hello",
            "function shared",
            "static /",
            "static /static",
            "route GET /hello",
            "route GET,POST /orders/{id}",
            "route /any",
            "timer nightly",
        ]
    );
    let put = &manifest.functions[0].put;
    assert_eq!((put.memory, put.timeout_ms), (Some(128 << 20), Some(10_000)));
    assert_eq!(
        serde_json::to_value(&put.variables).expect("JSON"),
        json!({"MODE": "fast", "LEVEL": "1.10", "DEBUG": "true"})
    );
    assert_eq!(
        serde_json::to_value(&put.scale).expect("JSON"),
        json!({"min": 0, "max": 8, "concurrency": 1, "idleMs": 300_000})
    );
    assert!(manifest.statics[0].spec.file && !manifest.statics[1].spec.file);
    let UnitPut::Route(route) = &manifest.triggers[1].0.unit else { panic!("a route") };
    assert_eq!(route.target.version.to_string(), "@stable");
    let UnitPut::Route(any) = &manifest.triggers[2].0.unit else { panic!("a route") };
    assert!(any.prefix && any.methods.is_empty() && any.target.is_pinned());
}

#[test]
fn an_unknown_key_is_named_with_its_line_and_the_closest_known_one() {
    refused("app: shop\nfuntions: {}\n", "2: unknown key `funtions` in the manifest | did you mean `functions`?");
    refused(
        "functions:\n  hello:\n    env: python\n    src: hello\n    entrypont: x\n",
        "5: unknown key `entrypont` in function `hello` | did you mean `entrypoint`?",
    );
    refused(
        "functions:\n  hello:\n    env: python\n    src: hello\n    scale: { maximum: 2 }\n",
        "5: unknown key `maximum` in `scale` of function `hello` | did you mean `max`?",
    );
    refused(
        "static:\n  - src: public\n    path: /\n    colour: red\n",
        "4: unknown key `colour` in a static item | the keys are `src`, `path`, `exclude`, `index`, `fallback`, `error`",
    );
    refused(
        "routes:\n  - GET /x: { functoin: hello }\n",
        "2: unknown key `functoin` in route `GET /x` | did you mean `function`?",
    );
    refused("timers:\n  t: { crom: x, function: f }\n", "2: unknown key `crom` in timer `t` | did you mean `cron`?");
}

#[test]
fn a_value_of_the_wrong_kind_is_named_with_its_line() {
    refused("functions: [hello]\n", "1: `functions` must be a map of keys, not a list");
    refused("config: 3\n", "1: `config` must be a map of keys, not a number");
    refused(
        "- app\n",
        "1: the manifest must be a map of keys, not a list | its keys are `app`, `version`, `functions`, `config`, `static`, `routes`, `timers`",
    );
    refused("functions:\n  f: { env: python, src: [a] }\n", "2: `src` of function `f` must be text, not a list");
    refused(
        "routes:\n  GET /x: f\n",
        "2: `routes` must be a list, not a map of keys | write each as `- GET /hello: hello`",
    );
    refused(
        "functions:\n  f: { env: python, src: hello, vars: { A: [1] } }\n",
        "2: variable `A` of function `f` must be text, not a list",
    );
}

#[test]
fn a_value_that_cannot_be_is_named_with_what_would_be_right() {
    let function = |field: &str| format!("functions:\n  f:\n    env: python\n    src: hello\n    {field}\n");
    refused(
        "app: My Shop\n",
        "1: `app`: `My Shop` is not a valid app name: use 1 to 40 lowercase letters, digits and single hyphens, starting and ending with a letter or digit",
    );
    refused(
        &function("memory: lots"),
        "5: `memory` of function `f`: `lots` is not an amount of memory; write it like `128Mi`",
    );
    refused(
        &function("timeout: soon"),
        "5: `timeout` of function `f`: `soon` is not a length of time; write it like `10s`",
    );
    refused(
        &function("permission: friends"),
        "5: `permission` of function `f`: `friends` is not a permission; use public, token or internal",
    );
    refused(
        &function("scale: { min: 9, max: 2 }"),
        "2: function `f`: `scale`: min 9 and max 2: max must be at least 1 and not below min",
    );
    refused(
        &function("build: make"),
        "5: `build` of function `f`: builds come with a later version | run the command yourself, and name what it makes as `src`",
    );
    refused(
        "functions:\n  f: { env: { A: 1 }, src: hello }\n",
        "2: `env` of function `f` names what runs it, like `python` | variables are set under `vars`",
    );
    refused(
        "functions:\n  a/b: { env: python, src: hello }\n",
        "2: `a/b` is not a valid function name: use 1 to 63 letters, digits, `-`, `_` and `.`, starting with a letter, digit or `_`",
    );
    refused(
        "routes:\n  - FETCH /x: f\n",
        "2: route `FETCH /x`: `methods`: `FETCH` is not an HTTP method; use GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS, TRACE",
    );
    refused(
        "routes:\n  - hello: f\n",
        "2: `hello` is not a route | write `- GET /hello: hello`, or `- GET /hello: { function: hello, alias: stable }`",
    );
    refused(
        "routes:\n  - hello\n",
        "2: a route is one line with a method, a path and a function | write `- GET /hello: hello`, or `- GET /hello: { function: hello, alias: stable }`",
    );
    refused(
        "routes:\n  - GET /x: { function: f, alias: a, version: 1 }\n",
        "2: route `GET /x` has both `alias` and `version` | an alias is followed, a version is pinned: keep one",
    );
    refused(
        "timers:\n  t: { cron: \"never\", function: f }\n",
        "2: timer `t`: `cron`: `never` is not a schedule (Invalid pattern: Pattern must have between 5 and 7 fields.); write five fields like `0 3 * * *`",
    );
}

#[test]
fn what_is_missing_is_named_with_the_line_where_it_belongs() {
    refused(
        "# nothing yet\n",
        "1: the manifest is empty | its keys are `app`, `version`, `functions`, `config`, `static`, `routes`, `timers`",
    );
    refused(
        "functions:\n  f: { env: python }\n",
        "2: function `f` has no `src` | name its code with `src: f/`, or a package of the app with `package: NAME`",
    );
    refused(
        "functions:\n  f: { src: hello }\n",
        "2: function `f` has no `env` | say what runs it: python, python3, node, nodejs, binary, wasm, or an environment of the app",
    );
    refused(
        "functions:\n  f: { src: hello, package: p, env: python }\n",
        "2: function `f` has both `src` and `package` | keep `src` for code of its own, or `package` for a package that the app has",
    );
    refused(
        "functions:\n  f:\n    env: python\n    src: helo\n",
        "4: `src` of function `f`: there is no `DIR/helo` | paths start at the folder of the manifest",
    );
    refused("static:\n  - path: /\n", "2: a static item has no `src` | name a folder or a file with `src: public`");
    refused("static:\n  - src: public\n", "2: a static item has no `path` | say where it is served, like `path: /`");
    refused(
        "routes:\n  - GET /x: { alias: a }\n",
        "2: route `GET /x` has no `function` | name the function with `function: hello`",
    );
}

#[test]
fn a_place_that_is_taken_twice_is_refused() {
    refused(
        "static:\n  - { src: public, path: /a }\n  - { src: hello, path: /a/ }\n",
        "3: `/a` is served by another static item already, on line 2 | give one of them another `path`",
    );
    refused(
        "routes:\n  - GET /x: f\n  - GET /x: g\n",
        "3: route `GET /x` is there twice, first on line 2 | keep one of them",
    );
}

#[test]
fn a_manifest_for_a_new_app_must_hold_what_it_names() {
    let known = "functions:\n  hello: { env: python, src: hello }\nroutes:\n  - GET /: hello\n";
    assert!(parse(known).expect("a manifest").check_alone().is_ok());
    let unknown = format!("{known}timers:\n  t: {{ cron: '0 3 * * *', function: helo }}\n");
    let failure = parse(&unknown).expect("a manifest").check_alone().expect_err("an unknown function");
    let expected = "milepost.yaml:6: timer `t` names function `helo`, which is not in the manifest";
    assert_eq!(failure.message(), expected);
}

#[test]
fn what_is_not_yaml_is_named_with_its_line() {
    refused("app: shop\nfunctions: {\n", "2: unclosed bracket '{' | this line is not YAML as it stands");
    refused("a: b: c\n", "1: mapping values are not allowed in this context | this line is not YAML as it stands");
    refused(
        "functions:\n\t- x\n",
        "2: tabs disallowed within this context (block indentation) | this line is not YAML as it stands",
    );
    refused("app: a\napp: b\n", "2: the key `app` is there twice");
    refused("app: a\n---\napp: b\n", "3: a manifest is one document; `---` begins another");
}

#[test]
fn a_folder_without_a_manifest_gets_one_to_start_from() {
    let folder = tempfile::tempdir().expect("a folder");
    let shop = folder.path().join("My Shop");
    fs::create_dir(&shop).expect("a folder");
    assert_eq!(starter(&shop), None);
    assert!(advice(&shop, "up").contains("milepost up examples/hello"), "{}", advice(&shop, "up"));
    fs::write(shop.join("index.html"), "hi").expect("a file");
    for made in ["index.html", "main.py", "public/index.html"] {
        fs::create_dir_all(shop.join(made).parent().expect("a parent")).expect("a folder");
        fs::write(shop.join(made), "").expect("a file");
        let text = starter(&shop).expect("a manifest");
        let place = Place { file: PathBuf::from(FILE_NAME), folder: shop.clone() };
        let manifest = Manifest::parse(&text, place).expect("a manifest that can be read");
        assert_eq!(manifest.app.map(|app| app.to_string()).as_deref(), Some("my-shop"));
    }
}

#[test]
fn the_examples_can_be_read() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let place = Place::find(&examples.join("hello")).expect("a manifest");
    let keys: Vec<String> = Manifest::read(place).expect("a good one").keys().iter().map(ToString::to_string).collect();
    assert!(keys.contains(&"function greet".to_owned()), "{keys:?}");
}
