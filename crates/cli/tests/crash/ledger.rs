//! The expected state of the server, and the checks against it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Cursor, Read};

use milepost_client::Client;
use milepost_model::change::{UnitAction, UnitKey};
use milepost_model::event::Event;
use milepost_model::release::ReleaseState;
use milepost_model::snapshot::AppVersion;
use milepost_model::{ChangeOutcome, UnitKind};
use zip::ZipArchive;

use crate::deploys::{APP, Deploy, Files};

/// The limit of the plan `standard`.
const ACTIVE_RELEASES: usize = 10;

/// A version made by a deploy.
struct Made {
    uid: String,
    files: Option<Files>,
}

#[derive(Default)]
pub struct Ledger {
    /// Uid and message of the app versions, in order.
    app_versions: Vec<(String, String)>,
    units: BTreeMap<UnitKey, Vec<Made>>,
}

impl Ledger {
    /// Records a deploy whose response arrived.
    pub fn record(&mut self, deploy: &Deploy, outcome: &ChangeOutcome) {
        assert!(outcome.changed, "{}: {outcome:?}", deploy.message());
        let uid = outcome.app_version.clone().unwrap();
        for (key, files) in deploy.units() {
            let unit = outcome.versions.iter().find(|unit| unit.kind == key.kind && unit.name == key.name).unwrap();
            assert!(matches!(unit.action, UnitAction::Created | UnitAction::Updated), "{unit:?}");
            assert_eq!(unit.uid.as_ref(), Some(&uid), "one change, one uid");
            let versions = self.units.entry(key).or_default();
            versions.push(Made { uid: uid.clone(), files });
            assert_eq!(unit.number, Some(versions.len() as i64), "numbers have no gaps");
        }
        self.app_versions.push((uid, deploy.message()));
    }

    /// Checks after a kill during `deploy` that all of it landed or nothing. Returns whether it
    /// landed.
    pub async fn check_after_kill(&self, client: &Client, deploy: &Deploy) -> bool {
        let head = head(client).await;
        let there = head.message == deploy.message();
        if !there {
            self.check_head(client).await;
        }
        for (key, files) in deploy.units() {
            let before = self.units.get(&key).map_or(0, Vec::len) as i64;
            let page = client.version_list(APP, &key, 1, None).await.unwrap();
            let newest = &page.items[0];
            if there {
                assert_eq!((newest.number, &newest.uid), (before + 1, &head.id), "{key} is whole");
                check_files(client, &key, newest.number, files.as_ref()).await;
            } else {
                assert_eq!(newest.number, before, "{key} has nothing of a change that did not land");
            }
        }
        if there {
            self.check_landed(client, &head, deploy).await;
        }
        there
    }

    /// Checks that the app's newest version, its release and its events come from the last deploy
    /// that landed.
    pub async fn check_head(&self, client: &Client) {
        let head = head(client).await;
        let last = self.app_versions.last().unwrap();
        assert_eq!((&head.id, &head.message), (&last.0, &last.1));
        assert_eq!(head.number, self.app_versions.len() as i64);
        check_release(client, &head).await;
    }

    /// Checks that the interrupted deploy made everything that a change makes.
    async fn check_landed(&self, client: &Client, head: &AppVersion, deploy: &Deploy) {
        assert_eq!(head.number, self.app_versions.len() as i64 + 1);
        check_release(client, head).await;
        let release = head.release.as_ref().unwrap();
        let events: Vec<Event> = client.event_list(APP, 30, None).await.unwrap().items;
        let has = |kind: &str, subject: &str| events.iter().any(|event| event.kind == kind && event.subject == subject);
        for (key, _) in deploy.units() {
            assert!(has("version.created", &key.to_string()), "{key}: {events:?}");
        }
        assert!(has("app-version.created", &format!("app version {}", head.id)));
        assert!(has("release.created", &format!("release {}", release.id)));
        assert!(has("live.moved", "live") && has("latest.moved", "latest"));
    }

