use serde_json::json;

use super::super::Selection;
use super::super::testing::{Folder, claims, function, keys, package};
use super::*;

/// A project whose `specs/a.yaml` has this text, with the folders that seed 003 refers to.
struct Project(Folder);

impl Project {
    fn new(text: &str) -> Self {
        let folder = Folder::new();
        for name in ["hello", "foo", "bar", "src"] {
            for file in [format!("{name}.py"), "build.sh".to_owned(), "requirements.txt".to_owned()] {
                folder.write(&format!("{name}/{file}"), "some text\n");
            }
        }
        folder.write("specs/a.yaml", text);
        Self(folder)
    }

    fn write(&self, path: &str, text: &str) {
        self.0.write(path, text);
    }

    fn read(&self) -> Result<Declared> {
        read_folder(&self.0.path().join("specs"))
    }
}

#[track_caller]
fn read(text: &str) -> Declared {
    Project::new(text).read().expect("a good folder")
}

const SEED: [&str; 5] = [
    include_str!("seed_003/scenario_1.yaml"),
    include_str!("seed_003/scenario_2.yaml"),
    include_str!("seed_003/scenario_3.yaml"),
    include_str!("seed_003/scenario_4.yaml"),
    include_str!("seed_003/scenario_5.yaml"),
];

#[test]
fn reads_the_documents_of_seed_003_unchanged() {
    let expected: [&[&str]; 5] = [
        &["function hello", "package hello-pkg"],
        &["function hello", "package hello-pkg", "route d2aa2980-71d5-40b4-a490-4969646cbf7f"],
        &["function foo", "package foo-pkg", "function bar", "package bar-pkg"],
        &["function foo", "function bar", "package src-pkg"],
        &["function bar", "package src-pkg"],
    ];
    for (text, expected) in SEED.into_iter().zip(expected) {
        // With the margin of the seed's page, and without.
        for text in [text.to_owned(), margin::without(text).expect("a margin")] {
            let declared = read(&text);
            assert_eq!(keys(&declared), expected);
            assert!(declared.warnings.is_empty(), "{:?}", declared.warnings);
            let id = &declared.deployment.id;
            assert!(declared.app.is_none() && id.starts_with("spec:") && id.ends_with("/specs"), "{id}");
            let unresolved: Vec<String> = declared.unresolved().iter().map(|known| known.key.to_string()).collect();
            assert!(unresolved.iter().all(|key| key == "environment python-27"), "{unresolved:?}");
        }
    }
}

#[test]
fn scenario_1_declares_a_function_and_a_source_package() {
    let project = Project::new(SEED[0]);
    let declared = project.read().expect("a good folder");
    let hello = function(&declared, "hello");
    assert_eq!(hello.entrypoint.as_deref(), Some("hello.main"));
    assert_eq!(hello.package.as_ref().map(|package| package.name.as_str()), Some("hello-pkg"));
    assert_eq!(hello.environment.as_ref().map(|environment| environment.name.as_str()), Some("python-27"));
    assert_eq!(hello.scale, None);
    let (put, trees) = package(&declared, "hello-pkg");
    assert_eq!(put.build_command.as_deref(), Some("./build.sh"));
    let [(TreeSlot::Source, FileSet::Files(Selection { root, include, gitignore: true, .. }))] = trees else {
        panic!("one source: {trees:?}")
    };
    assert_eq!(*root, project.0.path().join("hello"));
    assert_eq!(include.as_slice(), ["*.py", "*.sh", "requirements.txt"]);
    assert_eq!(declared.units[1].place.line, 17);
}

#[test]
fn trigger_of_scenario_2_follows_latest() {
    let declared = read(SEED[1]);
    let UnitPut::Route(route) = &declared.units[2].put.unit else { panic!("a route") };
    assert_eq!(
        serde_json::to_value(route).expect("JSON"),
        json!({"methods": ["GET"], "path": "/hello", "prefix": false, "fission": true, "host": "", "function": "hello", "version": "latest"})
    );
}

/// Output of Fission's command line, including empty fields.
const WRITTEN_BY_TOOLS: &str = r#"
include:
- hello/hello.py
kind: ArchiveUploadSpec
name: hello-py-xyz
---
apiVersion: fission.io/v1
kind: Environment
metadata:
  creationTimestamp: null
  name: py
  namespace: shop
spec:
  builder:
    command: build
    image: fission/python-builder:1.34
  imagepullsecret: ""
  keeparchive: false
  poolsize: 3
  resources: {}
  runtime:
    image: registry.example.org:5000/fission/python-env:1.34
  version: 3
---
apiVersion: fission.io/v1
kind: Package
metadata:
  creationTimestamp: null
  name: hello-pkg
  namespace: shop
