//! What Fission functions expect: variables of their environment, and secrets and configmaps as
//! files.

use crate::stage::Stage;

const SPECS: &str = r#"
apiVersion: fission.io/v1
kind: DeploymentConfig
metadata: {name: files, uid: 0a1b2c3d}
name: files
uid: 0a1b2c3d
---
apiVersion: fission.io/v1
kind: Environment
metadata: {name: python}
spec:
  version: 3
  runtime:
    image: fission/python-env
    container: {env: [{name: COLOUR, value: blue}, {name: SIZE, value: large}]}
---
apiVersion: fission.io/v1
kind: Environment
metadata: {name: node}
spec:
  version: 3
  runtime:
    image: fission/node-env
    podspec: {containers: [{name: node, env: [{name: COLOUR, value: green}]}]}
---
apiVersion: fission.io/v1
kind: Package
metadata: {name: py}
spec: {environment: {name: python}, deployment: {type: url, url: "archive://py"}}
---
kind: ArchiveUploadSpec
name: py
include: ["py/*"]
---
apiVersion: fission.io/v1
kind: Package
metadata: {name: js}
spec: {environment: {name: node}, deployment: {type: url, url: "archive://js"}}
---
kind: ArchiveUploadSpec
name: js
include: ["js/*"]
---
apiVersion: fission.io/v1
kind: Function
metadata: {name: py}
spec:
  environment: {name: python}
  package: {packageref: {name: py}, functionName: main.main}
  secrets: [{namespace: default, name: db}, {namespace: default, name: plain}]
  configmaps: [{namespace: default, name: mail}]
---
apiVersion: fission.io/v1
kind: Function
metadata: {name: js}
spec:
  environment: {name: node}
  package: {packageref: {name: js}}
  secrets: [{namespace: default, name: db}]
  configmaps: [{namespace: default, name: mail}]
---
apiVersion: fission.io/v1
kind: HTTPTrigger
metadata: {name: py}
spec: {relativeurl: /py, method: GET, functionref: {type: name, name: py}}
---
apiVersion: fission.io/v1
kind: HTTPTrigger
metadata: {name: js}
spec: {relativeurl: /js, method: GET, functionref: {type: name, name: js}}
"#;

const PYTHON: &str = r#"
import os

def read(path):
    with open(path) as file:
        return file.read()

def main():
    paths = ["/secrets/default/db/USER", "/secrets/shop/db/USER", "/secrets/default/plain/value",
             "/configs/default/mail/from", "/configs/default/mail/retries"]
    return " ".join([read(path) for path in paths] + [os.environ["COLOUR"], os.environ["SIZE"]])
"#;

const NODE: &str = r#"
const fs = require('fs')
module.exports = async () => ({
  status: 200,
  body: fs.readFileSync('/secrets/default/db/USER') + ' ' + fs.readFileSync('/configs/shop/mail/from') + ' ' + process.env.COLOUR,
})
"#;

#[tokio::test(flavor = "multi_thread")]
async fn functions_of_fission_find_secrets_and_configmaps_as_files() {
    let files = [("specs/all.yaml", SPECS), ("py/main.py", PYTHON), ("js/index.js", NODE)];
    let stage = Stage::new("shop", &[], &files);
    let set = |name: &str, value: &str| {
        let output = stage.world.env.run_with_input(&["secret", "set", name], value);
        assert!(output.succeeded(), "{}", output.snapshot());
    };
    set("db", "{\"USER\": \"shop\", \"../../out\": \"no\"}");
    set("plain", "a value");
    // A missing configmap keeps the release from going live, with a hint.
    let refused = stage.world.run("spec version apply");
    assert_eq!(refused.status, Some(1), "{}", refused.snapshot());
    assert!(refused.stderr.contains("milepost config set mail.KEY=VALUE"), "{}", refused.snapshot());
    stage.world.ok("config set mail.from=shop@example.org mail.retries=3");
    let answer = stage.get("/py").await;
    assert_eq!(answer.body, "shop shop a value shop@example.org 3 blue large");
    assert_eq!(stage.get("/js").await.body, "shop shop@example.org green");
    // A function's own variable takes precedence over the environment's.
    stage.world.ok("function update --name py --var COLOUR=red");
    assert!(stage.get("/py").await.body.ends_with(" red large"));
}
