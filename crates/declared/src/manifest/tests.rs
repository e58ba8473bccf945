mod forms;

use std::fs;

use milepost_model::unit_put::UnitPut;
use serde_json::json;

use super::super::testing::{Folder, claims, function, keys as keys_of, package};
use super::super::{FileSet, Problem, Selection, TreeSlot};
use super::keys::tests::check_schema;
use super::*;

/// A folder with `hello/hello.py`, `hello/README.md` and `public/index.html` in it.
fn location() -> (Folder, Location) {
    let folder = Folder::new();
    for path in ["hello/hello.py", "hello/README.md", "public/index.html"] {
        folder.write(path, "some text");
    }
    let location = Location { file: PathBuf::from("milepost.yaml"), folder: folder.path().to_owned() };
    (folder, location)
}

/// Also validates the manifest against the JSON schema.
pub fn parse(text: &str) -> Result<Declared> {
    let (_folder, location) = location();
    let (declared, errors) = look_at_text(text, location);
    check_schema(text, &errors);
    if errors.is_empty() { Ok(declared) } else { Err(Error::Mistakes { errors, warnings: Vec::new() }) }
}

pub fn mistakes_of(text: &str) -> Vec<Problem> {
    let (_folder, location) = location();
    look_at_text(text, location).1
}

