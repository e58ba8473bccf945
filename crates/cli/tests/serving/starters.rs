//! The manifests that `init` writes deploy and serve. The frameworks are small stand-ins, installed
//! from a folder of wheels.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use milepost_testkit::cli::CliEnv;
use tempfile::TempDir;

use crate::common::World;
use crate::stage::{Answer, Stage, get};

const FLASK: &str = r#"
class Flask:
    def __init__(self, name):
        self.rules = {}

    def route(self, path):
        return lambda view: self.rules.setdefault(path, view)

    def __call__(self, environ, start_response):
        view = self.rules.get(environ["PATH_INFO"])
        start_response("200 OK" if view else "404 NOT FOUND", [("content-type", "text/plain")])
        return [(view() if view else "nothing here").encode()]
"#;

const FASTAPI: &str = r#"
class FastAPI:
    def __init__(self):
        self.rules = {}

    def get(self, path):
        return lambda view: self.rules.setdefault(path, view)

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            while True:
                message = await receive()
                await send({"type": message["type"] + ".complete"})
                if message["type"] == "lifespan.shutdown":
                    return
        view = self.rules.get(scope["path"])
        body = (await view() if view else "nothing here").encode()
        await send({"type": "http.response.start", "status": 200 if view else 404, "headers": []})
        await send({"type": "http.response.body", "body": body})
"#;

const DJANGO: &str = r#"
def get_wsgi_application():
    def application(environ, start_response):
        start_response("200 OK", [("content-type", "text/plain")])
        return [("django at " + environ["PATH_INFO"]).encode()]
    return application
"#;

/// A server whose builds find only these packages.
fn served(wheels: &[(&str, &str, &str)], files: &[(&str, &str)]) -> (Stage, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    for (name, module, text) in wheels {
        std::fs::write(folder.path().join(format!("{name}-1.0-py3-none-any.whl")), wheel(name, module, text)).unwrap();
    }
    let mut env = CliEnv::new();
    env.unset("MILEPOST_TEST_SEED");
    env.unset("MILEPOST_TEST_CLOCK");
    for (name, value) in
        [("PIP_NO_INDEX", "1"), ("PIP_FIND_LINKS", folder.path().to_str().unwrap()), ("NPM_CONFIG_OFFLINE", "true")]
    {
        env.set(name, value);
    }
    for (path, text) in files {
        env.write_file(&format!("site/{path}"), text);
    }
    let world = World::in_env(env, &[]);
    drop(world.client());
    let client = reqwest::Client::builder().build().unwrap();
    (Stage { world, client, app: "site" }, folder)
}

