//! Round trips: specs to a manifest, and an app to a folder. Deploying the result makes no new
//! versions.
#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a step that fails ends the test")]

#[expect(dead_code, reason = "other tests use the rest")]
mod common;
#[path = "import/every_field.rs"]
mod every_field;
#[path = "import/golden.rs"]
mod golden;
#[path = "spec/project.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod project;
#[path = "spec/seed.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod seed;
#[path = "serving/stage.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod stage;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use project::{BUILD, Project, says_word};
use seed::own_package;
use stage::Stage;

const SCENARIO_2: &str = include_str!("../../declared/src/fission/seed_003/scenario_2.yaml");

pub fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else if entry.file_name() != "expected.txt" {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_imported_folder_makes_nothing_that_the_specs_have_made() {
    let project = Project::new(&[]);
    project.file("specs/hello.yaml", SCENARIO_2);
    project.code("hello", "hello", "one");
    project.apply("hello");
    let history = project.json("app history");
    let imported = project.json("import");
    assert_eq!(imported["lost"], serde_json::json!([]), "{imported}");
    assert_eq!(project.stage.world.ok("deploy"), "Everything up to date.\n");
    assert_eq!(project.json("app history"), history);

    // From now on the manifest declares the same units under the same names.
    project.file("hello/hello.py", &says_word("two"));
    project.stage.world.ok("deploy");
    assert_eq!(project.stage.get("/hello").await.body, "two");
    assert_eq!(project.json("route list")[0]["name"], "d2aa2980-71d5-40b4-a490-4969646cbf7f");
    assert_eq!(project.stage.world.ok("spec version apply"), "Everything up to date.\n");
}

#[test]
fn code_that_stood_in_the_specs_makes_nothing_new_once_it_is_in_files() {
    let project = Project::new(&[]);
    for case in ["code_in_the_specs", "with_losses"] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/import").join(case);
        copy_folder(&from, &project.env().work_dir().join(case));
        let run = |line: &str| {
            let words = common::words(line);
            let output = project.env().run_in(case, &words.iter().map(String::as_str).collect::<Vec<_>>());
            assert!(output.succeeded(), "{}", output.snapshot());
            output.stdout
        };
        if case == "with_losses" {
            // Nothing to install, so the function keeps its own package.
            project.file("with_losses/hello/requirements.txt", "# nothing\n");
            // Functions read it as files. The document itself is not carried over.
            run("config set settings.mode=test");
        }
        run("spec version apply");
        run("import");
        assert_eq!(run("deploy"), "Everything up to date.\n", "{case}");
        // The second folder is another deployment with the same name.
        run("spec version destroy --yes");
    }
}

const MANIFEST: &str = r#"
app: shop
deployment: { name: the shop, uid: "42" }
environments:
  py: { runtime: python, builder: "cp -r $SRC_PKG $DEPLOY_PKG" }
packages:
  shared: { env: python, src: lib, build: ./build.sh }
functions:
  hello:
    env: python
    src: hello
    entrypoint: hello.main
    vars: { MODE: "1.10", "EMPTY": "", QUOTED: "a: b # c" }
    secrets: [TOKEN]
    permission: token
    memory: 256Mi
    cpu: 500
    timeout: 90s
    scale: { min: 0, max: 3, concurrency: 2, idle: 1500ms }
  one: { package: shared, entrypoint: one.main }
  two: { env: py, package: shared, entrypoint: two.main }
  built: { env: py, src: hello, entrypoint: hello.main }
secrets: [OTHER]
config:
  greeting: "yes"
  deep: { list: [1, 2.5, null, "x", [], {}], "odd key: #": -0.5 }
static:
  - { src: public, path: /, fallback: index.html }
  - { src: public/index.html, path: /about }
  - { src: public/a, path: /a, index: x.html, error: x.html, clean: true, expires: 2m }
routes:
  - GET /hello: hello
  - POST,GET /orders/{id}: { function: one, alias: stable }
  - /any: { function: one, version: 1, prefix: true, host: any--shop.localhost, name: any-route }
  - /api: { function: one, prefix: true, strip: true }
  - GET /users/{id}: { function: one, fission: true }
timers:
  nightly: { cron: "0 3 * * *", zone: Europe/Berlin, function: two }
"#;

/// An app with units of every kind.
fn shop() -> Stage {
    let stage = Stage::new("shop", &[], &[]);
    let env = &stage.world.env;
    env.write_file("value", "very-s3cret-value");
    stage.world.ok("app create shop");
    for name in ["TOKEN", "OTHER"] {
        stage.world.ok(&format!("secret set {name} --from-file value"));
    }
    env.write_file("app/hello/hello.py", says_word("hello"));
    env.write_file("app/hello/run.sh", "#!/bin/sh\n");
    env.write_file("app/hello/deep/data.bin", [0, 159, 146, 150]);
    symlink("deep/data.bin", env.work_dir().join("app/hello/link")).unwrap();
    for module in ["one", "two"] {
        env.write_file(&format!("app/lib/{module}.py"), says_word(module));
    }
    env.write_file("app/lib/build.sh", BUILD);
    for script in ["app/hello/run.sh", "app/lib/build.sh"] {
        fs::set_permissions(env.work_dir().join(script), fs::Permissions::from_mode(0o755)).unwrap();
    }
    env.write_file("app/public/index.html", "<p>shop");
    env.write_file("app/public/a/x.html", "<p>a");
    // The alias must exist before a route can use it.
    let without = MANIFEST.replace(", alias: stable", "").replace(", version: 1", "");
    env.write_file("app/milepost.yaml", without);
    stage.world.ok("deploy app");
    stage.world.ok("function alias create --name one --alias stable --version 1");
    env.write_file("app/milepost.yaml", MANIFEST);
    stage.world.ok("deploy app");
    stage
}

