//! Mistakes in the folder and missing units of the app are reported in one run.

use crate::project::{Project, says_word};
use crate::seed::{HELLO, HELLO_TRIGGER};

const SHOP: &str = "\
app: shop
functions:
  hello: { env: pyton, src: hello, memory: lots }
  other: { package: shraed }
secrets: [API_KEY]
routes:
  - GTE /: hello
  - GET /a: { function: hello, alias: stabel }
  - GET /b: { function: base, version: 7 }
  - GET /c: nobody
timers:
  t: { cron: never, function: base, alias: stable }
";

/// An app `shop` with a function `base`, its alias `stable`, and a package `shared`.
fn project() -> Project {
    let project = Project::new(&[]);
    project.file("hello/hello.py", &says_word("one"));
    let world = &project.stage.world;
    world.ok("app create shop");
    world.ok("package version create --name shared --app shop --env python --code hello");
    world.ok("function version create --name base --app shop --pkg shared");
    world.ok("function alias create --app shop --name base --alias stable");
    project
}

#[track_caller]
fn told(stderr: &str, expected: &[&str]) {
    for text in expected {
        assert!(stderr.contains(text), "`{text}` is not in\n{stderr}");
    }
}

#[test]
fn a_deploy_reports_mistakes_and_missing_units_together() {
    let project = project();
    project.file("milepost.yaml", SHOP);
    let refused = project.run("deploy --app shop");
    assert_eq!(refused.status, Some(2), "{}", refused.snapshot());
    told(
        &refused.stderr,
        &[
            "Warning: milepost.yaml:5: the manifest refers to secret `API_KEY`, which is not set",
            "milepost.yaml:3: function `hello` refers to environment `pyton`, which is neither in the app nor in the manifest",
            "milepost.yaml:3: `memory` of function `hello`: `lots` is not an amount of memory",
            "milepost.yaml:4: function `other` refers to package `shraed`",
            "Hint: did you mean `shared`?",
            "milepost.yaml:7: route `GTE /`: `methods`: `GTE` is not an HTTP method",
            "milepost.yaml:8: route `GET /a` follows alias `stabel` of function `hello`, which the app does not have",
            "milepost.yaml:9: route `GET /b` refers to version 7 of function `base`, which the app does not have",
            "milepost.yaml:10: route `GET /c` refers to function `nobody`",
            "milepost.yaml:12: timer `t`: `cron`: `never` is not a schedule",
            "8 mistakes; nothing was changed.",
        ],
    );

    // The same when the folder has no mistakes.
    let sound = SHOP.replace(", memory: lots", "").replace("GTE", "GET").replace("never", "\"0 3 * * *\"");
    project.file("milepost.yaml", &sound);
    for line in ["deploy --app shop", "deploy --app shop --dry-run"] {
        let refused = project.run(line);
        assert_eq!(refused.status, Some(2), "{}", refused.snapshot());
        told(&refused.stderr, &["`pyton`", "`shraed`", "`stabel`", "version 7", "`nobody`", "5 mistakes"]);
    }

    // Units of another folder do not hide mistakes, and mistakes do not hide them.
    project.file("other.yaml", "deployment: other\nfunctions:\n  hello: { env: python, src: hello }\n");
    project.stage.world.ok("deploy other.yaml --app shop");
    let owned = "milepost.yaml:3: function `hello` belongs to deployment other";
    told(&project.run("deploy --app shop").stderr, &["`pyton`", "`nobody`", owned, "7 mistakes"]);
    project.file("milepost.yaml", SHOP);
    told(&project.run("deploy --app shop").stderr, &["`pyton`", "`never`", owned, "10 mistakes"]);
    told(&project.run("deploy --app shop --allow-conflicts").stderr, &["`pyton`", "`never`", "8 mistakes"]);
    project.file("milepost.yaml", &sound);

    // An app that does not exist has none of the units.
    let new = project.run("deploy --app new --dry-run");
    assert_eq!(new.status, Some(2), "{}", new.snapshot());
    told(&new.stderr, &["`pyton`", "`shraed`", "function `base`", "`stabel`", "`nobody`", "secret `API_KEY`"]);
}

#[test]
fn an_apply_reports_mistakes_and_missing_units_together() {
    let project = Project::new(&[]);
    project.code("hello", "hello", "one");
    let trigger = HELLO_TRIGGER.replace("version: latest", "alias: stable").replace("method: GET", "method: GTE");
    let hello = HELLO.replace("name: python-27", "name: python-72");
    project.file("specs/hello.yaml", &format!("{hello}{trigger}"));
    for line in ["spec version apply", "spec version apply --dry-run", "spec version validate"] {
        let refused = project.run(line);
        assert_eq!(refused.status, Some(2), "{}", refused.snapshot());
        told(
            &refused.stderr,
            &[
                "function `hello` refers to environment `python-72`, which is neither in the app nor in the folder",
                "package `hello-pkg` refers to environment `python-72`",
                "`GTE` is not an HTTP method",
                "follows alias `stable` of function `hello`, which the app does not have",
                "4 mistakes",
            ],
        );
    }
}

#[test]
fn unusable_files_are_reported_all_at_once() {
    let project = Project::new(&[]);
    for folder in ["one", "two"] {
        project.file(&format!("{folder}/.milepostignore"), "*\n");
    }
    let functions = "functions:\n  a: { env: python, src: one }\n  b: { env: python, src: two }\n";
    let wrong = "timers:\n  t: { cron: never, function: a }\n";
    let unknown = "timers:\n  t: { cron: \"@daily\", function: nobody }\n";
    for (more, count) in [("", 2), (wrong, 3), (unknown, 3)] {
        project.file("milepost.yaml", &format!("{functions}{more}"));
        let refused = project.run("deploy --app shop");
        assert_eq!(refused.status, Some(2), "{}", refused.snapshot());
        told(
            &refused.stderr,
            &["no files to deploy in `one`", "no files to deploy in `two`", &format!("{count} mistakes")],
        );
    }
}

#[test]
fn every_change_warns_about_secrets_without_a_value() {
    let project = Project::new(&[]);
    project.file("milepost.yaml", "functions:\n  f: { env: python, src: f, secrets: [TOKEN] }\nsecrets: [API_KEY]\n");
    project.file("f/main.py", &says_word("one"));
    for line in ["deploy --app shop --dry-run", "deploy --app shop --no-check"] {
        let deploy = project.run(line);
        assert!(deploy.succeeded(), "{}", deploy.snapshot());
        for secret in ["TOKEN", "API_KEY"] {
            let count = deploy.stderr.matches(&format!("milepost secret set {secret}")).count();
            assert_eq!(count, 1, "{secret}: {}", deploy.snapshot());
        }
    }
    let unchanged = project.run("deploy --app shop").stderr;
    assert!(!unchanged.contains("API_KEY"), "nothing changed, so the server was not asked: {unchanged}");
}
