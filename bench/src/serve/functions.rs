//! A warm hello in Python and in Node, compared with common frameworks.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::client::Target;
use super::compare::{Bar, Case, Contender, compare};
use super::milepost::{Function, Milepost};
use super::options::Options;
use super::place::{self, Place};
use super::process::{Running, command};
use super::report::Report;

pub const HELLO: &[u8] = b"Hello, world!\n";
const CONNECTIONS: usize = 64;
/// For every Python server: one per core of the machine that the bars were set for.
const PYTHON_PROCESSES: &str = "2";
/// Node serves all requests on one thread, so every server has one process.
const NODE_SCALE: [&str; 6] = ["--min", "1", "--max", "1", "--concurrency", "64"];
const PYTHON_SCALE: [&str; 6] = ["--min", PYTHON_PROCESSES, "--max", PYTHON_PROCESSES, "--concurrency", "1"];

struct Peer {
    name: &'static str,
    server: Running,
    target: Target,
    bar: Option<Bar>,
}

pub fn python(place: &Place, options: &Options, report: &mut Report) -> Result<()> {
    let code = place.copy_of("python")?;
    let gunicorn = |port: u16| {
        let mut line = command(place.python_tool("gunicorn"));
        line.args(["--workers", PYTHON_PROCESSES, "--bind", &format!("127.0.0.1:{port}"), "flask_app:app"]);
        line
    };
    let peers = [
        start(place, "functions-framework (2 processes, 8 threads)", &code, bar(3.0), |port| {
            let mut line = command(place.python_tool("functions-framework"));
            line.args(["--target", "main", "--source", "hello.py", "--host", "127.0.0.1", "--port", &port.to_string()]);
            line.env("WORKERS", PYTHON_PROCESSES).env("THREADS", "8");
            line
        })?,
        start(place, "gunicorn + Flask (2 processes, sync)", &code, bar(2.0), gunicorn)?,
        // Sync workers close every connection. With threads, connections are kept alive.
        start(place, "gunicorn + Flask (2 processes, 8 threads)", &code, bar(2.0), |port| {
            let mut line = gunicorn(port);
            line.args(["--worker-class", "gthread", "--threads", "8"]);
            line
        })?,
    ];
    let hello = Function {
        name: "hello",
        environment: "python",
        code: code.join("hello.py"),
        entrypoint: "hello.main",
        scale: &PYTHON_SCALE,
    };
    measure(place, "python", &hello, &peers, options, report)
}

pub fn node(place: &Place, options: &Options, report: &mut Report) -> Result<()> {
    let code = place.copy_of("node")?;
    let node = place::program("node")?;
    let peers = [
        start(place, "functions-framework (1 process)", &code, bar(3.0), |port| {
            let mut line = command(&node);
            line.arg(place.node_framework()).args(["--target=main", "--source=framework.js"]);
            line.arg(format!("--port={port}")).env("NODE_ENV", "production");
            line
        })?,
        start(place, "node:http alone (1 process)", &code, bar(0.4), |port| {
            let mut line = command(&node);
            line.arg("bare.js").arg(port.to_string()).env("NODE_ENV", "production");
            line
        })?,
    ];
    let hello = Function {
        name: "hello",
        environment: "nodejs",
        code: code.join("hello.js"),
        entrypoint: "hello",
        scale: &NODE_SCALE,
    };
    measure(place, "node", &hello, &peers, options, report)
}

fn bar(throughput: f64) -> Option<Bar> {
    Some(Bar { throughput, p99: false })
}

fn start(
    place: &Place,
    name: &'static str,
    code: &Path,
    bar: Option<Bar>,
    line: impl Fn(u16) -> Command,
) -> Result<Peer> {
    let port = place::free_port()?;
    let log = place.folder("logs")?.join(format!("{port}.log"));
    let mut line = line(port);
    line.current_dir(code).env("PATH", place::PATH);
    let mut server = Running::start(line, &log)?;
    let target = Target::local(port, "/");
    place::wait_for(&target, HELLO, &mut server, &log)?;
    Ok(Peer { name, server, target, bar })
}

fn measure(
    place: &Place,
    part: &str,
    hello: &Function<'_>,
    peers: &[Peer],
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    let mut milepost = None;
    if !options.peers_only {
        let mut server = Milepost::start(place, &format!("milepost-{part}"), &[])?;
        server.function(hello, "/")?;
        server.wait_for("/", HELLO)?;
        milepost = Some(server);
    }
    let ours = milepost.iter().map(|milepost| Contender {
        name: "milepost",
        target: milepost.target("/"),
        pid: milepost.server.pid(),
        bar: None,
    });
    let theirs = peers.iter().map(|peer| Contender {
        name: peer.name,
        target: peer.target.clone(),
        pid: peer.server.pid(),
        bar: peer.bar,
    });
    let contenders: Vec<Contender<'_>> = ours.chain(theirs).collect();
    let case = Case { part, what: &format!("warm {part} hello"), body: HELLO, connections: CONNECTIONS };
    compare(&case, &contenders, options, report)
}
