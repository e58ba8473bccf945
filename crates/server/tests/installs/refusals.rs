//! Faulty channels: the problem is shown in the status, nothing changes, and upgrades resume when
//! the channel is fixed.

use milepost_model::install::{CheckResult, InstallSettings};

use crate::author::{Author, artifact};
use crate::stage::{Stage, at};
use crate::web::{Fault, Web};

struct Scene {
    stage: Stage,
    author: Author,
    web: Web,
}

impl Scene {
    /// 1.0.0 is installed, and 1.0.1 is published.
    async fn new() -> Self {
        Self::with(Author::new(), None).await
    }

    async fn with(mut author: Author, key: Option<String>) -> Self {
        let stage = Stage::new().await;
        author.publish("1.0.0", at("2026-11-01T00:00:00Z"));
        let web = Web::serve(author.root().to_owned()).await;
        let settings = InstallSettings { key, ..InstallSettings::default() };
        stage.follow(&web.channel(), settings).await;
        author.publish("1.0.1", at("2026-11-18T00:00:00Z"));
        Self { stage, author, web }
    }

    /// Runs a check and asserts that only the status changes.
    async fn stays(&self, result: CheckResult, kind: &str) -> String {
        let before = self.stage.status().await;
        let events = self.stage.events().await.len();
        self.stage.clock.advance_ms(60_000);
        self.stage.poll().await;
        let after = self.stage.status().await;
        assert_eq!((&after.entry, &after.app_version), (&before.entry, &before.app_version));
        assert_eq!((after.brakes, self.stage.events().await.len()), (before.brakes, events), "nothing changed");
        let check = after.last_check.unwrap();
        assert_eq!((check.result, check.kind.as_str()), (result, kind), "{}", check.message);
        assert!(after.next_check_at.is_some_and(|next| next > self.stage.now()), "it is looked at again");
        check.message
    }

    async fn goes_on(&self) {
        self.stage.clock.advance_ms(3_600_000);
        self.stage.poll().await;
        let install = self.stage.status().await;
        assert_eq!(install.entry.version.as_str(), "1.0.1", "{:?}", install.last_check);
        assert_eq!(self.stage.config().await["version"], "1.0.1");
    }
}

#[tokio::test]
async fn rejects_a_lower_latest_with_the_seeds_error() {
    let mut scene = Scene::new().await;
    let whole = scene.author.all.clone();
    let mut lesser = Author::new();
    lesser.publish("0.9.0", at("2026-11-18T01:00:00Z"));
    scene.author.all = lesser.all.clone();
    scene.author.write();
    let message = scene.stays(CheckResult::Refused, "lesser").await;
    assert!(message.contains("the release channel `stable` is of a lesser version"), "{message}");
    assert!(message.contains("`0.9.0`") && message.contains("`1.0.0`"), "{message}");
    scene.author.all = whole;
    scene.author.write();
    scene.goes_on().await;
}

#[tokio::test]
async fn rejects_a_lower_latest_in_that_file_alone() {
    let mut scene = Scene::new().await;
    let mut lesser = Author::new();
    lesser.publish("0.9.0", at("2026-11-18T01:00:00Z"));
    scene.author.put("latest", &lesser.all.to_latest().write());
    scene.stays(CheckResult::Refused, "lesser").await;
    scene.author.write();
    scene.goes_on().await;
}

#[tokio::test]
async fn rejects_a_pre_release_in_stable() {
    let mut scene = Scene::new().await;
    scene.author.tamper("\"1.0.1\"", "\"1.0.1-beta.1\"");
    let message = scene.stays(CheckResult::Refused, "damaged").await;
    assert!(message.contains("1.0.1-beta.1"), "{message}");
    scene.author.write();
    scene.goes_on().await;
}

#[tokio::test]
async fn rejects_altered_artifacts() {
    let scene = Scene::new().await;
    let file = scene.author.artifact_file("1.0.1");
    let right = std::fs::read(&file).unwrap();
    let at = right.windows(6).position(|window| window == b"author").unwrap();
    let mut altered = right.clone();
    altered[at..at + 6].copy_from_slice(b"robber");
    std::fs::write(&file, altered).unwrap();
    let message = scene.stays(CheckResult::Refused, "digest_mismatch").await;
    assert!(message.contains("was not used"), "{message}");
    // Bytes that are not an artifact are not read to the end.
    std::fs::write(&file, b"nonsense, and more of it than the head of an artifact has").unwrap();
    scene.stays(CheckResult::Refused, "artifact_refused").await;
    // A complete artifact of a different version.
    std::fs::write(&file, artifact("6.6.6", &[])).unwrap();
    scene.stays(CheckResult::Refused, "digest_mismatch").await;
    std::fs::write(&file, right).unwrap();
    scene.goes_on().await;
}

#[tokio::test]
async fn retries_truncated_artifacts() {
    let scene = Scene::new().await;
    scene.web.set(Fault::Broken);
    let before = scene.stage.now();
    scene.stays(CheckResult::Retrying, "truncated").await;
    let next = scene.stage.status().await.next_check_at.unwrap();
    assert!(next.as_millisecond() - before.as_millisecond() < 150_000, "{next} is soon");
    scene.web.set(Fault::None);
    scene.goes_on().await;
}

