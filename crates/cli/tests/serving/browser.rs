use std::path::PathBuf;
use std::process::Command;

use crate::stage::{Stage, get};

fn example(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

/// Installed by `cargo xtask setup`.
fn browser() -> &'static str {
    let found = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success()));
    found.unwrap_or_else(|| panic!("there is no Chromium: `cargo xtask setup` installs it"))
}

/// Returns the page after its scripts have run.
fn page(url: &str, profile: &std::path::Path) -> String {
    let output = Command::new(browser())
        .args(["--headless", "--disable-gpu", "--no-sandbox", "--disable-dev-shm-usage", "--virtual-time-budget=10000"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(["--dump-dom", url])
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_the_example_is_served_to_a_browser_and_to_a_client() {
    let stage = Stage::new("hello", &[], &[]);
    let folder = example("hello");
    let outcome = stage.world.json(&format!("deploy {} --app hello", folder.display()));
    let release = outcome["release"]["id"].as_str().unwrap().to_owned();
    let greeted = get(&stage.client, &stage.url("/greet?name=J%C3%BCrgen"), "hello").await.unwrap();
    assert_eq!((greeted.status, greeted.body.as_str()), (200, "{\"text\":\"Hello, Jürgen!\"}"));
    let port = stage.world.server.gateway().trim_end_matches('/').rsplit(':').next().unwrap().to_owned();
    let profile = stage.world.env.home().join("browser");
    let live = format!("http://hello.localhost:{port}/");
    let of_release = format!("http://hello.{release}.localhost:{port}/");
    for url in [live, of_release] {
        let (profile, at) = (profile.clone(), url.clone());
        let page = tokio::task::spawn_blocking(move || page(&at, &profile)).await.unwrap();
        assert!(page.contains(">Hello, world!</h1>"), "{url}: {page}");
        assert!(page.contains(&format!("<code id=\"release\">{release}</code>")), "{url}: {page}");
        assert!(page.contains("Tokyo"), "{url}: {page}");
    }
}

/// A compiled program that serves HTTP on the inherited socket.
#[tokio::test(flavor = "multi_thread")]
async fn a_compiled_program_is_a_function() {
    let stage = Stage::new("binary", &[], &[]);
    let work = stage.world.env.work_dir();
    let source = example("binary-c");
    for entry in std::fs::read_dir(&source).unwrap().flatten() {
        std::fs::copy(entry.path(), work.join(entry.file_name())).unwrap();
    }
    let readme = std::fs::read_to_string(source.join("README.md")).unwrap();
    let line = readme.lines().map(str::trim).find(|line| line.starts_with("cc ") || line.contains("&& cc ")).unwrap();
    let built = Command::new("sh").args(["-c", line]).current_dir(&work).output().unwrap();
    assert!(built.status.success(), "{line}: {}", String::from_utf8_lossy(&built.stderr));
    let manifest = std::fs::read_to_string(work.join("milepost.yaml")).unwrap();
    let app = manifest.lines().find_map(|line| line.strip_prefix("app: ")).unwrap().trim().to_owned();
    stage.world.ok(&format!("deploy --app {app}"));
    let route = manifest.lines().find_map(|line| line.trim().strip_prefix("- /")).unwrap();
    let path = format!("/{}", route.split(':').next().unwrap());
    for _ in 0..20 {
        let answer = get(&stage.client, &stage.url(&path), &app).await.unwrap();
        assert_eq!(answer.status, 200, "{answer:?}");
    }
}
