use std::time::{Duration, Instant};

use milepost_model::change::UnitKey;
use milepost_model::install::{InstallFrom, InstallSettings, NewInstall, Upgrade};
use milepost_model::{UnitKind, UnitName};
use milepost_testkit::eventually_blocking;
use tokio::runtime::Runtime;

use crate::common::World;
use crate::common::random::Random;
use crate::maker::Author;

const UPGRADES: usize = 30;
const SEED: u64 = 20_261_116;
const APP: &str = "shop";
const PATIENCE: Duration = Duration::from_secs(60);

/// The installed version, and the one in the app's configuration.
async fn versions(world: &World) -> (String, String) {
    let client = world.client();
    let install = client.install_get(APP).await.unwrap();
    let key = UnitKey { kind: UnitKind::Config, name: UnitName::config() };
    let config = client.unit_get(APP, &key).await.unwrap().current.spec["document"]["version"].clone();
    let live = client.live_get(APP).await.unwrap().release.unwrap();
    assert_eq!(live.app_version, install.app_version, "users get what the record says");
    (install.entry.version.to_string(), config.as_str().unwrap().to_owned())
}

#[test]
fn slow_a_server_that_is_killed_in_an_upgrade_is_at_the_old_or_at_the_new_version() {
    let runtime = Runtime::new().unwrap();
    let mut world = World::on_machine_time();
    let mut random = Random::new(SEED);
    let mut author = Author::new();
    let long_ago = "2026-01-01T00:00:00Z".parse().unwrap();
    author.publish("1.0.0", long_ago);
    let settings = InstallSettings { policy: "patch=manual".parse().unwrap(), ..InstallSettings::default() };
    let from = InstallFrom::Channel { url: author.url(), package: None };
    let new = NewInstall { app: None, from, secrets: Default::default(), settings };
    runtime.block_on(world.client().install_create(&new)).unwrap();
    let mut usual = Duration::from_millis(30);
    let (mut landed, mut lost) = (0, 0);
    for number in 1..=UPGRADES {
        let (old, new) = (format!("1.0.{}", number - 1), format!("1.0.{number}"));
        author.publish(&new, long_ago);
        let moment = usual.mul_f64(random.below(1000) as f64 / 700.0);
        let client = world.client();
        let sent = runtime.spawn(async move { client.upgrade(APP, &Upgrade::default()).await });
        runtime.block_on(async { tokio::time::sleep(moment).await });
        world.server.kill9();
        let answer = runtime.block_on(sent).unwrap();
        world.server.restart();
        let (installed, config) = runtime.block_on(versions(&world));
        assert_eq!(installed, config, "after {moment:?} the record and the app differ");
        assert!(installed == old || installed == new, "{installed} after {moment:?}");
        assert!(answer.is_err() || installed == new, "it was answered and is lost");
        *if installed == new { &mut landed } else { &mut lost } += 1;
        // The lease does not block: the interrupted upgrade can be repeated at once.
        let started = Instant::now();
        runtime.block_on(world.client().upgrade(APP, &Upgrade::default())).unwrap();
        if installed == old {
            usual = (usual * 3 + started.elapsed()) / 4;
        }
        assert_eq!(runtime.block_on(versions(&world)), (new.clone(), new));
    }
    // Kills that always come too early or too late would prove nothing.
    assert!(landed >= 3 && lost >= 3, "{landed} upgrades had landed when the server was killed, {lost} had not");
}

#[test]
fn a_trial_that_a_killed_server_left_is_ended_by_the_next() {
    let runtime = Runtime::new().unwrap();
    let mut world = World::on_machine_time();
    let mut author = Author::new();
    let long_ago = "2026-01-01T00:00:00Z".parse().unwrap();
    author.publish("1.0.0", long_ago);
    let from = InstallFrom::Channel { url: author.url(), package: None };
    let new = NewInstall { app: None, from, secrets: Default::default(), settings: InstallSettings::default() };
    runtime.block_on(world.client().install_create(&new)).unwrap();
    world.ok("install policy shop --policy patch=manual --health /nothing-is-there --health-deadline 4s");
    author.publish("1.0.1", long_ago);
    let client = world.client();
    let sent = runtime.spawn(async move { client.upgrade(APP, &Upgrade::default()).await });
    eventually_blocking(PATIENCE, || world.json("install status shop")["onTrial"] == true);
    world.server.kill9();
    assert!(runtime.block_on(sent).unwrap().is_err());
    world.server.restart();
    let status = world.json("install status shop");
    assert_eq!(status["entry"]["version"], "1.0.1", "the upgrade itself had landed");
    assert_eq!(status["live"], "1.0.0", "and waits for its trial");
    eventually_blocking(PATIENCE, || world.json("install status shop")["lastCheck"]["kind"] == "unhealthy");
    assert_eq!(runtime.block_on(world.client().install_get(APP)).unwrap().live.unwrap().as_str(), "1.0.0");
}