#[test]
fn an_export_with_aliases_deploys_to_another_app_after_the_printed_steps() {
    let stage = shop();
    stage.world.ok("export copy");
    let manifest = stage.world.env.work_dir().join("copy/milepost.yaml");
    let whole = fs::read_to_string(&manifest).unwrap().replace("host: any--shop.", "host: any--other.");
    fs::write(&manifest, &whole).unwrap();
    for line in ["deploy copy --app other --dry-run", "deploy copy --app other"] {
        let refused = stage.world.run(line);
        assert_eq!(refused.status, Some(2), "{}", refused.snapshot());
        let told = "follows alias `stable` of function `one`, which the app does not have";
        assert!(refused.stderr.contains(told), "{}", refused.snapshot());
        assert!(refused.stderr.contains("refers to secret `OTHER`, which is not set"), "{}", refused.snapshot());
        assert_eq!(stage.world.run("app get other").status, Some(1), "nothing was made");
    }
    fs::write(&manifest, whole.replace(", alias: stable", "")).unwrap();
    // One function needs a secret that the other app does not have.
    let first = stage.world.run("deploy copy --app other --no-check");
    assert!(first.succeeded() && first.stderr.contains("secret `OTHER`, which is not set"), "{}", first.snapshot());
    stage.world.ok("function alias create --name one --alias stable --app other");
    fs::write(&manifest, whole).unwrap();
    stage.world.ok("deploy copy --app other --no-check");
}

#[test]
fn an_exported_app_makes_nothing_new() {
    let stage = shop();
    let exported = stage.world.json("export copy");
    let warnings: Vec<&str> =
        exported["warnings"].as_array().unwrap().iter().filter_map(|text| text.as_str()).collect();
    let [alias, version] = warnings.as_slice() else { panic!("{exported}") };
    assert!(alias.starts_with("route `GET,POST /orders/{id}` follows alias `stable` of function `one`;"), "{alias}");
    assert!(version.starts_with("route `/any` is pinned to version 1 of function `one`;"), "{version}");
    let copy = stage.world.env.work_dir().join("copy");
    let manifest = fs::read_to_string(copy.join("milepost.yaml")).unwrap();
    let plan = stage.world.json("deploy copy --dry-run");
    assert_eq!((&plan["changed"], &plan["warnings"]), (&false.into(), &serde_json::json!([])), "{plan}\n{manifest}");
    assert_eq!(stage.world.ok("deploy copy"), "Everything up to date.\n");

    // Files are equal byte for byte. Of secrets only the names are exported.
    let hello = copy.join("packages/hello-pkg");
    assert_eq!(fs::read_link(hello.join("link")).unwrap(), Path::new("deep/data.bin"));
    assert_eq!(fs::read(hello.join("deep/data.bin")).unwrap(), [0, 159, 146, 150]);
    let mode = |path: &str| fs::metadata(copy.join(path)).unwrap().permissions().mode() & 0o111;
    assert!(mode("packages/hello-pkg/run.sh") != 0 && mode("packages/hello-pkg/hello.py") == 0);
    assert!(mode("packages/shared/build.sh") != 0);
    assert_eq!(fs::read_to_string(copy.join("static/root/index.html")).unwrap(), "<p>shop");
    for line in [
        "deployment: { name: the shop, uid: \"42\" }",
        "secrets: [TOKEN]",
        "secrets: [OTHER]",
        "src: static/about/index.html",
        "{ function: one, alias: stable }",
        "/any: { function: one, version: 1, prefix: true, host: any--shop.localhost, name: any-route }",
        "/api: { function: one, prefix: true, strip: true }",
        "GET /users/{id}: { function: one, fission: true }",
        "{ src: static/a, path: /a, index: x.html, error: x.html, clean: true, expires: 2m }",
    ] {
        assert!(manifest.contains(line), "`{line}` is not in\n{manifest}");
    }
    assert!(!manifest.contains("very-s3cret"), "{manifest}");

    // The folder exists, so it is not changed.
    let again = stage.world.run("export copy");
    assert_eq!(again.status, Some(2), "{}", again.snapshot());
    assert!(again.stderr.contains("is not empty"), "{}", again.snapshot());
    // An empty folder is accepted, also as the working directory.
    fs::create_dir(stage.world.env.work_dir().join("empty")).unwrap();
    let here = stage.world.env.run_in("empty", &["export", "."]);
    assert!(here.succeeded(), "{}", here.snapshot());
    assert_eq!(
        fs::read_dir(stage.world.env.work_dir().join("empty")).unwrap().count(),
        3,
        "manifest, packages, static"
    );
    // The default folder is named like the app, and exporting an export gives the same.
    stage.world.ok("export");
    assert_eq!(fs::read_to_string(stage.world.env.work_dir().join("shop/milepost.yaml")).unwrap(), manifest);
    let left: Vec<_> =
        fs::read_dir(stage.world.env.work_dir()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with('.')), "{left:?}");
}

