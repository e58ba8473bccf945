//! Folders rewritten and applied repeatedly, as specs and as manifests: the state of the app
//! depends only on the last write of each unit, and the history keeps everything.

use std::collections::{BTreeMap, BTreeSet};

use milepost_client::Client;
use milepost_model::snapshot::Unit;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;

use crate::project::{Project, says_word};

/// The state of a folder. There are few names, so that the two folders often collide.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Folder {
    name: &'static str,
    manifest: bool,
    functions: BTreeMap<u8, Function>,
    /// The code of the package that its functions may share.
    shared: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Function {
    code: Code,
    memory: u8,
    own_environment: bool,
    secret: bool,
    route: Option<u8>,
    timer: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Code {
    /// Its own code, which returns this word.
    Own(u8),
    /// Its own code, with a build.
    Built(u8),
    Shared,
}

fn folders() -> impl Strategy<Value = Vec<Folder>> {
    let code =
        prop_oneof![3 => (0..2_u8).prop_map(Code::Own), 1 => (0..2_u8).prop_map(Code::Built), 2 => Just(Code::Shared)];
    let function = (code, 0..2_u8, any::<bool>(), any::<bool>(), prop::option::of(0..2_u8), any::<bool>());
    let function = function.prop_map(|(code, memory, own_environment, secret, route, timer)| Function {
        code,
        memory,
        own_environment,
        secret,
        route,
        timer,
    });
    let functions = prop::collection::btree_map(0..3_u8, function, 0..3);
    let name = prop_oneof![3 => Just("red"), 1 => Just("blue")];
    let folder = (name, any::<bool>(), functions, 0..2_u8).prop_map(|(name, manifest, functions, shared)| Folder {
        name,
        manifest,
        functions,
        shared,
    });
    prop::collection::vec(folder, 3..=4)
}

impl Folder {
    fn environment(&self, function: &Function) -> String {
        if function.own_environment { format!("{}-py", self.name) } else { "python".to_owned() }
    }

    /// The packages by name: environment, code, and whether it is built.
    fn packages(&self) -> BTreeMap<String, (String, u8, bool)> {
        let package = |(number, function): (&u8, &Function)| match function.code {
            Code::Own(word) => (format!("f{number}-pkg"), (self.environment(function), word, false)),
            Code::Built(word) => (format!("f{number}-pkg"), (self.environment(function), word, true)),
            Code::Shared => (format!("{}-shared", self.name), ("python".to_owned(), self.shared, false)),
        };
        self.functions.iter().map(package).collect()
    }

    fn package_of(&self, number: u8, function: &Function) -> String {
        match function.code {
            Code::Shared => format!("{}-shared", self.name),
            _ => format!("f{number}-pkg"),
        }
    }

    fn has_environment(&self) -> bool {
        self.functions.values().any(|function| function.own_environment)
    }

    /// Writes the folder and returns the command that applies it.
    fn write(&self, project: &Project, app: &str) -> String {
        let place = format!("{app}-{}", self.name);
        if self.manifest {
            project.file(&format!("{place}.yaml"), &self.manifest());
            return format!("deploy {place}.yaml");
        }
        project.file(&format!("{place}/all.yaml"), &self.specs());
        format!("spec version apply --specdir {place}")
    }

    fn manifest(&self) -> String {
        let mut text = format!("deployment: {{ uid: {0}, name: {0} }}\n", self.name);
        if self.has_environment() {
            text += &format!("environments:\n  {}-py: python\n", self.name);
        }
        text += "packages:\n";
        for (name, (environment, word, built)) in self.packages() {
            let build = if built { ", build: ./build.sh" } else { "" };
            text += &format!("  {name}: {{ env: {environment}, src: words/{word}{build} }}\n");
        }
        text += "functions:\n";
        for (number, function) in &self.functions {
            let (package, environment) = (self.package_of(*number, function), self.environment(function));
            text += &format!(
                "  f{number}:\n    package: {package}\n    env: {environment}\n    entrypoint: main.main\n    memory: {}Mi\n",
                64 + function.memory
            );
            if function.secret {
                text += &format!("    secrets: [S{number}]\n");
            }
        }
        text += "routes:\n";
        for (number, path) in self.functions.iter().filter_map(|(number, function)| Some((number, function.route?))) {
            text += &format!("  - GET /f{number}/{path}: {{ function: f{number}, name: r{number} }}\n");
        }
        text += "timers:\n";
        for (number, _) in self.functions.iter().filter(|(_, function)| function.timer) {
            text += &format!("  t{number}: {{ cron: \"{number} 3 * * *\", function: f{number} }}\n");
        }
        text
    }

    fn specs(&self) -> String {
        let object = |kind: &str, name: &str, spec: String| {
            format!("---\napiVersion: fission.io/v1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec:\n{spec}")
        };
        let mut text = format!("kind: DeploymentConfig\nname: {0}\nuid: {0}\n", self.name);
        if self.has_environment() {
            let runtime = "  runtime: {image: fission/python-env}\n".to_owned();
            text += &object("Environment", &format!("{}-py", self.name), runtime);
        }
        let packages = self.packages();
        let words: BTreeSet<u8> = packages.values().map(|(_, word, _)| *word).collect();
        for word in words {
            text += &format!("---\nkind: ArchiveUploadSpec\nname: word-{word}\ninclude: [\"words/{word}/**\"]\n");
        }
        for (name, (environment, word, built)) in packages {
            let (slot, build) = if built { ("source", "  buildcmd: ./build.sh\n") } else { ("deployment", "") };
            let spec = format!(
                "  environment: {{name: {environment}}}\n  {slot}: {{url: \"archive://word-{word}\"}}\n{build}"
            );
            text += &object("Package", &name, spec);
        }
        for (number, function) in &self.functions {
            let (package, environment) = (self.package_of(*number, function), self.environment(function));
            let mut spec = format!(
                "  environment: {{name: {environment}}}\n  package: {{functionName: main.main, packageref: {{name: {package}}}}}\n  \
                 resources: {{limits: {{memory: {}Mi}}}}\n",
                64 + function.memory
            );
            if function.secret {
                spec += &format!("  secrets: [{{name: S{number}}}]\n");
            }
            text += &object("Function", &format!("f{number}"), spec);
            let target = format!("  functionref: {{type: name, name: f{number}}}\n");
            if let Some(path) = function.route {
                let spec = format!("  relativeurl: /f{number}/{path}\n  method: GET\n{target}");
                text += &object("HTTPTrigger", &format!("r{number}"), spec);
            }
            if function.timer {
                let spec = format!("  cron: \"{number} 3 * * *\"\n{target}");
                text += &object("TimeTrigger", &format!("t{number}"), spec);
            }
        }
        text
    }
}

/// Units by `kind name`: their owner and their spec, without version numbers.
type State = BTreeMap<String, (String, Value)>;

async fn state(client: &Client, app: &str) -> State {
    let Ok(page) = client.unit_list(app, None, 1000, None).await else { return State::new() };
    assert!(page.next.is_none(), "all units on one page");
    let told = |unit: Unit| {
        let mut spec = unit.current.spec;
        without_numbers(&mut spec);
        let owner = unit.deployment.map(|owner| owner.id).unwrap_or_default();
        (format!("{} {}", unit.kind, unit.name), (owner, spec))
    };
    // An app keeps its built-in environment once it was named.
    page.items.into_iter().map(told).filter(|(key, _)| key != "environment python").collect()
}

fn without_numbers(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("number");
            fields.values_mut().for_each(without_numbers);
        }
        Value::Array(items) => items.iter_mut().for_each(without_numbers),
        _ => {}
    }
}