spec:
  deployment:
    checksum: {}
    type: url
    url: archive://hello-py-xyz
  environment:
    name: py
    namespace: shop
  source:
    checksum: {}
status:
  buildstatus: succeeded
  lastUpdateTimestamp: null
---
apiVersion: fission.io/v1
kind: Function
metadata:
  creationTimestamp: null
  name: hello
  namespace: shop
spec:
  InvokeStrategy:
    ExecutionStrategy:
      ExecutorType: poolmgr
      MaxScale: 1
      MinScale: 0
      SpecializationTimeout: 120
      TargetCPUPercent: 0
    StrategyType: execution
  concurrency: 500
  configmaps: null
  environment:
    name: py
    namespace: shop
  functionTimeout: 60
  idletimeout: 120
  package:
    packageref:
      name: hello-pkg
      namespace: shop
      resourceversion: "1"
  requestsPerPod: 1
  resources: {}
  secrets: null
---
apiVersion: fission.io/v1
kind: HTTPTrigger
metadata:
  creationTimestamp: null
  name: hello-http
  namespace: shop
spec:
  createingress: false
  functionref:
    functionweights: null
    name: hello
    type: name
  host: ""
  ingressconfig:
    annotations: null
    host: '*'
    path: /hello
    tls: ""
  method: ""
  methods:
  - GET
  prefix: ""
  relativeurl: /hello
---
apiVersion: fission.io/v1
kind: TimeTrigger
metadata:
  creationTimestamp: null
  name: often
  namespace: shop
spec:
  cron: '@every 5m'
  functionref:
    functionweights: null
    name: hello
    type: name
  method: POST
  subpath: ""
---
apiVersion: fission.io/v1
kind: DeploymentConfig
name: shop-specs
uid: 7a1f4b1e-0c0a-4e8b-9d55-6a2c0a3a3f00
"#;

#[test]
fn reads_tool_output_without_warnings() {
    let declared = read(WRITTEN_BY_TOOLS);
    assert!(declared.warnings.is_empty(), "{:?}", declared.warnings);
    assert_eq!(declared.app.as_ref().map(ToString::to_string).as_deref(), Some("shop"));
    assert_eq!(declared.deployment.id, "7a1f4b1e-0c0a-4e8b-9d55-6a2c0a3a3f00");
    assert_eq!(declared.deployment.name, "shop-specs");
    assert!(declared.unresolved().is_empty(), "{:?}", declared.unresolved());
    let UnitPut::Environment(py) = &declared.units[0].put.unit else { panic!("an environment") };
    assert_eq!(serde_json::to_value(py).expect("JSON"), json!({"runtime": "python"}));
    let (put, trees) = package(&declared, "hello-pkg");
    assert_eq!((put.build_command.as_deref(), trees[0].0), (None, TreeSlot::Deployment));
    let scale = function(&declared, "hello").scale.clone().expect("some scale");
    assert_eq!((scale.min, scale.max, scale.concurrency, scale.idle_ms), (None, None, Some(1), Some(120_000)));
}

/// A function with a package that is embedded in the document.
fn with_function(extra: &str, package: &str) -> Declared {
    read(&format!(
        "apiVersion: fission.io/v1\nkind: Function\nmetadata: {{name: f}}\nspec:\n  environment: {{name: nodejs}}\n  \
         package: {{packageref: {{name: p}}}}\n{extra}---\napiVersion: fission.io/v1\nkind: Package\nmetadata: {{name: p}}\n\
         spec:\n  environment: {{name: nodejs}}\n{package}"
    ))
}

const LITERAL: &str = "  deployment: {literal: Zg==}\n";

#[test]
fn reads_resources_timeouts_and_scale() {
    let resources = "  resources:\n    requests: {memory: 64Mi, cpu: 100m}\n    limits: {memory: 256Mi}\n";
    let times = "  functionTimeout: 90\n  idletimeout: 30\n  requestsPerPod: 4\n  secrets: [{name: TOKEN}]\n";
    let own = "  InvokeStrategy: {ExecutionStrategy: {ExecutorType: newdeploy, MinScale: 2, MaxScale: 5}}\n";
    let declared = with_function(&format!("{resources}{times}{own}"), LITERAL);
    let put = function(&declared, "f");
    assert_eq!((put.memory, put.cpu, put.timeout_ms), (Some(256 << 20), Some(100), Some(90_000)));
    assert_eq!(
        serde_json::to_value(&put.scale).expect("JSON"),
        json!({"min": 2, "max": 5, "concurrency": 4, "idleMs": 30_000})
    );
    assert_eq!(put.secrets.iter().map(UnitName::as_str).collect::<Vec<_>>(), ["TOKEN"]);
    assert_eq!(claims(&declared), ["secret TOKEN"]);
    // With `poolmgr` only `concurrency` is a bound.
    let pool =
        "  concurrency: 20\n  InvokeStrategy: {ExecutionStrategy: {ExecutorType: poolmgr, MinScale: 1, MaxScale: 2}}\n";
    let declared = with_function(pool, LITERAL);
    assert_eq!(serde_json::to_value(&function(&declared, "f").scale).expect("JSON"), json!({"max": 20}));
}

