//! A caller who may only deploy can neither scan the server's network nor use its registry
//! credentials.

use std::net::TcpListener;
use std::time::Duration;

use crate::common::World;

fn token(world: &World, options: &str) -> String {
    world.json(&format!("token create t{} {options}", options.len()))["token"].as_str().unwrap().to_owned()
}

/// Whether a connection arrived.
fn was_asked(listener: &TcpListener) -> bool {
    listener.set_nonblocking(true).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    listener.accept().is_ok()
}

#[test]
fn an_install_contacts_no_host_before_app_and_role_are_checked() {
    let mut world = World::new();
    world.ok("app create mine");
    world.ok("app create other");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/shop/stable", listener.local_addr().unwrap());
    let deployer = token(&world, "--role deployer --only mine");
    world.env.set("MILEPOST_TOKEN", &deployer);
    world.env.set("MILEPOST_SERVER", world.server.api());
    for line in [
        format!("install --channel {url}"),
        format!("install --channel {url} --app other"),
        format!("install --channel {url} --app new"),
        format!("install shop:1.0.0 --channel {url}"),
        // Its own app, from an address in a private network.
        format!("install --channel {url} --app mine"),
        format!("install shop:1.0.0 --channel {url} --app mine"),
        "install 127.0.0.1:1/shop:1.0.0 --app mine".to_owned(),
        "install --channel http://10.255.255.1/shop --app mine".to_owned(),
        "install --channel http://[::ffff:127.0.0.1]:1/shop --app mine".to_owned(),
        "install --channel http://localhost:1/shop --app mine".to_owned(),
    ] {
        let output = world.run(&line);
        assert!(!output.succeeded(), "{line}");
        let refused = ["has access to app `mine` only", "has no access to app", "may not install from"];
        assert!(refused.iter().any(|text| output.stderr.contains(text)), "{line}: {}", output.stderr);
    }
    assert!(!was_asked(&listener), "the server asked");
}

#[test]
fn an_operator_allows_hosts_by_name() {
    let mut world = World::in_env(milepost_testkit::cli::CliEnv::new(), &["--install-from", "127.0.0.1"]);
    world.ok("app create mine");
    let deployer = token(&world, "--role deployer --only mine");
    world.env.set("MILEPOST_TOKEN", &deployer);
    world.env.set("MILEPOST_SERVER", world.server.api());
    let own = format!("{}/channels/shop/stable", world.server.api());
    let said = world.run(&format!("install --channel {own} --app mine")).stderr;
    assert!(!said.contains("may not install from"), "{said}");
    let said = world.run("install --channel https://example.com/shop --app mine").stderr;
    assert!(said.contains("may not install from `example.com`"), "{said}");
}

#[test]
fn not_even_an_administrator_reaches_metadata_addresses() {
    let world = World::new();
    for place in ["http://169.254.169.254/latest", "http://[fd00:ec2::254]/latest", "http://[::ffff:169.254.169.254]/x"]
    {
        let said = world.run(&format!("install --channel {place} --app new")).stderr;
        assert!(said.contains("link-local and metadata addresses are not asked"), "{place}: {said}");
    }
    let said = world.run("install 169.254.169.254/shop:1.0.0 --app new").stderr;
    assert!(said.contains("link-local and metadata addresses are not asked"), "{said}");
}

#[test]
fn a_server_logs_in_only_where_its_operator_said_so() {
    let registry = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = registry.local_addr().unwrap().to_string();
    let seen = |allowed: bool| {
        let registry = registry.try_clone().unwrap();
        let mut env = milepost_testkit::cli::CliEnv::new();
        let docker = env.home().join("docker");
        std::fs::create_dir(&docker).unwrap();
        // user:password
        std::fs::write(
            docker.join("config.json"),
            format!("{{\"auths\":{{\"{host}\":{{\"auth\":\"dXNlcjpwYXNzd29yZA==\"}}}}}}"),
        )
        .unwrap();
        env.set("DOCKER_CONFIG", docker.to_str().unwrap());
        let args: Vec<&str> = if allowed { vec!["--install-from", &host] } else { Vec::new() };
        let world = World::in_env(env, &args);
        let answering = std::thread::spawn(move || {
            let mut logged_in = false;
            // Only a request with credentials is repeated.
            for _ in 0..if allowed { 2 } else { 1 } {
                let (mut stream, _) = registry.accept().unwrap();
                let mut head = vec![0; 8192];
                let read = std::io::Read::read(&mut stream, &mut head).unwrap();
                logged_in |= String::from_utf8_lossy(&head[..read]).to_lowercase().contains("authorization: basic");
                let answer = "HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Basic realm=\"x\"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                std::io::Write::write_all(&mut stream, answer.as_bytes()).unwrap();
            }
            logged_in
        });
        world.run(&format!("install {host}/shop:1.0.0 --app new"));
        answering.join().unwrap()
    };
    assert!(!seen(false), "it logged in");
    assert!(seen(true), "it did not log in");
}
