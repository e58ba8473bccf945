//! What functions, builds and the server can reach, in a network namespace with addresses of its
//! own.

use std::io::{BufRead, BufReader};
use std::net::IpAddr;
use std::process::{Child, Command, Stdio};

use milepost_model::metadata::METADATA;
use milepost_testkit::cli::CliEnv;
use serde_json::Value;

use crate::common::World;

/// Connects to each address and prints the error number: 0 is open, and 111 is a port without a
/// listener, or one that is closed the same way.
const REACH: &str = "\
import json, os, socket, sys
def outcome(host, port):
    try: socket.create_connection((host, port), timeout=5).close(); return 0
    except OSError as error: return error.errno or type(error).__name__
def main(request):
    targets = [target.rsplit('-', 1) for target in request.args['targets'].split()]
    found = {f'{host}-{port}': outcome(host, int(port)) for host, port in targets}
    return {'inside': int(os.environ['MILEPOST_GATEWAY'].rsplit(':', 1)[1]), 'found': found}
if __name__ == '__main__':
    for target in sys.argv[1:]:
        host, port = target.rsplit('-', 1)
        print(f'<{target} {outcome(host, int(port))}>')
";

/// A network namespace, alive as long as its process.
struct Network(Child);

impl Network {
    /// Makes one whose `lo` has these addresses. `None` if this machine does not support it.
    fn with(addresses: &[IpAddr]) -> Option<Self> {
        let add = |address: &IpAddr| match address {
            IpAddr::V4(four) => format!("ip addr add {four}/32 dev lo"),
            IpAddr::V6(six) => format!("ip -6 addr add {six}/128 dev lo nodad"),
        };
        let commands: Vec<_> =
            std::iter::once("ip link set lo up".to_owned()).chain(addresses.iter().map(add)).collect();
        let script = format!("{} && echo ready && exec sleep 600", commands.join(" && "));
        let mut command = Command::new("unshare");
        command.args(["--net", "sh", "-c", &script]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut network = Self(command.spawn().ok()?);
        let mut line = String::new();
        BufReader::new(network.0.stdout.take()?).read_line(&mut line).ok()?;
        (line == "ready\n").then_some(network)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn port_of(url: &str) -> &str {
    url.trim_end_matches('/').rsplit(':').next().unwrap()
}

#[test]
fn neither_functions_nor_builds_reach_metadata_addresses_or_the_servers_doors() {
    let link_local =
        ["169.254.169.254", "169.254.170.2", "::ffff:169.254.169.254"].map(|text| text.parse::<IpAddr>().unwrap());
    let own = METADATA.into_iter().chain(link_local.iter().take(2).copied());
    let Some(network) = Network::with(&own.collect::<Vec<_>>()) else {
        println!("skipped: root, unshare (of util-linux) and ip (of iproute2) are needed");
        return;
    };
    let mut env = CliEnv::new();
    env.unset("MILEPOST_TEST_CLOCK");
    env.set("MILEPOST_APP", "shop");
    env.wrap(&["nsenter", "--net", "--target", &network.0.id().to_string()]);
    env.write_file("reach/main.py", REACH);
    env.write_file("milepost.yaml", "app: shop\nfunctions:\n  reach: { env: python, src: reach/ }\n");
    let world = World::in_env(env, &[]);
    let checks: Vec<Value> = serde_json::from_str(&world.run("doctor -o json").stdout).unwrap();
    let rules = checks.iter().find(|check| check["name"] == "sandbox: network").unwrap();
    if rules["state"] != "ok" {
        println!("skipped: {rules}");
        return;
    }
    world.ok("deploy");

    let (api, gateway) = (port_of(world.server.api()), port_of(world.server.gateway()));
    let metadata: Vec<_> = METADATA.into_iter().chain(link_local).collect();
    // DNS is allowed, so without a listener the kernel refuses the connection.
    let lookups = metadata.iter().map(|address| (format!("{address}-53"), 111));
    let closed = metadata.iter().map(|address| {
        // "No route to host" and, for IPv6, "permission denied". Without a rule it would be 111.
        (format!("{address}-80"), if address.to_canonical().is_ipv4() { 113 } else { 13 })
    });
    let doors = [(format!("127.0.0.1-{api}"), 111), (format!("127.0.0.1-{gateway}"), 111)];
    let expected: Vec<(String, i64)> = lookups.chain(closed).chain(doors).collect();
    let targets: Vec<_> = expected.iter().map(|(target, _)| target.as_str()).collect();
    let call = |targets: &str| -> Value {
        let said = world.run(&format!("function test reach --query \"targets={targets}\""));
        serde_json::from_str(&said.stdout).unwrap_or_else(|_| panic!("{}", said.snapshot()))
    };
    let seen = call(&targets.join(" "));
    for (target, outcome) in &expected {
        assert_eq!(seen["found"][target], *outcome, "a function at {target}: {seen}");
    }
    // The test kit masks ports after a colon.
    let inside = format!("127.0.0.1-{}", seen["inside"]);
    assert_eq!(call(&inside)["found"][&inside], 0, "a function reaches the inner port");

    let targets = [&targets[..], &[&inside]].concat().join(" ");
    let manifest = format!(
        "app: shop\nfunctions:\n  built: {{ env: python, src: reach/, build: \"python3 main.py {targets}; exit 1\" }}\n"
    );
    world.env.write_file("milepost.yaml", manifest);
    let built = world.run("deploy");
    for (target, outcome) in expected.iter().chain([&(inside, 111)]) {
        assert!(
            built.stderr.contains(&format!("<{target} {outcome}>")),
            "a build at {target}, not {outcome}:\n{}",
            built.stderr
        );
    }
}

/// From the machine itself, an own address reaches ports that its firewall closes to others.
#[test]
fn deployers_cannot_install_from_public_addresses_of_the_server_itself() {
    let Some(network) = Network::with(&["1.2.3.4".parse().unwrap(), "2606:4700::4".parse().unwrap()]) else {
        println!("skipped: root, unshare (of util-linux) and ip (of iproute2) are needed");
        return;
    };
    let mut env = CliEnv::new();
    env.wrap(&["nsenter", "--net", "--target", &network.0.id().to_string()]);
    let mut world = World::in_env(env, &[]);
    world.ok("app create mine");
    let deployer = world.json("token create ci --role deployer --only mine")["token"].as_str().unwrap().to_owned();
    let admin = world.run("install --channel http://1.2.3.4:1/shop/stable --app mine");
    assert!(!admin.stderr.contains("may not install from"), "{}", admin.stderr);
    world.env.set("MILEPOST_TOKEN", &deployer);
    world.env.set("MILEPOST_SERVER", world.server.api());
    for host in ["1.2.3.4:1", "[2606:4700::4]:1"] {
        let refused = world.run(&format!("install --channel http://{host}/shop/stable --app mine"));
        assert!(refused.stderr.contains("may not install from"), "{host}: {}", refused.stderr);
    }
}