#[test]
fn literals_get_a_file_name_that_the_runtime_loads() {
    let of = |package: &str| {
        let declared = with_function("", package);
        let [(slot, FileSet::Literal { name, bytes })] = package_trees(&declared) else { panic!("a literal") };
        (*slot, name.clone(), bytes.clone())
    };
    let sum = "  deployment: {type: literal, literal: Zg==, checksum: {type: sha256, sum: 252F10C83610EBCA1A059C0BAE8255EBA2F95BE4D1D7BCFA89D7248A82D9F111}}\n";
    assert_eq!(of(sum), (TreeSlot::Deployment, "main.js".to_owned(), b"f".to_vec()));
    assert_eq!(of("  source: {literal: UEsDBA==}\n").1, "code.zip");
}

fn package_trees(declared: &Declared) -> &[(TreeSlot, FileSet)] {
    package(declared, "p").1
}

#[test]
fn the_default_build_command_is_left_to_the_convention() {
    for (command, expected) in [("build", None), ("", None), ("./build.sh", Some("./build.sh"))] {
        let declared = with_function("", &format!("  source: {{literal: Zg==}}\n  buildcmd: \"{command}\"\n"));
        assert_eq!(package(&declared, "p").0.build_command.as_deref(), expected);
    }
}

#[test]
fn archives_are_relative_to_rootdir_and_may_be_a_single_zip() {
    let specs = |archive: &str| {
        format!("{}---\nkind: ArchiveUploadSpec\nname: a\n{archive}", SEED_PACKAGE.replace("ARCHIVE", "archive://a"))
    };
    let project = Project::new(&specs("rootdir: code\ninclude: [\"lib/**\"]\nexclude: [\"lib/tests/\"]\n"));
    project.write("code/lib/a.js", "a");
    project.write("code/lib/tests/t.js", "t");
    let declared = project.read().expect("a good folder");
    let [(_, FileSet::Files(selection))] = package_trees(&declared) else { panic!("files") };
    assert_eq!(selection.root, project.0.path().join("code/lib"));
    assert_eq!(
        (selection.include.as_slice(), selection.exclude.as_slice()),
        (&["**".to_owned()][..], &["/tests/".to_owned()][..])
    );
    let project = Project::new(&specs("include: [code.zip]\n"));
    project.write("code.zip", "zip");
    let declared = project.read().expect("a good folder");
    let [(_, FileSet::Files(selection))] = package_trees(&declared) else { panic!("files") };
    assert_eq!(
        *selection,
        Selection {
            root: project.0.path().join("code.zip"),
            include: Vec::new(),
            exclude: Vec::new(),
            documents: Vec::new(),
            keep_archives: false,
            gitignore: true
        }
    );
}

const SEED_PACKAGE: &str = "apiVersion: fission.io/v1\nkind: Function\nmetadata: {name: f}\nspec:\n  environment: {name: nodejs}\n  \
     package: {packageref: {name: p}}\n---\napiVersion: fission.io/v1\nkind: Package\nmetadata: {name: p}\nspec:\n  \
     environment: {name: nodejs}\n  source: {url: ARCHIVE}\n";

#[test]
fn reads_all_documents_of_all_files() {
    let project = Project::new("---\n---\n# nothing here\n---\n");
    project.write("specs/deep/er/one.yml", SEED_PACKAGE.replace("ARCHIVE", "archive://a").as_str());
    project.write(
        "specs/two.yaml",
        "kind: ArchiveUploadSpec\nname: a\ninclude: [hello/]\n---\n\n---\nkind: DeploymentConfig\nname: n\nuid: u\n",
    );
    project.write("specs/.hidden/x.yaml", "{");
    project.write("specs/notes.txt", "{");
    let declared = project.read().expect("a good folder");
    assert_eq!(keys(&declared), ["function f", "package p"]);
    assert_eq!((declared.deployment.id.as_str(), declared.deployment.name.as_str()), ("u", "n"));
    assert_eq!(
        declared.units[1].place.to_string(),
        format!("{}:8", project.0.path().join("specs/deep/er/one.yml").display())
    );
}

