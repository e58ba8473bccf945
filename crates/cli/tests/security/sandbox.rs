//! The sandbox of functions, tested through the whole program.

use serde_json::{Value, json};

use crate::stage::Stage;

/// Functions that use nearly all of a 32 MiB limit work on their first call.
#[tokio::test]
async fn first_calls_are_not_killed_below_their_memory_limit() {
    const FUNCTIONS: usize = 20;
    let names = || 0..FUNCTIONS;
    let functions: String = names().map(|n| format!("  f{n}: {{ env: python, src: f/, memory: 32Mi }}\n")).collect();
    let routes: String = names().map(|n| format!("  - GET /{n}: f{n}\n")).collect();
    let manifest = format!("app: shop\nfunctions:\n{functions}routes:\n{routes}");
    let code = "def main():\n    held = bytearray(12 << 20)\n    held[::4096] = b'x' * len(held[::4096])\n    return str(len(held))\n";
    let stage = Stage::new("shop", &[], &[("milepost.yaml", &manifest), ("f/main.py", code)]);
    stage.deploy();
    for n in names() {
        let answer = stage.get(&format!("/{n}")).await;
        assert_eq!(answer.status, 200, "call {n}: {}", answer.body);
    }
}

const REACH: &str = "\
import milepost, socket, sys
def outcome(host, port):
    try: socket.create_connection((host, port), timeout=5).close(); return 'open'
    except OSError as error: return type(error).__name__ + ' ' + str(error.errno)
def main(request):
    port = int(request.args['api'])
    return {'api': outcome('127.0.0.1', port), 'metadata': outcome('169.254.169.254', 80),
            'other': milepost.call('other', '/').text}
";

#[tokio::test]
async fn functions_reach_each_other_but_not_the_api_or_metadata_addresses() {
    let files = [
        (
            "milepost.yaml",
            "app: shop\nfunctions:\n  reach: { env: python, src: reach/ }\n  other: { env: python, src: other/ }\nroutes:\n  - GET /: reach\n",
        ),
        ("reach/main.py", REACH),
        ("other/main.py", "def main():\n    return 'answer'\n"),
    ];
    let stage = Stage::new("shop", &[], &files);
    if !in_force(&stage, "network").await {
        return;
    }
    stage.deploy();
    let api = stage.world.server.api().trim_end_matches('/').rsplit(':').next().unwrap().to_owned();
    let answer = stage.get(&format!("/?api={api}")).await;
    let seen: Value = serde_json::from_str(&answer.body).unwrap_or_else(|_| panic!("{}", answer.body));
    assert_eq!(seen["api"], "ConnectionRefusedError 111");
    assert_eq!(seen["other"], "answer");
    // "No route to host", immediately. Without the rule the connection would time out on a machine
    // that lacks the address.
    assert_eq!(seen["metadata"], "OSError 113");
}

/// Whether the server can use this part of the sandbox on this machine.
async fn in_force(stage: &Stage, name: &str) -> bool {
    let token = std::fs::read_to_string(stage.world.env.data_dir().join("admin.token")).unwrap();
    let request = stage.client.get(format!("{}/api/v1/system", stage.world.server.api())).bearer_auth(token.trim());
    let system: Value = request.send().await.unwrap().json().await.unwrap();
    let fact = system["sandbox"].as_array().unwrap().iter().find(|fact| fact["name"] == name);
    let fact = fact.unwrap_or_else(|| panic!("no `{name}` in {system}"));
    if fact["in_force"] != true {
        println!("skipped: {fact}");
    }
    fact["in_force"] == true
}

const KERNEL: &str = "\
import socket
def opened(family, kind=socket.SOCK_STREAM, protocol=0):
    try: socket.socket(family, kind, protocol).close(); return True
    except OSError: return False
def read(path):
    try: return len(open(path, 'rb').read(64))
    except OSError: return None
def main():
    netlink, raw = socket.AF_NETLINK, socket.SOCK_RAW
    return {
        'open': [opened(socket.AF_UNIX), opened(socket.AF_INET), opened(socket.AF_INET6), opened(netlink, raw)],
        'closed': [opened(socket.AF_VSOCK), opened(socket.AF_ALG, socket.SOCK_SEQPACKET), opened(netlink, raw, 9)],
        'first': [read('/proc/1/mem'), read('/proc/1/maps'), read('/proc/1/environ')],
        'config': read('/proc/config.gz') or 0,
    }