fn wheel(name: &str, module: &str, text: &str) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let about = format!("{name}-1.0.dist-info");
    let packages = Path::new(module).ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
    let mut files: Vec<(String, String)> =
        packages.map(|above| (format!("{}/__init__.py", above.display()), String::new())).collect();
    files.retain(|(path, _)| *path != module);
    files.extend([
        (module.to_owned(), text.to_owned()),
        (format!("{about}/METADATA"), format!("Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")),
        (format!("{about}/WHEEL"), "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n".to_owned()),
        (format!("{about}/RECORD"), String::new()),
    ]);
    for (path, text) in files {
        zip.start_file(path, zip::write::SimpleFileOptions::default()).unwrap();
        std::io::Write::write_all(&mut zip, text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// The responses after `init` and `deploy`.
async fn answers(stage: &Stage, paths: &[&str]) -> Vec<Answer> {
    stage.world.ok("init site");
    stage.world.ok("deploy site");
    let mut found = Vec::new();
    for path in paths {
        found.push(get(&stage.client, &stage.url(path), "site").await.unwrap());
    }
    found
}

fn told(answers: &[Answer]) -> Vec<(u16, &str)> {
    answers.iter().map(|answer| (answer.status, answer.body.trim())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flask_application_is_recognised() {
    let app = "import os\nfrom flask import Flask\n\nsite: Flask = Flask(__name__)\n\n@site.route('/')\ndef home():\n    return 'home of ' + \
               open('templates/name.txt').read()\n\n@site.route('/deep/page')\ndef deep():\n    return 'deep'\n";
    let files = [("app.py", app), ("templates/name.txt", "flask"), ("tests/test_app.py", "import nothing\n")];
    let (stage, _wheels) = served(&[("flask", "flask/__init__.py", FLASK)], &files);
    let found = answers(&stage, &["/", "/deep/page", "/lost", "/milepost.yaml"]).await;
    assert_eq!(told(&found), [(200, "home of flask"), (200, "deep"), (404, "nothing here"), (404, "nothing here")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_factory_of_a_flask_application_is_recognised() {
    let app = "from flask import Flask\n\ndef create_app():\n    app = Flask(__name__)\n    app.route('/')(lambda: 'made')\n    return app\n";
    let files = [("shop/__init__.py", app), ("requirements.txt", "flask==1.0\n")];
    let (stage, _wheels) = served(&[("flask", "flask/__init__.py", FLASK)], &files);
    assert_eq!(told(&answers(&stage, &["/"]).await), [(200, "made")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fastapi_application_is_recognised() {
    let app =
        "import fastapi\n\napi = fastapi.FastAPI()\n\n@api.get('/items/all')\nasync def items():\n    return 'items'\n";
    let files = [("main.py", app), ("requirements.txt", "fastapi\n")];
    let (stage, _wheels) = served(&[("fastapi", "fastapi/__init__.py", FASTAPI)], &files);
    assert_eq!(told(&answers(&stage, &["/items/all", "/"]).await), [(200, "items"), (404, "nothing here")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_django_project_is_recognised() {
    let manage = "import os\nos.environ.setdefault('DJANGO_SETTINGS_MODULE', 'mysite.settings')\n";
    let wsgi = "from django.core.wsgi import get_wsgi_application\n\napplication = get_wsgi_application()\n";
    let files = [
        ("manage.py", manage),
        ("mysite/__init__.py", ""),
        ("mysite/settings.py", ""),
        ("mysite/wsgi.py", wsgi),
        ("polls/__init__.py", ""),
        ("requirements.txt", "Django==1.0\n"),
    ];
    let (stage, _wheels) = served(&[("django", "django/core/wsgi.py", DJANGO)], &files);
    assert_eq!(told(&answers(&stage, &["/admin/"]).await), [(200, "django at /admin/")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_express_application_is_recognised() {
    let express = "module.exports = () => {\n  const rules = {}\n  const app = (req, res) => { const rule = rules[req.url]; \
                   res.statusCode = rule ? 200 : 404; res.end(rule ? rule() : 'nothing here') }\n  app.get = (path, rule) => { rules[path] \
                   = rule }\n  return app\n}\n";
    let server = "const app = require('express')()\napp.get('/deep/page', () => 'express')\nmodule.exports = app\n";
    let package = r#"{"name":"site","scripts":{"start":"node src/server.js"},"dependencies":{"express":"file:./vendor/express"}}"#;
    let files = [
        ("package.json", package),
        ("src/server.js", server),
        ("public/index.html", "not served by itself"),
        ("vendor/express/package.json", r#"{"name":"express","version":"1.0.0"}"#),
        ("vendor/express/index.js", express),
    ];
    let (stage, _wheels) = served(&[], &files);
    let found = answers(&stage, &["/deep/page", "/"]).await;
    assert_eq!(told(&found), [(200, "express"), (404, "nothing here")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fastify_application_is_recognised() {
    // The parts of a Fastify instance that the worker calls: `ready` and `routing`.
    let fastify = "module.exports = () => {\n  const rules = {}\n  return {\n    get: (path, rule) => { rules[path] = rule },\n    \
                   ready: async () => {},\n    listen: async () => { throw new Error('the port is taken') },\n    routing: (req, res) => { \
                   const rule = rules[req.url]; res.statusCode = rule ? 200 : 404; res.end(rule ? rule() : 'nothing here') },\n    server: {},\n  \
                   }\n}\n";
    let server = "const app = require('fastify')()\napp.get('/deep/page', () => 'fastify')\nmodule.exports = app\n";
    let package = r#"{"name":"site","main":"app.js","dependencies":{"fastify":"file:./vendor/fastify"}}"#;
    let files = [
        ("package.json", package),
        ("app.js", server),
        ("vendor/fastify/package.json", r#"{"name":"fastify","version":"1.0.0"}"#),
        ("vendor/fastify/index.js", fastify),
    ];
    let (stage, _wheels) = served(&[], &files);
    let found = answers(&stage, &["/deep/page", "/"]).await;
    assert_eq!(told(&found), [(200, "fastify"), (404, "nothing here")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vite_project_and_plain_folders_are_recognised() {
    let package = r#"{"scripts":{"build":"vite build"},"devDependencies":{"vite":"^5"}}"#;
    let files = [("package.json", package), ("index.html", "source"), ("src/main.js", "")];
    let (stage, _wheels) = served(&[], &files);
    let said = stage.world.run("init site");
    assert!(said.stderr.contains("npm run build") && said.succeeded(), "{}", said.stderr);
    // The output of `npm run build`.
    stage.world.env.write_file("site/dist/index.html", "built");
    stage.world.env.write_file("site/dist/assets/a.js", "script");
    stage.world.ok("deploy site");
    for (path, body) in [("/", "built"), ("/assets/a.js", "script"), ("/some/route", "built")] {
        let answer = get(&stage.client, &stage.url(path), "site").await.unwrap();
        assert_eq!((answer.status, answer.body.as_str()), (200, body), "{path}");
    }
    type Files = &'static [(&'static str, &'static str)];
    let plain: [(&str, Files, &str, (u16, &str)); 9] = [
        (
            "script",
            &[("index.html", "a page"), ("main.js", "document.title = 'a script of the page'\n")],
            "/main.js",
            (200, "document.title = 'a script of the page'"),
        ),
        (
            "parts",
            &[
                (
                    "index.js",
                    "const text = require('./lib/text')\nmodule.exports = async () => ({ status: 200, body: text })\n",
                ),
                ("lib/text.js", "module.exports = 'two files'\n"),
            ],
            "/",
            (200, "two files"),
        ),
        (
            "data",
            &[("main.py", "def main():\n    return open('data.json').read()\n"), ("data.json", "data beside it")],
            "/",
            (200, "data beside it"),
        ),
        ("page", &[("index.html", "a page")], "/", (200, "a page")),
        ("secret", &[("index.html", "a page")], "/milepost.yaml", (404, "")),
        ("python", &[("main.py", "def main(request):\n    return 'python'\n")], "/", (200, "python")),
        (
            "module",
            &[
                (
                    "main.py",
                    "import other\n\ndef handler(event, context):\n    return {'statusCode': 200, 'body': other.X}\n",
                ),
                ("other.py", "X = 'other'\n"),
            ],
            "/",
            (200, "other"),
        ),
        ("node", &[("index.js", "module.exports = async () => ({ status: 200, body: 'node' })\n")], "/", (200, "node")),
        ("empty", &[], "/", (200, "hello, world")),
    ];
    for (app, files, path, (status, body)) in plain {
        for (file, text) in files {
            stage.world.env.write_file(&format!("{app}/{file}"), text);
        }
        stage.world.ok(&format!("init {app}"));
        stage.world.ok(&format!("deploy {app}"));
        let answer = get(&stage.client, &stage.url(path), app).await.unwrap();
        assert_eq!(answer.status, status, "{app}: {}", answer.body);
        assert!(status != 200 || answer.body.trim() == body, "{app}: {}", answer.body);
    }
}

#[test]
fn init_takes_the_name_of_the_app_from_its_option() {
    let env = CliEnv::new();
    env.run(&["init", "page", "--app", "shop"]).success();
    let manifest = std::fs::read_to_string(env.work_dir().join("page/milepost.yaml")).unwrap();
    assert!(manifest.contains("\napp: shop\nfunctions:\n"), "{manifest}");
    let refused = env.run(&["init", "other", "--app", "Shop!"]);
    assert_eq!(refused.status, Some(2), "{}", refused.snapshot());
    assert!(!env.work_dir().join("other").exists(), "a refused name leaves nothing");
}

#[test]
fn init_writes_the_schema_that_the_manifest_names() {
    const LINE: &str = "# yaml-language-server: $schema=.milepost/milepost.schema.json";
    let env = CliEnv::new();
    env.run(&["init", "page"]).success();
    let folder = env.work_dir().join("page");
    let manifest = std::fs::read_to_string(folder.join("milepost.yaml")).unwrap();
    let schema = folder.join(LINE.split_once('=').unwrap().1);
    assert_eq!(manifest.lines().next(), Some(LINE));
    let reference = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/milepost.schema.json");
    let generated = std::fs::read_to_string(reference).unwrap();
    assert_eq!(std::fs::read_to_string(&schema).unwrap(), generated);
    // An older schema is replaced, and the manifest stays as it is.
    std::fs::write(&schema, "{}").unwrap();
    let again = env.run(&["init", "page", "--schema"]);
    assert_eq!((again.status, again.stderr.contains("Put this line")), (Some(0), false), "{}", again.snapshot());
    assert_eq!(std::fs::read_to_string(&schema).unwrap(), generated);
    assert_eq!(std::fs::read_to_string(folder.join("milepost.yaml")).unwrap(), manifest);
    // A manifest without the line is not changed either.
    env.write_file("old/milepost.yaml", "app: old\n");
    let old = env.run(&["init", "old", "--schema"]);
    assert!(old.stderr.contains(LINE), "{}", old.snapshot());
    assert!(env.work_dir().join("old/.milepost/milepost.schema.json").is_file());
}