/// Checks that the table of what an import keeps covers all keys that are read.
#[test]
fn import_table_covers_all_known_keys() {
    use super::{archive, document, environment, function, package, trigger};
    const TABLE: &str = include_str!("../../../cli/tests/import/every_field/specs/all.yaml");
    // A folder with these is rejected.
    const REFUSED: [&str; 2] = ["oci", "functionweights"];
    let all: [&[&str]; 20] = [
        &archive::KEYS,
        &document::KEYS,
        &document::DEPLOYMENT_KEYS,
        &document::METADATA_KEYS,
        &environment::KEYS,
        &environment::RUNTIME_KEYS,
        &environment::BUILDER_KEYS,
        &function::KEYS,
        &function::PACKAGE_KEYS,
        &function::PACKAGE_REF_KEYS,
        &function::REF_KEYS,
        &function::RESOURCE_KEYS,
        &function::STRATEGY_KEYS,
        &function::EXECUTION_KEYS,
        &package::KEYS,
        &package::ARCHIVE_KEYS,
        &package::CHECKSUM_KEYS,
        &trigger::ROUTE_KEYS,
        &trigger::TIMER_KEYS,
        &trigger::REF_KEYS,
    ];
    for key in all.into_iter().flatten().filter(|key| !REFUSED.contains(key)) {
        assert!(TABLE.contains(&format!("{key}: ")) || TABLE.contains(&format!("{key}:\n")), "{key}");
    }
}

#[test]
fn keys_match_in_any_case_and_the_exact_case_wins() {
    let declared = read(concat!(
        "APIVERSION: fission.io/v1\nKind: HTTPTrigger\nMetadata: {Name: web}\nSpec:\n  RelativeURL: /web\n  METHODS: [get]\n",
        "  FunctionRef: {Name: f, TYPE: name, name: hello}\n",
        "---\napiVersion: fission.io/v1\nkind: Function\nmetadata: {name: hello}\nspec:\n  environment: {name: python}\n",
        "  FUNCTIONTIMEOUT: 80\n  FunctionTimeout: 90\n  Package: {packageRef: {name: p}, FunctionName: main.main}\n",
        "---\nkind: Package\napiVersion: fission.io/v1\nmetadata: {name: p}\nspec:\n  environment: {name: python}\n  Deployment: {Literal: Zg==}\n",
    ));
    let UnitPut::Route(route) = &declared.units[0].put.unit else { panic!("a route") };
    assert_eq!((route.path.as_str(), route.target.function.as_str(), route.methods.len()), ("/web", "hello", 1));
    let hello = function(&declared, "hello");
    assert_eq!((hello.timeout_ms, hello.entrypoint.as_deref()), (Some(90_000), Some("main.main")));
    let told: Vec<_> = declared.warnings.iter().map(|told| (told.place.line, told.message.as_str())).collect();
    assert_eq!(
        told,
        [
            (7, "`Name` of `functionref` of HTTP trigger `web` is ignored"),
            (14, "`FUNCTIONTIMEOUT` of function `hello` is ignored"),
        ]
    );
}

#[test]
fn misspelled_keys_are_still_unknown() {
    let text = "apiVersion: fission.io/v1\nkind: HTTPTrigger\nmetadata: {name: web}\nspec:\n  relativUrl: /web\n  functionref: {name: f}\n";
    let error = Project::new(text).read().expect_err("a key that is misspelled");
    let crate::Error::Mistakes { errors, .. } = error else { panic!("{error:?}") };
    assert!(errors[0].place.to_string().ends_with("a.yaml:5"), "{errors:?}");
    assert!(errors[0].message.contains("unknown key `relativUrl`"), "{errors:?}");
}

#[test]
fn triggers_strip_and_keep_prefixes_as_fission_does() {
    for (url, expected) in [
        ("relativeurl: /a/{id}", ("/a/{id}", false, false)),
        ("prefix: /a", ("/a", true, true)),
        ("prefix: /a/", ("/a/", true, true)),
        ("prefix: /a\n  keepPrefix: true", ("/a", true, false)),
        // Fission only trims literal prefixes.
        ("prefix: /a/{id}", ("/a/{id}", true, false)),
    ] {
        let trigger =
            format!("kind: HTTPTrigger\nmetadata: {{name: web}}\nspec:\n  {url}\n  functionref: {{name: f}}\n");
        let function = concat!(
            "kind: Function\nmetadata: {name: f}\nspec: {environment: {name: python}, package: {packageref: {name: p}}}\n",
            "---\napiVersion: fission.io/v1\n",
            "kind: Package\nmetadata: {name: p}\nspec: {environment: {name: python}, deployment: {literal: Zg==}}\n",
        );
        let declared = read(&format!("apiVersion: fission.io/v1\n{trigger}---\napiVersion: fission.io/v1\n{function}"));
        assert!(declared.warnings.is_empty(), "{:?}", declared.warnings);
        let UnitPut::Route(route) = &declared.units[0].put.unit else { panic!("a route") };
        assert_eq!((route.path.as_str(), route.prefix, route.strip), expected, "{url}");
        assert!(route.fission, "{url}");
    }
}
