//! The documents of seed 003, verbatim except for one level of indentation.

pub const HELLO: &str = r#"apiVersion: fission.io/v1
kind: Function
metadata:
  name: hello
  namespace: default
spec:
  environment:
    name: python-27
    namespace: default
  package:
    packageref:
      name: hello-pkg
      namespace: default
    functionName: hello.main

---
apiVersion: fission.io/v1
kind: Package
metadata:
  name: hello-pkg
  namespace: default
spec:
  source:
    url: archive://hello-archive
  buildcmd: "./build.sh"
  environment:
    name: python-27
    namespace: default
status:
  buildstatus: pending

---
kind: ArchiveUploadSpec
name: hello-archive
include:
  - "hello/*.py"
  - "hello/*.sh"
  - "hello/requirements.txt"
"#;

pub const HELLO_TRIGGER: &str = r#"---
apiVersion: fission.io/v1
kind: HTTPTrigger
metadata:
  name: d2aa2980-71d5-40b4-a490-4969646cbf7f
  namespace: default
spec:
  functionref:
    name: hello
    type: name
    version: latest
  host: ""
  method: GET
  relativeurl: /hello
"#;

/// A function with its own package and archive, like `foo` and `bar` of scenario 3.
pub fn own_package(name: &str) -> String {
    HELLO.replace("hello", name)
}

/// A function of scenario 4.
pub fn sharing(name: &str) -> String {
    let (function, _) = HELLO.split_once("\n---\n").unwrap();
    let shared = function.replace("hello-pkg", "src-pkg").replace("hello.main", &format!("{name}.main"));
    format!("{}\n---\n", shared.replace("name: hello", &format!("name: {name}")))
}

/// The package and the archive of scenario 4.
pub const SRC_PKG: &str = r#"apiVersion: fission.io/v1
kind: Package
metadata:
  name: src-pkg
  namespace: default
spec:
  source:
    url: archive://src-archive
  buildcmd: "./build.sh"
  environment:
    name: python-27
    namespace: default
status:
  buildstatus: pending

---
kind: ArchiveUploadSpec
name: src-archive
include:
  - "src/*.py"
  - "src/*.sh"
  - "src/requirements.txt"
"#;

pub fn trigger(function: &str) -> String {
    HELLO_TRIGGER
        .replace("hello", function)
        .replace("d2aa2980-71d5-40b4-a490-4969646cbf7f", &format!("{function}-trigger"))
}