/// Checks the mistakes, each as `line: message | hint`.
#[track_caller]
fn refused_all(text: &str, expected: &[&str]) {
    let (folder, location) = location();
    let (_, errors) = look_at_text(text, location);
    assert!(!errors.is_empty(), "a manifest that is wrong:\n{text}");
    check_schema(text, &errors);
    let folder = folder.path().display().to_string();
    let tidy = |problem: &Problem| {
        let hint = problem.hint.as_ref().map(|hint| format!(" | {hint}")).unwrap_or_default();
        format!("{}: {}{hint}", problem.place.line, problem.message).replace(&folder, "DIR")
    };
    assert_eq!(errors.iter().map(tidy).collect::<Vec<_>>(), expected, "of\n{text}");
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    refused_all(text, &[expected]);
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
fn reads_the_manifest_of_the_design() {
    let manifest = parse(WHOLE).expect("a good manifest");
    assert_eq!(manifest.app.as_ref().map(ToString::to_string).as_deref(), Some("shop"));
    assert_eq!(manifest.deployment, Deployment { id: "milepost.yaml".to_owned(), name: "milepost.yaml".to_owned() });
    let UnitPut::Config(config) = &manifest.units[0].put.unit else { panic!("the configuration") };
    assert_eq!(config.document, Some(json!({"greeting": "hi", "deep": {"list": [1, 2.5, null, "x"]}})));
    assert_eq!(claims(&manifest), ["secret DATABASE_URL"]);
    assert_eq!(
        keys_of(&manifest),
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
    let put = function(&manifest, "hello");
    assert_eq!(package(&manifest, "hello-pkg").1[0].0, TreeSlot::Code);
    assert_eq!((put.memory, put.timeout_ms), (Some(128 << 20), Some(10_000)));
    assert_eq!(
        serde_json::to_value(&put.variables).expect("JSON"),
        json!({"MODE": "fast", "LEVEL": "1.10", "DEBUG": "true"})
    );
    assert_eq!(
        serde_json::to_value(&put.scale).expect("JSON"),
        json!({"min": 0, "max": 8, "concurrency": 1, "idleMs": 300_000})
    );
    let at = |at: usize| &manifest.units[at].put.unit;
    let (UnitPut::Static(page), UnitPut::Static(folder)) = (at(4), at(5)) else { panic!("static items") };
    assert!(page.file && !folder.file);
    let UnitPut::Route(route) = at(7) else { panic!("a route") };
    assert_eq!(route.target.version.to_string(), "@stable");
    let UnitPut::Route(any) = at(8) else { panic!("a route") };
    assert!(any.prefix && any.methods.is_empty() && any.target.is_pinned());
    let unresolved: Vec<String> = manifest.unresolved().iter().map(|reference| reference.key.to_string()).collect();
    assert_eq!(unresolved, ["package common", "function orders", "function report"]);
}

#[test]
fn reads_environments_packages_and_builds() {
    let text = r#"
deployment: { name: shop of ann, uid: "42" }
environments:
  py: { runtime: python, interpreter: "3.12", builder: make }
  js: node
packages:
  common: { env: py, src: hello, build: ./build.sh, include: ["*.py"], exclude: ["*.md"] }
  made: { env: js, deploy: public }
  both: { env: py, src: hello, deploy: public }
  plain: { env: py, src: hello }
functions:
  a: { package: common, entrypoint: a.main }
  b: { env: py, src: hello, build: make b }
secrets: [TOKEN, KEY]
routes:
  - GET /a: { function: a, name: the-a, methods: [put, post], host: a.example, prefix: true }
"#;
    let manifest = parse(text).expect("a good manifest");
    assert_eq!(manifest.deployment, Deployment { id: "42".to_owned(), name: "shop of ann".to_owned() });
    assert_eq!(claims(&manifest), ["secret KEY", "secret TOKEN"]);
    let slots = |name: &str| {
        let (put, trees) = package(&manifest, name);
        (put.build_command.as_deref(), trees.iter().map(|(slot, _)| *slot).collect::<Vec<_>>())
    };
    assert_eq!(slots("common"), (Some("./build.sh"), vec![TreeSlot::Source]));
    assert_eq!(slots("made"), (None, vec![TreeSlot::Deployment]));
    assert_eq!(slots("both"), (None, vec![TreeSlot::Source, TreeSlot::Deployment]));
    assert_eq!(slots("plain"), (None, vec![TreeSlot::Code]));
    assert_eq!(slots("b-pkg"), (Some("make b"), vec![TreeSlot::Source]));
    let FileSet::Files(Selection { include, exclude, gitignore: true, .. }) = &package(&manifest, "common").1[0].1
    else {
        panic!("files, and .gitignore counts")
    };
    assert_eq!((include.as_slice(), exclude.as_slice()), (&["*.py".to_owned()][..], &["*.md".to_owned()][..]));
    assert!(function(&manifest, "a").environment.is_none());
    assert!(manifest.unresolved().is_empty(), "{:?}", manifest.unresolved());
    let UnitPut::Environment(spec) = &manifest.units[0].put.unit else { panic!("an environment") };
    assert_eq!((spec.interpreter.as_str(), spec.builder.as_str()), ("3.12", "make"));
    let last = manifest.units.last().expect("the route");
    assert_eq!(last.key().to_string(), "route the-a");
    let UnitPut::Route(route) = &last.put.unit else { panic!("a route") };
    assert_eq!(route.methods.iter().map(String::as_str).collect::<Vec<_>>(), ["GET", "POST", "PUT"]);
    let named = parse("deployment: ann\nconfig: {}\n").expect("a manifest").deployment;
    assert_eq!(named, Deployment { id: "ann".to_owned(), name: "ann".to_owned() });
}

#[test]
fn reports_all_mistakes_in_line_order() {
    refused_all(
        r#"ap: shop
packages:
  p: { src: hello }
functions:
  a: { env: python, src: helo, memory: lots }
  b: { package: p, build: make }
  p: { env: python, src: hello, include: ["*.rb"] }
static:
  - src: public
routes:
  - FETCH /x: a
  - GET /y: { functoin: a }
"#,
        &[
            "1: unknown key `ap` in the manifest | did you mean `app`?",
            "3: package `p` has no `env` | set `env` to python, python3, node, nodejs, binary, or to an environment of the app",
            "5: `src` of function `a`: `DIR/helo` does not exist | paths are relative to the folder of the manifest",
            "5: `memory` of function `a`: `lots` is not an amount of memory; write it like `128Mi`",
            "6: function `b` has both `build` and `package` | move `build` to the package",
            "7: `include` of function `p`: no files match `*.rb` | patterns are relative to `DIR/hello`",
            "9: a static item has no `path` | set the path to serve it at, like `path: /`",
            "11: route `FETCH /x`: `methods`: `FETCH` is not an HTTP method; use GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS, TRACE",
            "12: unknown key `functoin` in route `GET /y` | did you mean `function`?",
        ],
    );
}

#[test]
fn checks_environments_packages_deployment_and_secrets() {
    refused(
        "environments:\n  py: pyton\n",
        "2: `runtime` of environment `py`: there is no runtime called `pyton`; the runtimes are python, node and binary",
    );
    refused(
        "environments:\n  py: {}\n",
        "2: environment `py` has no `runtime` | the runtimes are `python`, `node` and `binary`",
    );
    refused(
        "packages:\n  p: { env: python }\n",
        "2: package `p` has no `src` | set its code with `src: FOLDER`, or prebuilt code with `deploy: FOLDER`",
    );
    refused(
        "packages:\n  p: { env: python, deploy: public, build: make }\n",
        "2: `build` of package `p` has no source to build | set the source with `src`",
    );
    refused(
        "packages:\n  hello-pkg: { env: python, src: hello }\nfunctions:\n  hello: { env: python, src: hello }\n",
        "4: function `hello` needs the package name `hello-pkg` for its own code, but line 2 already uses it | use that package with `package: hello-pkg`, or rename it",
    );
    refused(
        "deployment: { name: x }\n",
        "1: `deployment` has no `uid` | add a `uid` to identify this folder; it may be any string",
    );
    refused("deployment: [x]\n", "1: `deployment` must be a string, not a list | write only `x`");
    refused(
        "secrets: [a/b]\n",
        "1: `secrets`: `a/b` is not a valid secret name: use 1 to 63 letters, digits, `-`, `_` and `.`, starting with a letter, digit or `_`",
    );
    refused(
        "static:\n  - { src: public/index.html, path: /, include: [x] }\n",
        "2: `include` of static item `/` has no effect: `DIR/public/index.html` is a file | use the folder that contains it",
    );
}

#[test]
fn unknown_keys_are_reported_with_the_closest_known_key() {
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
        "4: unknown key `colour` in a static item | valid keys are `src`, `path`, `include`, `exclude`, `index`, `fallback`, `error`, `clean`, `expires`",
    );
    refused(
        "routes:\n  - GET /x: { functoin: hello }\n",
        "2: unknown key `functoin` in route `GET /x` | did you mean `function`?",
    );
    refused(
        "timers:\n  t: { crom: \"@daily\", function: f }\n",
        "2: unknown key `crom` in timer `t` | did you mean `cron`?",
    );
}

#[test]
fn reports_values_of_the_wrong_type() {
    refused(
        "functions: [hello]\n",
        "1: `functions` must be a map, not a list | write each as `hello: { env: python, src: hello }`",
    );
    refused(
        "config: 3\n",
        "1: `config` must be a map, not a number | write each value under a key, like `greeting: hi`",
    );
    refused(
        "- app\n",
        "1: the manifest must be a map, not a list | valid keys are `app`, `deployment`, `version`, `environments`, `packages`, `functions`, `secrets`, `config`, `static`, `routes`, `timers`",
    );
    refused("functions:\n  f: { env: python, src: [a, b] }\n", "2: `src` of function `f` must be a string, not a list");
    refused_all(
        "functions:\n  f: { env: python, src: [helo] }\n",
        &[
            "2: `src` of function `f` must be a string, not a list | write only `helo`",
            "2: `src` of function `f`: `DIR/helo` does not exist | paths are relative to the folder of the manifest",
        ],
    );
    refused("routes:\n  GET /x: f\n", "2: `routes` must be a list, not a map | write each as `- GET /hello: hello`");
    refused(
        "functions:\n  f: { env: python, src: hello, vars: { A: [1] } }\n",
        "2: variable `A` of function `f` must be a string, not a list | write only `1`",
    );
}

#[test]
fn reports_invalid_values_with_the_correct_form() {
    let with = |field: &str| format!("functions:\n  f:\n    env: python\n    src: hello\n    {field}\n");
    refused(
        "app: My Shop\n",
        "1: `app`: `My Shop` is not a valid app name: use 1 to 40 lowercase letters, digits and single hyphens, starting and ending with a letter or digit",
    );
    refused(
        &with("memory: lots"),
        "5: `memory` of function `f`: `lots` is not an amount of memory; write it like `128Mi`",
    );
    refused(&with("timeout: soon"), "5: `timeout` of function `f`: `soon` is not a duration; write it like `10s`");
    refused(
        &with("permission: friends"),
        "5: `permission` of function `f`: `friends` is not a permission; use public, token or internal",
    );
    refused(
        &with("scale: { min: 9, max: 2 }"),
        "5: function `f`: `scale`: min 9 and max 2: max must be at least 1 and not below min",
    );
    refused(
        "functions:\n  f: { env: { A: 1 }, src: hello }\n",
        "2: `env` of function `f` must be the name of an environment, like `python` | set environment variables under `vars`",
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
        "2: `hello` is not a route | write `- GET /hello: hello`, or `- { path: /hello, method: GET, function: hello }`",
    );
    refused(
        "routes:\n  - hello\n",
        "2: a route must be one line with a method, a path and a function | write `- GET /hello: hello`, or `- { path: /hello, method: GET, function: hello }`",
    );
    refused(
        "routes:\n  - GET /x: { function: f, alias: a, version: 1 }\n",
        "2: route `GET /x` has both `alias` and `version` | keep `alias` to follow an alias, or `version` to pin a version",
    );
    refused(
        "timers:\n  t: { cron: \"never\", function: f }\n",
        "2: timer `t`: `cron`: `never` is not a schedule: it has 1 field, not five or six; write five fields like `0 3 * * *`",
    );
}

#[test]
fn reports_missing_keys_on_the_line_of_their_item() {
    refused(
        "# nothing yet\n",
        "1: the manifest is empty | valid keys are `app`, `deployment`, `version`, `environments`, `packages`, `functions`, `secrets`, `config`, `static`, `routes`, `timers`",
    );
    refused(
        "functions:\n  f: { env: python }\n",
        "2: function `f` has no `src` | set its code with `src: f/`, or a shared package with `package: NAME`",
    );
    refused(
        "functions:\n  f: { src: hello }\n",
        "2: function `f` has no `env` | set `env` to python, python3, node, nodejs, binary, or to an environment of the app",
    );
    refused(
        "functions:\n  f: { src: hello, package: p, env: python }\n",
        "2: function `f` has both `src` and `package` | keep `src` for its own code, or `package` for a shared package",
    );
    refused(
        "functions:\n  f:\n    env: python\n    src: helo\n",
        "4: `src` of function `f`: `DIR/helo` does not exist | paths are relative to the folder of the manifest",
    );
    refused("static:\n  - path: /\n", "2: a static item has no `src` | set a folder or a file, like `src: public`");
    refused(
        "static:\n  - src: public\n",
        "2: a static item has no `path` | set the path to serve it at, like `path: /`",
    );
    refused(
        "routes:\n  - GET /x: { alias: a }\n",
        "2: route `GET /x` has no `function` | set the function with `function: hello`",
    );
}

#[test]
fn rejects_duplicate_paths_and_routes() {
    refused(
        "static:\n  - { src: public, path: /a }\n  - { src: hello, path: /a/ }\n",
        "3: `/a` is already served by the static item on line 2 | give one of them another `path`",
    );
    refused(
        "routes:\n  - GET /x: f\n  - GET /x: g\n",
        "3: duplicate route `GET /x`, first declared on line 2 | keep one of them",
    );
    refused(
        "routes:\n  - GET /x: f\n  - { path: /x, method: GET, host: a.example.com, function: g }\n",
        "3: duplicate route `GET /x`, first declared on line 2 | give one of them another `name`",
    );
    refused(
        "routes:\n  - { path: /x, method: GET, host: a.example.com, function: f }\n  - GET /x: g\n",
        "3: duplicate route `GET /x`, first declared on line 2 | give one of them another `name`",
    );
    let once = "  - { path: /x, method: GET, host: a.example.com, function: f }\n";
    refused(
        &format!("routes:\n{once}{once}"),
        "3: duplicate route `GET /x`, first declared on line 2 | keep one of them",
    );
}

#[test]
fn finds_references_to_missing_functions() {
    let known = "functions:\n  hello: { env: python, src: hello }\nroutes:\n  - GET /: hello\n";
    assert!(parse(known).expect("a manifest").unresolved().is_empty());
    let unknown = format!("{known}timers:\n  t: {{ cron: '0 3 * * *', function: helo }}\n");
    let declared = parse(&unknown).expect("a manifest");
    let unresolved = declared.unresolved();
    let Problem { place, message, hint, .. } = declared.unknown(unresolved[0], &[], Some("default"));
    assert_eq!(place.to_string(), "milepost.yaml:6");
    assert_eq!(message, "timer `t` refers to function `helo`, which is not in the manifest");
    assert_eq!(hint.as_deref(), Some("did you mean `hello`?"));
}

#[test]
fn hints_list_existing_units_when_no_name_is_similar() {
    let hints = |text: &str, app_has: &[&str]| {
        let declared = parse(text).expect("a manifest");
        let problems = declared.unresolved().into_iter().map(|found| declared.unknown(found, app_has, Some("default")));
        problems.filter_map(|problem| problem.hint).collect::<Vec<_>>()
    };
    let text =
        "functions:\n  hello: { env: python, src: hello }\n  page: { package: zzz }\nroutes:\n  - GET /: nobody\n";
    let functions = "declare it under `functions:`, or use an existing one: `hello` or `page`";
    let packages = "declare it under `packages:`, or use an existing one: `hello-pkg`";
    assert_eq!(hints(text, &[]), [packages, functions]);
    assert_eq!(hints("routes:\n  - GET /: nobody\n", &[]), ["declare it under `functions:`"]);
    let many = ["f", "e", "d", "c", "b", "a"];
    let like = "declare it under `functions:`, or use an existing one, like `a`, `b`, `c`, `d`, `e`";
    assert_eq!(hints("routes:\n  - GET /: nobody\n", &many), [like]);
}

#[test]
fn rejects_invalid_versions() {
    refused(
        "app: shop\nversion: one.two\n",
        "2: `version`: `one.two` is not a semantic version: `one` is not a number; write three numbers, like \
         `1.2.3`, `1.2.3-beta.1` or `1.2.3-beta+123`",
    );
    assert!(parse("app: shop\nversion: 1.0.0-beta.1\n").is_ok());
}

#[test]
fn reports_yaml_errors_with_their_lines() {
    refused("app: shop\nfunctions: {\n", "2: unclosed bracket '{' | check the YAML syntax on this line");
    refused("a: b: c\n", "1: mapping values are not allowed in this context | check the YAML syntax on this line");
    refused("functions:\n\t- x\n", "2: YAML cannot be indented with tabs | indent with spaces");
    refused("app: a\napp: b\n", "2: duplicate key `app` | it is already set on line 1: keep one of them");
    refused(
        "app: a\n---\napp: b\n",
        "3: a manifest must be a single document; `---` starts another | remove the `---`",
    );
}

#[test]
fn suggests_a_manifest_for_known_content() {
    let folder = tempfile::tempdir().expect("a folder");
    let shop = folder.path().join("My Shop");
    fs::create_dir(&shop).expect("a folder");
    assert!(starter(&shop).is_none());
    fs::write(shop.join("index.html"), "hi").expect("a file");
    for made in ["index.html", "main.py", "public/index.html"] {
        fs::create_dir_all(shop.join(made).parent().expect("a parent")).expect("a folder");
        fs::write(shop.join(made), "").expect("a file");
        let text = starter(&shop).expect("a manifest").manifest;
        let location = Location { file: PathBuf::from(FILE_NAME), folder: shop.clone() };
        let (manifest, errors) = look_at_text(&text, location);
        assert_eq!(errors, []);
        check_schema(&text, &[]);
        assert_eq!(manifest.app.map(|app| app.to_string()).as_deref(), Some("my-shop"));
    }
}

#[test]
fn reads_the_examples() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let declared = read_manifest(&examples.join("hello")).expect("a good one");
    let keys = keys_of(&declared);
    assert!(keys.contains(&"function greet".to_owned()), "{keys:?}");
}
