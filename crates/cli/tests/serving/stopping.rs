use std::fs;
use std::time::Duration;

use crate::stage::{Stage, get};

const SLOW: &[(&str, &str)] = &[
    ("milepost.yaml", "app: shop\nfunctions:\n  slow: { env: python, src: slow/ }\nroutes:\n  - GET /: slow\n"),
    (
        "slow/main.py",
        "import time\n\ndef main():\n    print('begun', flush=True)\n    time.sleep(1.5)\n    return 'done'\n",
    ),
];

/// Processes whose environment or command line contains the data folder: the server, its sandboxes
/// and its workers.
fn processes_of(data: &std::path::Path) -> Vec<String> {
    let data = data.to_str().unwrap().as_bytes();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        if !entry.file_name().to_string_lossy().bytes().all(|letter| letter.is_ascii_digit()) {
            continue;
        }
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let mounts = fs::read(entry.path().join("mountinfo")).unwrap_or_default();
        let roots = fs::read(entry.path().join("environ")).unwrap_or_default();
        let names = |text: &[u8]| text.windows(data.len()).any(|window| window == data);
        if names(&command) || names(&mounts) || names(&roots) {
            found.push(format!("{} {}", entry.file_name().to_string_lossy(), String::from_utf8_lossy(&command)));
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_cuts_no_request_and_leaves_no_process() {
    let mut stage = Stage::new("shop", &[], SLOW);
    stage.deploy();
    let data = stage.world.env.data_dir();
    let running = {
        let (client, url) = (stage.client.clone(), stage.url("/"));
        tokio::spawn(async move { get(&client, &url, "shop").await })
    };
    begun(&stage).await;
    assert!(processes_of(&data).len() > 1, "the server and a worker");
    let stopped = tokio::task::spawn_blocking(move || {
        let status = stage.world.server.stop();
        (status, stage)
    });
    let answer = running.await.unwrap().unwrap();
    assert_eq!((answer.status, answer.body.as_str()), (200, "done"));
    let (status, _stage) = stopped.await.unwrap();
    assert!(status.success(), "{status}");
    assert_eq!(processes_of(&data), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_takes_its_workers_along() {
    let mut stage = Stage::new("shop", &[], SLOW);
    stage.deploy();
    let data = stage.world.env.data_dir();
    let (client, url) = (stage.client.clone(), stage.url("/"));
    let running = tokio::spawn(async move { get(&client, &url, "shop").await });
    begun(&stage).await;
    stage.world.server.kill9();
    assert!(running.await.unwrap().is_err(), "the server is gone");
    // The kernel ends them asynchronously.
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    while !processes_of(&data).is_empty() {
        assert!(std::time::Instant::now() < deadline, "{:?}", processes_of(&data));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    stage.world.server.restart();
    assert_eq!(get(&stage.client, &stage.url("/"), "shop").await.unwrap().body, "done");
}

/// Waits until the function has started.
pub async fn begun(stage: &Stage) {
    let query = milepost_client::LogQuery { follow: true, ..milepost_client::LogQuery::default() };
    let mut logs = stage.world.client().logs("shop", &query).await.unwrap();
    loop {
        let line = tokio::time::timeout(Duration::from_secs(60), logs.next()).await.unwrap().unwrap();
        if line.unwrap().text == "begun" {
            return;
        }
    }
}
