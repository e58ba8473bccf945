//! Upgrades from bundles sent by the client. The same rules apply as for versions requested by
//! name.

use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::{self, Stream};
use milepost_client::ClientError;
use milepost_model::channel::Windows;
use milepost_model::install::{HoldInstall, InstallSettings, Installed, Upgrade, UpgradeFromBundle};
use tokio::sync::oneshot;

use crate::author::{Author, artifact, semver};
use crate::stage::{APP, Stage, at, refused};

const LONG_AGO: &str = "2026-11-01T00:00:00Z";

struct Scene {
    stage: Stage,
    author: Author,
}

impl Scene {
    /// 1.0.0 is installed on a Wednesday; 1.0.1, 1.1.0 and 2.0.0 are available.
    async fn new(policy: &str, denies: &[&str]) -> Self {
        let (stage, mut author) = (Stage::new().await, Author::new());
        author.publish("1.0.0", at(LONG_AGO));
        let settings = InstallSettings {
            policy: policy.parse().unwrap(),
            windows: Windows::new("Europe/Berlin", &["sun 02:00-04:00"], denies).unwrap(),
            ..InstallSettings::default()
        };
        stage.follow(&author.url(), settings).await;
        for version in ["1.0.1", "1.1.0", "2.0.0"] {
            author.publish(version, at(LONG_AGO));
        }
        Self { stage, author }
    }

    fn bundle(&self, version: &str) -> UpgradeFromBundle {
        UpgradeFromBundle {
            package: "acme/shop".parse().unwrap(),
            channel: "stable".parse().unwrap(),
            entry: self.author.all.get(&semver(version)).unwrap().clone(),
            serial: 0,
            upgrade: Upgrade::default(),
        }
    }

    async fn send(&self, bundle: &UpgradeFromBundle) -> Result<Installed, ClientError> {
        let bytes = artifact(bundle.entry.version.as_str(), &[]);
        self.stage.client.upgrade_bundle(APP, bundle, whole(bytes)).await
    }
}

fn whole(bytes: Vec<u8>) -> impl Stream<Item = Result<Bytes, std::io::Error>> + Send + 'static {
    stream::iter([Ok(Bytes::from(bytes))])
}

#[tokio::test]
async fn rejects_bundles_of_other_channels_and_implausible_serials() {
    let scene = Scene::new("patch=immediate", &[]).await;
    let mut other = scene.bundle("1.0.1");
    other.channel = "beta".parse().unwrap();
    other.entry.version = semver("1.0.1-beta.1");
    let problem = refused(scene.send(&other).await, "upgrade_refused");
    assert!(problem.detail.contains("`beta`") && problem.detail.contains("`stable`"), "{problem:?}");
    let far = UpgradeFromBundle { serial: u64::MAX, ..scene.bundle("1.0.1") };
    refused(scene.send(&far).await, "channel_refused");
    let right = UpgradeFromBundle { serial: 5, ..scene.bundle("1.0.1") };
    assert_eq!(scene.send(&right).await.unwrap().to, Some(semver("1.0.1")));
    let old = UpgradeFromBundle { serial: 4, ..scene.bundle("1.1.0") };
    assert!(refused(scene.send(&old).await, "channel_refused").detail.contains("old copy"));
}

#[tokio::test]
async fn holds_and_denies_apply_to_bundles() {
    let scene = Scene::new("patch=immediate,major=never", &["wed"]).await;
    let mut bundle = scene.bundle("1.0.1");
    let problem = refused(scene.send(&bundle).await, "upgrade_refused");
    assert!(problem.detail.contains("is denied now"), "{problem:?}");
    bundle.upgrade.now = true;
    let hold = HoldInstall { reason: "sale".to_owned(), ..HoldInstall::default() };
    scene.stage.client.install_hold(APP, &hold).await.unwrap();
    let problem = refused(scene.send(&bundle).await, "upgrade_refused");
    assert!(problem.detail.contains("sale"), "{problem:?}");
    scene.stage.client.install_lift(APP, &Default::default()).await.unwrap();
    let mut major = scene.bundle("2.0.0");
    major.upgrade.now = true;
    assert!(refused(scene.send(&major).await, "upgrade_refused").detail.contains("never takes major"));
    let forced = |events: &[(String, String)]| events.iter().filter(|(kind, _)| kind == "install.forced").count();
    assert_eq!(forced(&scene.stage.events().await), 0);
    assert_eq!(scene.send(&bundle).await.unwrap().to, Some(semver("1.0.1")));
    assert_eq!(forced(&scene.stage.events().await), 1);
}

#[tokio::test]
async fn bundle_in_transit_does_not_block_other_upgrades() {
    let scene = Scene::new("patch=immediate", &[]).await;
    let (stage, bundle) = (&scene.stage, scene.bundle("1.1.0"));
    let mut first = artifact("1.1.0", &[]);
    let rest = first.split_off(first.len() / 2);
    let (asked_for_more, more) = oneshot::channel();
    let (go_on, told) = oneshot::channel::<()>();
    let second = stream::once(async move {
        asked_for_more.send(()).unwrap();
        told.await.unwrap();
        Ok(Bytes::from(rest))
    });
    let slow = stage.client.upgrade_bundle(APP, &bundle, whole(first).chain(second));
    let others = async {
        more.await.unwrap();
        let asked = Upgrade { to: Some(semver("1.0.1")), ..Upgrade::default() };
        let done = stage.upgrade(asked).await.unwrap();
        assert_eq!(done.to, Some(semver("1.0.1")));
        go_on.send(()).unwrap();
    };
    let (slow, ()) = tokio::join!(slow, others);
    let slow = slow.unwrap();
    assert_eq!((slow.from, slow.to), (Some(semver("1.0.1")), Some(semver("1.1.0"))));
}