/// The versions that an app version lists.
async fn listed(client: &Client, app: &str, version: &str) -> BTreeSet<(String, i64, String)> {
    let version = client.app_version_get(app, version).await.unwrap();
    let object = |object: milepost_model::snapshot::AppObject| {
        (format!("{} {}", object.kind, object.name), object.number, object.digest.to_string())
    };
    version.objects.into_iter().map(object).collect()
}

/// A server, and the result of each folder in an app of its own.
struct World {
    project: Project,
    client: Client,
    apps: usize,
    alone: BTreeMap<Folder, State>,
}

impl World {
    fn new() -> Self {
        let project = Project::new(&[]);
        for word in 0..2 {
            project.file(&format!("words/{word}/main.py"), &says_word(&format!("word {word}")));
            project.file(&format!("words/{word}/build.sh"), "#!/bin/sh\ncp -r $SRC_PKG $DEPLOY_PKG\n");
        }
        let client = project.stage.world.client();
        Self { project, client, apps: 0, alone: BTreeMap::new() }
    }

    fn app(&mut self) -> String {
        self.apps += 1;
        format!("app-{}", self.apps)
    }

    /// Applies a folder to an app and returns the outcome, or none if it was refused.
    fn apply(&self, folder: &Folder, app: &str) -> Option<Value> {
        let line = folder.write(&self.project, app);
        // Unchecked, because functions with missing secrets do not load.
        let output = self.project.run(&format!("{line} --app {app} --allow-conflicts --no-check -o json"));
        if !output.succeeded() {
            // Generated folders are valid, so only a conflict with other units can be refused.
            assert_eq!(output.status, Some(1), "{}\nof {folder:#?}", output.snapshot());
            return None;
        }
        Some(serde_json::from_str(&output.stdout).unwrap())
    }