    /// Checks the whole history: each deploy once, each version with its files, and nothing else.
    pub async fn check_everything(&self, client: &Client) {
        let mut found = Vec::new();
        let mut cursor = None;
        loop {
            let page = client.app_version_list(APP, 64, cursor.as_deref()).await.unwrap();
            found.extend(page.items.into_iter().map(|version| (version.id, version.message)));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        found.reverse();
        assert_eq!(found, self.app_versions);
        for (key, versions) in &self.units {
            let page = client.version_list(APP, key, 1000, None).await.unwrap();
            let mut listed: Vec<&str> = page.items.iter().map(|version| version.uid.as_str()).collect();
            listed.reverse();
            assert_eq!(listed, versions.iter().map(|version| version.uid.as_str()).collect::<Vec<_>>(), "{key}");
            for (index, version) in versions.iter().enumerate() {
                check_files(client, key, index as i64 + 1, version.files.as_ref()).await;
            }
        }
        let mut next = self.check_newest_events(client).await;
        while let Some((cursor, above)) = next.take() {
            let page = client.event_list(APP, 1000, Some(&cursor)).await.unwrap();
            let lowest = check_gapless(&page.items, Some(above));
            next = page.next.map(|cursor| (cursor, lowest));
            assert!(next.is_some() || lowest == 1, "the first event is gone");
        }
        let listed = client.unit_list(APP, None, 1000, None).await.unwrap().items;
        let listed: Vec<UnitKey> =
            listed.into_iter().map(|unit| UnitKey { kind: unit.kind, name: unit.name }).collect();
        // The app got the environment when a function first used it.
        let (environments, deployed): (Vec<_>, Vec<_>) =
            listed.into_iter().partition(|key| key.kind == UnitKind::Environment);
        assert_eq!(environments.len(), 1, "{environments:?}");
        assert_eq!(deployed.iter().collect::<BTreeSet<_>>(), self.units.keys().collect());
        let active = client.release_list(APP, true, 1000, None).await.unwrap().items;
        assert_eq!(active.len(), ACTIVE_RELEASES);
    }

    async fn check_newest_events(&self, client: &Client) -> Option<(String, i64)> {
        let page = client.event_list(APP, 1000, None).await.unwrap();
        let lowest = check_gapless(&page.items, None);
        page.next.map(|cursor| (cursor, lowest))
    }
}

/// Checks that events are newest first without gaps. Returns the lowest number.
fn check_gapless(events: &[Event], above: Option<i64>) -> i64 {
    let mut expected = above.map_or(events[0].id, |above| above - 1);
    for event in events {
        assert_eq!(event.id, expected, "event ids have no gaps");
        expected -= 1;
    }
    expected + 1
}

async fn head(client: &Client) -> AppVersion {
    client.app_version_get(APP, "head").await.unwrap()
}

/// Checks that the newest app version is released, and that this release is latest and live.
async fn check_release(client: &Client, head: &AppVersion) {
    let release = head.release.as_ref().unwrap_or_else(|| panic!("{} has no release", head.message));
    assert_eq!(release.state, ReleaseState::Active);
    assert!(release.latest && release.live, "{release:?}");
    assert_eq!(client.live_get(APP).await.unwrap().release.unwrap().id, release.id);
    check_gapless(&client.event_list(APP, 30, None).await.unwrap().items, None);
}

/// Checks that downloads equal the uploads.
async fn check_files(client: &Client, key: &UnitKey, number: i64, files: Option<&Files>) {
    let Some(files) = files else { return };
    let response = client.version_download(APP, key, &number.to_string(), None).await.unwrap();
    let mut archive = ZipArchive::new(Cursor::new(response.bytes().await.unwrap())).unwrap();
    let mut found = Files::new();
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).unwrap();
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        found.insert(entry.name().unwrap().into_owned(), text);
    }
    assert!(found == *files, "{key} version {number} has other files than were sent: {:?}", found.keys());
}
