//! Secret values appear in no output, log, event, error, plan, diff, database file or blob: not in
//! plain text, encoded, or hashed without a key.
#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a step that fails ends the test")]

#[expect(dead_code, reason = "other tests use the rest")]
mod common;

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use common::{World, words};
use data_encoding::{BASE64, BASE64URL_NOPAD, HEXLOWER};
use milepost_model::Digest;
use milepost_testkit::cli::{CliEnv, Output};
use reqwest::header::CONTENT_TYPE;

const FIRST: &str = "zebra-4711-Quokka!plum";
const SECOND: &str = "walrus-0815-Okapi?fig";
/// A value that is refused.
const REFUSED: &str = "lemur-2342-Dingo:kiwi";

/// Collects all output, and fails as soon as it contains a value.
struct Listener {
    world: World,
    needles: Vec<(String, Vec<u8>)>,
}

impl Listener {
    fn new() -> Self {
        let mut env = CliEnv::new();
        env.set("MILEPOST_LOG", "debug");
        let needles = [FIRST, SECOND, REFUSED].iter().flat_map(|value| forms(value)).collect();
        Self { world: World::in_env(env, &[]), needles }
    }

    #[track_caller]
    fn check(&self, place: &str, bytes: &[u8]) {
        for (form, needle) in &self.needles {
            let found = bytes.windows(needle.len()).any(|window| window == needle);
            assert!(!found, "{form} is in {place}:\n{}", String::from_utf8_lossy(bytes));
        }
    }

    #[track_caller]
    fn heard(&self, output: Output) -> Output {
        self.check("an output", output.snapshot().as_bytes());
        output
    }

    #[track_caller]
    fn ok(&self, line: &str) {
        let output = self.heard(self.world.run(line));
        assert!(output.succeeded(), "{}", output.snapshot());
    }

    #[track_caller]
    fn refused(&self, line: &str, input: &str) {
        let words = words(line);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = self.heard(self.world.env.run_with_input(&words, input));
        assert!(!output.succeeded(), "{}", output.snapshot());
    }

    #[track_caller]
    fn set(&self, line: &str, value: &str) {
        let words = words(line);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = self.heard(self.world.env.run_with_input(&words, &format!("{value}\n")));
        assert!(output.succeeded(), "{}", output.snapshot());
    }

    /// Sends a body that the API refuses.
    #[track_caller]
    fn refused_body(&self, body: &str) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let token = fs::read_to_string(self.world.env.data_dir().join("admin.token")).unwrap();
        let url = format!("{}/api/v1/apps/default/changes", self.world.server.api());
        // Creating our client installs the TLS provider that reqwest needs.
        drop(self.world.client());
        let (status, answer) = runtime.block_on(async {
            let request = reqwest::Client::new().post(url).bearer_auth(token.trim());
            let response = request.header(CONTENT_TYPE, "application/json").body(body.to_owned()).send().await.unwrap();
            (response.status(), response.text().await.unwrap())
        });
        assert!(status.is_client_error(), "{status} {answer}");
        self.check("an answer of the API", answer.as_bytes());
    }

    fn check_files(&self, folder: &Path) {
        for path in files_below(folder) {
            match fs::read(&path) {
                Ok(bytes) => self.check(&path.display().to_string(), &bytes),
                // The running server may have removed the file.
                Err(error) => assert_eq!(error.kind(), ErrorKind::NotFound, "{}", path.display()),
            }
        }
    }
}

/// The value in plain text, encoded, and hashed.
fn forms(value: &str) -> Vec<(String, Vec<u8>)> {
    let digest = Digest::of(value.as_bytes());
    let forms = [
        ("the value", value.as_bytes().to_vec()),
        ("its hex", HEXLOWER.encode(value.as_bytes()).into_bytes()),
        ("its base64", BASE64.encode(value.as_bytes()).trim_end_matches('=').into()),
        ("its base64url", BASE64URL_NOPAD.encode(value.as_bytes()).into_bytes()),
        ("its SHA-256", digest.as_bytes().to_vec()),
        ("its SHA-256 in hex", digest.hex().into_bytes()),
        ("its SHA-256 in base64", BASE64.encode(digest.as_bytes()).trim_end_matches('=').into()),
    ];
    forms.into_iter().map(|(form, bytes)| (format!("{form} ({value})"), bytes)).collect()
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    // The running server may have removed the folder.
    let Ok(entries) = fs::read_dir(folder) else { return files };
    for entry in entries.flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files.extend(files_below(&path)),
            Ok(kind) if kind.is_file() => files.push(path),
            // Sockets and links have no content.
            _ => {}
        }
    }
    files
}

