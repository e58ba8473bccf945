//! The downloads that a build inherits from earlier builds of its app.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};

use milepost_model::spec::Runtime as Kind;

use crate::ground::{Ground, order};

/// A wheel with one empty module.
fn wheel() -> Vec<u8> {
    let make = "import sys, zipfile, io
out = io.BytesIO()
with zipfile.ZipFile(out, 'w') as wheel:
    wheel.writestr('tiny.py', '')
    wheel.writestr('tiny-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n')
    wheel.writestr('tiny-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr('tiny-1.0.dist-info/RECORD', '')
sys.stdout.buffer.write(out.getvalue())";
    python(make)
}

fn python(code: &str) -> Vec<u8> {
    let made = std::process::Command::new("python3").args(["-c", code]).output().expect("run python3");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    made.stdout
}

/// What a package index sends for a path: the content type and the body.
type Answer = (&'static str, Vec<u8>);

/// A package index that records the paths of the files that were downloaded from it.
struct Index {
    port: u16,
    files: Arc<Mutex<Vec<String>>>,
}

impl Index {
    /// `answer` gets a path and the index's address.
    fn start(answer: impl Fn(&str, &str) -> Answer + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let files = Arc::<Mutex<Vec<String>>>::default();
        let recorded = files.clone();
        // pip does not cache a response without a date.
        let date = python("import email.utils; print(email.utils.formatdate(usegmt=True), end='')");
        let date = String::from_utf8(date).expect("a date");
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let Some(path) = path_of(&mut stream) else { continue };
                let (kind, body) = answer(&path, &format!("http://127.0.0.1:{port}"));
                if kind == FILE {
                    recorded.lock().expect("the list").push(path);
                }
                let length = body.len();
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\ndate: {date}\r\ncache-control: max-age=86400\r\nconnection: close\r\n\r\n"
                );
                let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
            }
        });
        Self { port, files }
    }

    fn files(&self) -> Vec<String> {
        self.files.lock().expect("the list").clone()
    }
}

const FILE: &str = "application/octet-stream";

/// Reads the head of a request.
fn path_of(stream: &mut TcpStream) -> Option<String> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count == 1) {
        head.push(byte[0]);
    }
    Some(String::from_utf8(head).ok()?.split(' ').nth(1)?.to_owned())
}

#[tokio::test]
async fn the_cache_of_pip_is_shared_by_builds_of_one_app_only() {
    let wheel = wheel();
    let index = Index::start(move |path, _| match path.starts_with("/simple/") {
        true => ("text/html", b"<a href=\"/tiny-1.0-py3-none-any.whl\">tiny-1.0-py3-none-any.whl</a>".to_vec()),
        false => (FILE, wheel.clone()),
    });
    let port = index.port;
    let ground = Ground::with(|settings| {
        let variable = |name: &str, value: String| (name.to_owned(), value);
        settings.build_environment = vec![
            variable("PIP_INDEX_URL", format!("http://127.0.0.1:{port}/simple/")),
            variable("PIP_DISABLE_PIP_VERSION_CHECK", "1".to_owned()),
            // pip caches responses without TLS only from trusted hosts.
            variable("PIP_TRUSTED_HOST", format!("127.0.0.1:{port}")),
        ];
    })
    .await;
    let mut counted = Vec::new();
    for app in ["shop", "shop", "other"] {
        let mut order =
            order(Kind::Python, "pip install -q --target $DEPLOY_PKG tiny && ls $DEPLOY_PKG/tiny.py >/dev/null");
        order.cache = Some(ground.folder.path().join("caches").join(app));
        ground.build_order(&[], order).await.lines();
        counted.push(index.files().len());
    }
    assert_eq!(counted, [1, 1, 2]);
}

/// A package of npm, and its checksum.
fn tarball(name: &str) -> (Vec<u8>, String) {
    let make = format!(
        "import io, json, sys, tarfile
out = io.BytesIO()
with tarfile.open(fileobj=out, mode='w:gz') as tar:
    text = json.dumps({{'name': '{name}', 'version': '1.0.0'}}).encode()
    entry = tarfile.TarInfo('package/package.json'); entry.size = len(text)
    tar.addfile(entry, io.BytesIO(text))
sys.stdout.buffer.write(out.getvalue())"
    );
    let bytes = python(&make);
    let digest = "import base64, hashlib, sys; print(base64.b64encode(hashlib.sha512(bytes.fromhex(sys.argv[1])).digest()).decode(), end='')";
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let made = Command::new("python3").args(["-c", digest, &hex]).output().expect("run python3");
    (bytes, format!("sha512-{}", String::from_utf8(made.stdout).expect("text")))
}

#[tokio::test]
async fn npm_downloads_nothing_twice_when_the_dependencies_change() {
    if Command::new("npm").arg("--version").output().is_err() {
        println!("skipped: npm is not here; `cargo xtask setup` installs it");
        return;
    }
    let packages = ["tiny", "small"].map(|name| (name, tarball(name)));
    let index = Index::start(move |path, address| {
        let of = |(name, _): &&(&str, (Vec<u8>, String))| path[1..].split('-').next() == Some(name);
        let Some((name, (bytes, integrity))) = packages.iter().find(of) else { return ("text/plain", Vec::new()) };
        if path.ends_with(".tgz") {
            return (FILE, bytes.clone());
        }
        let tarball = format!("{address}/{name}-1.0.0.tgz");
        let version =
            serde_json::json!({"name": name, "version": "1.0.0", "dist": {"tarball": tarball, "integrity": integrity}});
        let document =
            serde_json::json!({"name": name, "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}});
        ("application/json", document.to_string().into_bytes())
    });
    let port = index.port;
    let ground = Ground::with(|settings| {
        settings.build_environment = vec![("NPM_CONFIG_REGISTRY".to_owned(), format!("http://127.0.0.1:{port}/"))];
    })
    .await;
    for dependencies in ["{\"tiny\": \"1\"}", "{\"tiny\": \"1\", \"small\": \"1\"}"] {
        let package = format!("{{\"name\": \"x\", \"dependencies\": {dependencies}}}");
        let mut order = order(Kind::Node, &format!("{} && cp -R . $DEPLOY_PKG", milepost_model::build::NODE_INSTALL));
        order.cache = Some(ground.folder.path().join("caches/shop"));
        ground.build_order(&[("package.json", &package)], order).await.lines();
    }
    assert_eq!(index.files(), ["/tiny-1.0.0.tgz", "/small-1.0.0.tgz"]);
}