";

#[tokio::test]
async fn a_function_opens_few_kinds_of_sockets_and_reads_nothing_of_the_first_process() {
    let manifest = "app: shop\nfunctions:\n  f: { env: python, src: f/ }\nroutes:\n  - GET /: f\n";
    let stage = Stage::new("shop", &[], &[("milepost.yaml", manifest), ("f/main.py", KERNEL)]);
    if !(in_force(&stage, "seccomp").await && in_force(&stage, "private /proc").await) {
        return;
    }
    stage.deploy();
    let answer = stage.get("/").await;
    let seen: Value = serde_json::from_str(&answer.body).unwrap_or_else(|_| panic!("{}", answer.body));
    assert_eq!(seen["open"], json!([true, true, true, true]));
    assert_eq!(seen["closed"], json!([false, false, false]));
    assert_eq!(seen["first"], json!([null, null, null]));
    assert_eq!(seen["config"], 0);
}

/// Workers of an ordinary user have the server's rights, so keys must not be visible to them.
#[tokio::test]
async fn private_keys_beside_certificates_are_not_shown() {
    let code =
        "import os\ndef main():\n    return {d: os.listdir(d) for d in ('/etc/ssl', '/etc/pki') if os.path.isdir(d)}\n";
    let manifest = "app: shop\nfunctions:\n  f: { env: python, src: f/ }\nroutes:\n  - GET /: f\n";
    let stage = Stage::new("shop", &[], &[("milepost.yaml", manifest), ("f/main.py", code)]);
    if !in_force(&stage, "namespaces").await {
        return;
    }
    stage.deploy();
    let answer = stage.get("/").await;
    let seen: Value = serde_json::from_str(&answer.body).unwrap_or_else(|_| panic!("{}", answer.body));
    let entries = seen.as_object().unwrap().values().flat_map(|names| names.as_array().unwrap());
    for entry in entries {
        let shown = ["certs", "openssl.cnf", "ca-trust", "tls"];
        assert!(shown.contains(&entry.as_str().unwrap()), "functions see {entry}: {seen}");
    }
}

const HOLD: &str = "\
import mmap, os, time
SIZE = 160 << 20
def main(request):
    how = request.args['how']
    if how == 'shared':
        held = mmap.mmap(-1, SIZE)
        for at in range(0, SIZE, 4096): held[at] = 1
    elif how == 'memfd':
        held = os.memfd_create('held')
        for _ in range(SIZE >> 20): os.write(held, bytes(1 << 20))
    elif how == 'scratch':
        with open('/tmp/held', 'wb') as held:
            for _ in range(SIZE >> 20): held.write(bytes(1 << 20))
    time.sleep(1)
    return 'held'
";

/// With control groups the kernel counts all memory. Without them the server polls, and refuses
/// what it cannot count.
#[tokio::test]
async fn memory_that_belongs_to_no_process_counts_against_the_limit() {
    let manifest = "app: shop\nfunctions:\n  f: { env: python, src: f/, memory: 64Mi }\nroutes:\n  - GET /: f\n";
    let stage = Stage::new("shop", &[], &[("milepost.yaml", manifest), ("f/main.py", HOLD)]);
    stage.deploy();
    for how in ["shared", "memfd", "scratch"] {
        let answer = stage.get(&format!("/?how={how}")).await;
        assert!(matches!(answer.status, 500 | 502), "{how}: {answer:?}");
    }
    assert_eq!(stage.get("/?how=nothing").await.body, "held");
}

/// The server would ask every interpreter of the machine for each text, and cache the result.
#[test]
fn an_interpreter_must_look_like_a_version() {
    let stage = Stage::new("shop", &[], &[]);
    for interpreter in ["../../bin/sh", "3 11", "-c", "3.11; id"] {
        let manifest =
            format!("app: shop\nenvironments:\n  p: {{ runtime: python, interpreter: \"{interpreter}\" }}\n");
        stage.world.env.write_file("milepost.yaml", manifest);
        let output = stage.world.run("deploy");
        assert_eq!(output.status, Some(1), "{}", output.snapshot());
        assert!(output.stderr.contains("is not a version of python"), "{}", output.stderr);
    }
}
