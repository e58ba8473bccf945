//! Foreign text cannot control the terminal that shows it: neither title, clipboard nor cursor.

use std::io::{Read, Write};
use std::net::TcpListener;

use crate::common::World;
use crate::stage::Stage;

/// Sets the window title, puts a command into the clipboard, and moves the cursor, also with the
/// one-character form.
const EVIL: &str = "\x1b]0;title\x07\x1b]52;c;cm0gLXJmIH4=\x07\x1b[2J\u{9b}2J";

#[track_caller]
fn harmless(output: &milepost_testkit::cli::Output, says: &str) {
    let all = format!("{}{}", output.stdout, output.stderr);
    let obeyed = |letter: char| letter.is_control() && letter != '\n' && letter != '\t';
    assert!(!all.contains(obeyed), "a terminal obeys this: {all:?}");
    assert!(all.contains(says), "{all}");
}

#[tokio::test(flavor = "multi_thread")]
async fn output_of_functions_cannot_control_the_terminal() {
    let main = "EVIL = '\\x1b]0;title\\x07\\x1b]52;c;cm0gLXJmIH4=\\x07\\x1b[2J\\u009b2J'\n\ndef main(request):\n    \
                print('wrote ' + EVIL)\n    raise ValueError('raised ' + EVIL)\n";
    let stage = Stage::new(
        "shop",
        &[],
        &[
            ("milepost.yaml", "app: shop\nfunctions:\n  f: { env: python, src: f/ }\nroutes:\n  - GET /: f\n"),
            ("f/main.py", main),
        ],
    );
    stage.deploy();
    harmless(&stage.world.run("function test f"), "raised \\u{1b}]0;title");
    harmless(&stage.world.run("function test f -i"), "raised \\u{1b}]0;title");
    let execution = stage.world.run("execution create f -o json");
    harmless(&execution, "raised");
    let id = stage.world.json("execution list")[0]["id"].as_str().unwrap().to_owned();
    for line in [
        format!("execution logs {id}"),
        format!("execution logs {id} -o json"),
        "logs".to_owned(),
        "logs -o json".to_owned(),
    ] {
        harmless(&stage.world.run(&line), "wrote ");
    }
    harmless(&stage.world.run(&format!("execution get {id}")), "raised");
}

#[test]
fn output_of_builds_cannot_control_the_terminal() {
    let mut env = milepost_testkit::cli::CliEnv::new();
    env.unset("MILEPOST_TEST_CLOCK");
    let world = World::in_env(env, &[]);
    world.env.write_file("src/main.py", "x = 1\n");
    world.env.write_file("src/evil.txt", format!("wrote {EVIL}\nand more {EVIL}"));
    world.env.write_file(
        "milepost.yaml",
        "app: shop\nfunctions:\n  f: { env: python, src: src, build: \"cat evil.txt; exit 1\" }\n",
    );
    harmless(&world.run("deploy"), "wrote \\u{1b}]0;title");
    let id = world.json("build list --app shop")[0]["id"].as_str().unwrap().to_owned();
    let log = world.run(&format!("build log {id} --app shop"));
    harmless(&log, "wrote \\u{1b}]0;title");
    assert!(log.stdout.contains("\nand more \\u{1b}"), "{}", log.stdout);
}

#[test]
fn names_in_a_manifest_are_shown_and_not_obeyed() {
    let world = World::new();
    let name = EVIL.chars().map(|letter| format!("\\u{:04x}", u32::from(letter))).collect::<String>();
    world.env.write_file(
        "milepost.yaml",
        format!("app: shop\nversion: 1.0.0\n\"key{name}\": 1\nfunctions:\n  \"fn{name}\": {{ env: python, src: \"src{name}\" }}\n"),
    );
    for line in ["deploy", "up", "publish"] {
        harmless(&world.run(line), "\\u{1b}]0;title");
    }
    world
        .env
        .write_file("specs/a.yaml", format!("apiVersion: fission.io/v1\nkind: \"{name}\"\nmetadata: {{ name: a }}\n"));
    harmless(&world.run("spec version validate"), "\\u{1b}]0;title");
}

#[test]
fn error_messages_of_servers_cannot_control_the_terminal() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    let evil = EVIL.chars().map(|letter| format!("\\u{:04x}", u32::from(letter))).collect::<String>();
    let body = format!(
        "{{\"type\":\"about:blank\",\"title\":\"{evil}\",\"status\":404,\"code\":\"app_not_found\",\"detail\":\"detail {evil}\",\
         \"hint\":\"hint {evil}\",\"blockers\":[\"blocker {evil}\"]}}"
    );
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = [0; 8192];
        let _ = stream.read(&mut head).unwrap();
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 404 Not Found\r\ncontent-type: application/problem+json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        )
        .unwrap();
    });
    let env = milepost_testkit::cli::CliEnv::new();
    let output = env.run(&["app", "get", "shop", "--server", &server, "--token", "mp_x"]);
    answering.join().unwrap();
    for says in ["detail \\u{1b}]0;title", "hint \\u{1b}]0;title", "blocker \\u{1b}]0;title"] {
        harmless(&output, says);
    }
}