#[test]
fn an_older_app_version_is_exported_as_it_was() {
    let stage = shop();
    let env = &stage.world.env;
    let before = stage.world.json("app show head")["id"].as_str().unwrap().to_owned();
    let release = stage.world.json("app show head")["release"]["id"].as_str().unwrap().to_owned();
    env.write_file("app/hello/hello.py", says_word("other"));
    env.write_file("app/hello/more.py", "x = 1\n");
    env.write_file("app/public/index.html", "<p>other");
    env.write_file("app/milepost.yaml", MANIFEST.replace("greeting: \"yes\"", "greeting: no"));
    stage.world.ok("deploy app");
    for (at, folder) in [(before.as_str(), "by-version"), (release.as_str(), "by-release")] {
        let exported = stage.world.json(&format!("export {folder} --at {at}"));
        assert_eq!(exported["appVersion"], before.as_str());
        assert_eq!(exported["warnings"].as_array().map(Vec::len), Some(2), "{exported}");
        let read = |path: &str| fs::read_to_string(env.work_dir().join(folder).join(path)).unwrap();
        assert_eq!(read("packages/hello-pkg/hello.py"), says_word("hello"));
        assert_eq!(read("static/root/index.html"), "<p>shop");
        assert!(!env.work_dir().join(folder).join("packages/hello-pkg/more.py").exists());
    }
    assert_eq!(stage.world.json("deploy by-version --dry-run")["changed"], true);
    stage.world.ok("deploy by-version");
    let diff = stage.world.json(&format!("diff {before} head"));
    let changes = diff["changes"].as_array().unwrap();
    assert!(changes.iter().all(|change| change["change"] == "renumbered"), "{diff}");

    let unknown = stage.world.run("export nowhere --at nosuch");
    assert_eq!(unknown.status, Some(1), "{}", unknown.snapshot());
    assert!(!env.work_dir().join("nowhere").exists());
}

#[test]
fn import_reports_what_a_manifest_cannot_express() {
    let project = Project::new(&[]);
    for name in ["foo", "bar"] {
        project.stage.world.ok(&format!("spec init {name} --name {name}"));
        let archive = own_package(name).replace(&format!("{name}/"), "code/");
        project.file(&format!("{name}/specs/functions.yaml"), &archive);
        project.code(&format!("{name}/code"), name, name);
        project.stage.world.ok(&format!("spec version apply --specdir {name}/specs"));
    }
    // A new version of a package by hand does not change its function (seed 003, CLI scenario 4).
    project.code("foo/other", "foo", "other");
    project.stage.world.ok("package version update --name foo-pkg --src foo/other --buildcmd ./build.sh");
    let zip = common::files::zip_of(&[("main.py", "x = 1\n"), ("main.pyc", "x"), ("__pycache__/y.pyc", "y")]);
    project.env().write_file("odd.zip", zip);
    project.stage.world.ok("package version create --name odd --env python-27 --deploy odd.zip");
    let exported = project.run("export copy");
    assert!(exported.succeeded(), "{}", exported.snapshot());
    for text in [
        "package odd: a deploy of the folder skips __pycache__/y.pyc, main.pyc",
        "function foo: it uses version 1 of package `foo-pkg`; the manifest will use version 2",
        "belong to several deployments: ",
        "foo (",
        "bar (",
    ] {
        assert!(exported.stderr.contains(text), "`{text}` is not in {}", exported.snapshot());
    }
    let manifest = fs::read_to_string(project.env().work_dir().join("copy/milepost.yaml")).unwrap();
    assert!(!manifest.contains("deployment:"), "{manifest}");
    assert!(manifest.contains("python-27: python"), "{manifest}");
    // One of two deployments, or undeclared units, are exported as a deployment with a note.
    project.stage.world.ok("spec version destroy --specdir bar/specs --yes");
    let one = project.run("export one");
    let free = "adds these units to deployment foo: environment python-27, package odd";
    assert!(one.stderr.contains(free), "{}", one.snapshot());
    let manifest = fs::read_to_string(project.env().work_dir().join("one/milepost.yaml")).unwrap();
    assert!(manifest.contains("deployment: { name: foo, uid: "), "{manifest}");

    // The content of a removed unit cannot be read.
    let number = project.json("app show head")["number"].as_i64().unwrap() - 1;
    let before = project.run(&format!("export before --at {number}"));
    assert!(before.succeeded(), "{}", before.snapshot());
    assert!(before.stderr.contains("function bar, version 1, is not exported: "), "{}", before.snapshot());

    let empty = project.run("export --app none");
    assert_eq!(empty.status, Some(1), "{}", empty.snapshot());
}