#[tokio::test]
async fn rejects_bad_and_missing_signatures() {
    let (author, key) = Author::signing();
    let mut scene = Scene::with(author, Some(key)).await;
    scene.author.tamper("2026-11-18T00:00:00Z", "2026-11-18T00:00:01Z");
    scene.stays(CheckResult::Refused, "bad_signature").await;
    scene.author.write();
    std::fs::remove_file(scene.author.channel().join("all.minisig")).unwrap();
    scene.stays(CheckResult::Refused, "missing_signature").await;
    scene.author.write();
    scene.goes_on().await;
}

#[tokio::test]
async fn rejects_a_replayed_index() {
    let (author, key) = Author::signing();
    let mut scene = Scene::with(author, Some(key)).await;
    let files = ["all", "all.minisig", "latest", "latest.minisig"];
    let old: Vec<Vec<u8>> =
        files.iter().map(|file| std::fs::read(scene.author.channel().join(file)).unwrap()).collect();
    scene.author.publish("1.1.0", at("2026-11-18T02:00:00Z"));
    scene.goes_on().await;
    for (file, bytes) in files.iter().zip(old) {
        std::fs::write(scene.author.channel().join(file), bytes).unwrap();
    }
    scene.stays(CheckResult::Refused, "replay").await;
}

#[tokio::test]
async fn unavailable_channels_are_reported_and_retried() {
    let scene = Scene::new().await;
    scene.web.set(Fault::Status(404));
    scene.stays(CheckResult::Refused, "gone").await;
    scene.web.set(Fault::Status(500));
    scene.stays(CheckResult::Retrying, "unreachable").await;
    scene.stays(CheckResult::Retrying, "unreachable").await;
    let status = scene.stage.status().await;
    assert_eq!(status.last_check.unwrap().failures, 2);
    scene.web.set(Fault::None);
    scene.goes_on().await;
    assert_eq!(scene.stage.last_check().await.failures, 0);
}

#[tokio::test]
async fn rejects_truncated_lists_and_retries_outdated_ones() {
    let mut scene = Scene::new().await;
    let whole = scene.author.all.write();
    scene.author.put("all", &whole[..whole.len() / 2]);
    scene.stays(CheckResult::Refused, "damaged").await;
    let mut old = Author::new();
    old.publish("1.0.0", at("2026-11-01T00:00:00Z"));
    scene.author.put("all", &old.all.write());
    scene.stays(CheckResult::Retrying, "behind").await;
    scene.author.write();
    scene.goes_on().await;
}

#[tokio::test]
async fn rejects_entries_from_the_future() {
    let mut scene = Scene::new().await;
    let ahead = scene.stage.now().checked_add(jiff_hours(2)).unwrap();
    scene.author.publish("1.0.2", ahead);
    let message = scene.stays(CheckResult::Refused, "clock").await;
    assert!(message.contains("clock"), "{message}");
    scene.stage.clock.advance_ms(3 * 3_600_000);
    scene.stage.poll().await;
    assert_eq!(scene.stage.version().await, "1.0.2");
}

fn jiff_hours(hours: u64) -> std::time::Duration {
    std::time::Duration::from_secs(hours * 3600)
}

#[tokio::test]
async fn does_not_follow_redirects_to_other_hosts() {
    let scene = Scene::new().await;
    let other = Web::serve(scene.author.root().to_owned()).await;
    scene.web.set(Fault::Elsewhere(other.address()));
    let message = scene.stays(CheckResult::Refused, "redirect").await;
    assert!(message.contains(&other.address().to_string()), "{message}");
    assert!(other.requests().is_empty(), "the other host was not contacted");
    scene.web.set(Fault::None);
    scene.goes_on().await;
}

#[tokio::test]
async fn rejects_replaced_versions() {
    let mut scene = Scene::new().await;
    let whole = scene.author.all.clone();
    let mut other = Author::new();
    other.publish_with("1.0.0", at("2026-11-01T00:00:00Z"), &artifact("another", &[]));
    other.publish("1.0.1", at("2026-11-18T00:00:00Z"));
    scene.author.all = other.all.clone();
    scene.author.write();
    scene.stays(CheckResult::Refused, "replaced").await;
    scene.author.all = whole;
    scene.author.write();
    scene.goes_on().await;
}

#[tokio::test]
async fn rejects_channels_of_other_packages() {
    let mut scene = Scene::new().await;
    scene.author.tamper("acme/shop", "acme/else");
    scene.stays(CheckResult::Refused, "wrong_channel").await;
    scene.author.write();
    scene.goes_on().await;
}

#[tokio::test]
async fn failed_install_leaves_no_app() {
    let (stage, mut author) = (Stage::new().await, Author::new());
    author.publish("1.0.0", at("2026-11-01T00:00:00Z"));
    std::fs::write(author.artifact_file("1.0.0"), b"nonsense").unwrap();
    let new = crate::stage::following(&author.url(), InstallSettings::default());
    crate::stage::refused(stage.client.install_create(&new).await, "channel_refused");
    assert!(stage.client.app_get(crate::stage::APP).await.is_err());
}