#[test]
fn values_are_nowhere_to_be_seen() {
    let mut listener = Listener::new();
    listener.world.env.write_file("hello.js", "module.exports = () => {}\n");
    listener.set("secret set DATABASE_URL --dry-run", FIRST);
    listener.set("secret set DATABASE_URL", FIRST);
    listener.set("secret set DATABASE_URL", FIRST);
    listener.ok("function create --name hello --env nodejs --code hello.js --secret DATABASE_URL");
    listener.set("secret set DATABASE_URL --dry-run -o json", SECOND);
    listener.set("secret set DATABASE_URL -o json", SECOND);
    listener.ok("function version update --name hello --var MODE=fast --dry-run");
    listener.ok("function version update --name hello --var MODE=fast");
    let now = listener.world.json("app list-version")[0]["createdAt"].as_str().unwrap().to_owned();
    for command in [
        "secret list",
        "diff 1 3",
        "diff live latest",
        "app show",
        "app list-version",
        "app history --limit 1000",
        &format!("app at {now}"),
        "function version list --name hello",
        "function version get --name hello",
        "function get hello",
        "release list",
        "release history",
        "rollback --dry-run",
    ] {
        for format in ["table", "json", "yaml", "name"] {
            listener.ok(&format!("{command} -o {format}"));
        }
    }
    listener.ok("rollback");

    refusals(&listener);

    listener.check_files(&listener.world.env.data_dir());
    listener.world.server.stop();
    let log = listener.world.server.stderr();
    assert!(log.contains("DEBUG"), "the log is not at debug level:\n{log}");
    listener.check("the log", log.as_bytes());
    listener.check_files(&listener.world.env.data_dir());
    // Caches and temporary files of the command line.
    fs::remove_file(listener.world.env.work_dir().join("value.txt")).unwrap();
    listener.check_files(listener.world.env.home());
}

fn refusals(listener: &Listener) {
    let bad_utf8 = [REFUSED.as_bytes(), &[0xff, 0xfe]].concat();
    listener.world.env.write_file("value.txt", bad_utf8);
    // Exceeds the limit of JSON bodies.
    listener.refused("secret set LONG", &REFUSED.repeat(1_700_000));
    listener.refused("secret set 'not a name'", REFUSED);
    listener.refused("secret set DATABASE_URL --expect nosuch", REFUSED);
    listener.refused("secret set OTHER --app 'No Name'", REFUSED);
    listener.refused("secret set OTHER --token wrong", REFUSED);
    listener.refused("secret set OTHER --from-file value.txt", "");
    listener.refused("secret delete DATABASE_URL", "");
}

#[test]
fn a_body_that_cannot_be_read_is_not_repeated() {
    let listener = Listener::new();
    let put = |spec: &str| format!(r#"{{"puts": [{{"name": "OTHER", "kind": "secret", "spec": {spec}}}]}}"#);
    for spec in [
        format!(r#""{REFUSED}""#),
        format!(r#"["{REFUSED}"]"#),
        format!(r#"{{"value": ["{REFUSED}"]}}"#),
        format!(r#"{{"velue": "{REFUSED}"}}"#),
        format!(r#"{{"{REFUSED}": "value"}}"#),
        format!(r#"{{"value": "{REFUSED}""#),
        format!(r#"{{"value": "{REFUSED}"}}, "force": "yes""#),
    ] {
        listener.refused_body(&put(&spec));
    }
}

#[test]
fn keys_and_tokens_are_the_owners_only() {
    let world = World::new();
    for name in ["secret.key", "admin.token", "server.json"] {
        let mode = fs::metadata(world.env.data_dir().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    assert_eq!(fs::metadata(world.env.data_dir()).unwrap().permissions().mode() & 0o777, 0o700);
}