    async fn alone(&mut self, folder: &Folder) -> State {
        if let Some(known) = self.alone.get(folder) {
            return known.clone();
        }
        let app = self.app();
        self.apply(folder, &app).unwrap_or_else(|| panic!("refused by an empty app: {folder:#?}"));
        let made = state(&self.client, &app).await;
        // Specs and manifests are equivalent.
        let other = Folder { manifest: !folder.manifest, ..folder.clone() };
        if let Some(known) = self.alone.get(&other) {
            assert_eq!(*known, made, "{folder:#?}");
        }
        self.alone.insert(folder.clone(), made.clone());
        made
    }

    async fn check(&mut self, sequence: &[Folder]) {
        let app = self.app();
        // In half of the cases, a unit made by hand exists first, which a folder may take over.
        let by_hand = sequence.len() % 2;
        if by_hand == 1 {
            self.project.stage.world.ok(&format!("app create {app}"));
            self.project.stage.world.ok(&format!("environment create red-py --runtime node --app {app}"));
        }
        let mut expected = state(&self.client, &app).await;
        let mut history = Vec::new();
        for folder in sequence {
            let before = state(&self.client, &app).await;
            let Some(outcome) = self.apply(folder, &app) else {
                assert_eq!(state(&self.client, &app).await, before, "a refused apply changed something");
                continue;
            };
            let alone = self.alone(folder).await;
            expected.retain(|key, (owner, _)| owner != folder.name || alone.contains_key(key));
            expected.extend(alone);
            assert_eq!(state(&self.client, &app).await, expected, "after {folder:#?}\nof {sequence:#?}");
            if outcome["changed"] == true {
                let version = outcome["appVersion"].as_str().unwrap().to_owned();
                let objects = listed(&self.client, &app, &version).await;
                history.push((version, objects));
            }
            let again = self.apply(folder, &app).unwrap_or_else(|| panic!("refused when applied twice: {folder:#?}"));
            assert_eq!(again["changed"], false, "applied twice: {folder:#?}");
        }
        for (version, objects) in &history {
            assert_eq!(listed(&self.client, &app, version).await, *objects, "app version {version} is another now");
        }
        if !history.is_empty() {
            let versions = self.client.app_version_list(&app, 1000, None).await.unwrap();
            assert_eq!(
                versions.items.len(),
                history.len() + by_hand,
                "one app version for each apply that changed something"
            );
        }
    }
}

#[test]
fn an_app_follows_from_the_last_apply_of_each_folder_and_history_keeps_all() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut world = World::new();
    let config = Config { cases: 12, max_shrink_iters: 30, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new(config);
    let world = std::cell::RefCell::new(&mut world);
    let outcome = runner.run(&folders(), |sequence| {
        let mut world = world.borrow_mut();
        // A failed assertion panics, which proptest counts as a failed case and shrinks.
        runtime.block_on(world.check(&sequence));
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}
