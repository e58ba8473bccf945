use std::time::Duration;

use milepost_testkit::cli::CliEnv;
use reqwest::Client;

use crate::common::World;
use crate::stage::{Stage, get};

const CALLS: &[(&str, &str)] = &[
    (
        "milepost.yaml",
        "app: shop\n\
         functions:\n\
         \x20 py: { env: python, src: py/ }\n\
         \x20 js: { env: node, src: js/ }\n\
         \x20 late: { env: python, src: late/ }\n\
         \x20 inner: { env: python, src: inner/, permission: internal }\n\
         routes:\n\
         \x20 - GET /py: py\n\
         \x20 - GET /js: js\n\
         \x20 - GET /late: late\n\
         \x20 - GET /inner: inner\n",
    ),
    (
        "py/main.py",
        "import milepost, os\n\n\
         def main():\n    answer = milepost.call('inner', '/é')\n    return answer.text + ' ' + os.environ['MILEPOST_GATEWAY']\n",
    ),
    (
        "js/index.js",
        "const milepost = require('milepost')\nmodule.exports = async () => (await milepost.call('inner', '/é')).text()\n",
    ),
    (
        "late/main.py",
        "import milepost, time\n\n\
         def main():\n    print('begun', flush=True)\n    time.sleep(1.5)\n    return milepost.call('inner', '/x').text\n",
    ),
    ("inner/main.py", "def main(request):\n    return 'one ' + request.path\n"),
];

/// A server whose gateway accepts only TLS, and a client that trusts it.
fn with_tls() -> Stage {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let mut env = CliEnv::new();
    env.unset("MILEPOST_TEST_SEED");
    env.unset("MILEPOST_TEST_CLOCK");
    env.set("MILEPOST_APP", "shop");
    for (path, text) in CALLS {
        env.write_file(path, text);
    }
    env.write_file("cert.pem", made.cert.pem());
    env.write_file("key.pem", made.signing_key.serialize_pem());
    let world = World::in_env(env, &["--tls-cert", "cert.pem", "--tls-key", "key.pem"]);
    // Creating our client installs the TLS provider that reqwest needs.
    drop(world.client());
    let trusted = reqwest::Certificate::from_pem(made.cert.pem().as_bytes()).unwrap();
    // HTTP/2 would take the host from the address.
    let client = Client::builder().http1_only().timeout(Duration::from_secs(60)).tls_certs_only([trusted]);
    let client = client.build().unwrap();
    Stage { world, client, app: "shop" }
}

#[tokio::test(flavor = "multi_thread")]
async fn functions_call_each_other_in_their_release_behind_tls() {
    let stage = with_tls();
    assert!(stage.url("/").starts_with("https://"), "{}", stage.url("/"));
    let old = stage.deploy();
    let answer = stage.get("/py").await;
    let (told, inside) = answer.body.rsplit_once(' ').unwrap();
    assert_eq!((answer.status, told), (200, "one /é"));
    assert_eq!(stage.get("/js").await.body, "one /é");
    assert_eq!(stage.get("/inner").await.status, 403, "it is internal");

    stage.world.env.write_file("inner/main.py", CALLS[4].1.replace("one", "two"));
    stage.deploy();
    for path in ["/py", "/js"] {
        assert!(stage.get(path).await.body.starts_with("two /é"), "{path}");
        let before = get(&stage.client, &stage.url(path), &format!("{old}--shop")).await.unwrap();
        assert!(before.body.starts_with("one /é"), "{path}: {before:?}");
        assert_eq!(before.release, old);
    }

    // The inner port accepts connections from this machine only, and calls only with a call token.
    let stranger = Client::new();
    for path in ["/py", "/inner", "/.milepost/call/inner/", "/.milepost/health", "/none"] {
        let answer = get(&stranger, &format!("http://{inside}{path}"), "shop").await.unwrap();
        assert_eq!(answer.status, 401, "{path}: {answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_that_runs_while_the_server_stops_can_still_call_another() {
    let mut stage = Stage::new("shop", &[], CALLS);
    stage.deploy();
    let running = {
        let (client, url) = (stage.client.clone(), stage.url("/late"));
        tokio::spawn(async move { get(&client, &url, "shop").await })
    };
    crate::stopping::begun(&stage).await;
    let stopped = tokio::task::spawn_blocking(move || stage.world.server.stop());
    let answer = running.await.unwrap().unwrap();
    assert_eq!((answer.status, answer.body.as_str()), (200, "one /x"));
    assert!(stopped.await.unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_that_runs_outside_of_a_release_calls_those_of_the_newest() {
    let stage = Stage::new("shop", &[], CALLS);
    let old = stage.deploy();
    stage.world.env.write_file("inner/main.py", CALLS[4].1.replace("one", "two"));
    // Pins live, so that its release is not the newest.
    stage.world.ok(&format!("release live {old}"));
    stage.deploy();
    for function in ["py", "js"] {
        let tested = stage.world.ok(&format!("function test {function}"));
        assert!(tested.starts_with("two /é"), "{function}: {tested}");
    }
    // Live does not have this version.
    stage.world.env.write_file("py/main.py", format!("{}# changed\n", CALLS[1].1));
    stage.deploy();
    let run = stage.world.ok("execution create py --version 2 -o json");
    assert!(run.contains("two /é"), "{run}");
}
