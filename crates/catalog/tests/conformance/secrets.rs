//! Versions of secrets from before fingerprints were bound to app and name.

use milepost_catalog::{ChangeInput, OldSecretPlace, RekeyedSecret};
use milepost_model::spec::SecretSpec;
use milepost_model::unit_put::Put;
use milepost_model::{Digest, UnitKind, UnitSpec};

use crate::common::*;

fn former(value: &str) -> Digest {
    Digest::of(format!("keyed {value}").as_bytes())
}

fn bound(name: &str, value: &str) -> Digest {
    Digest::of(format!("keyed {name} {value}").as_bytes())
}

fn digest(fingerprint: Digest) -> Digest {
    UnitSpec::Secret(SecretSpec { fingerprint }).digest()
}

/// Sends a change as an older program makes it.
async fn put_old<const N: usize>(t: &Fixture, puts: [Put; N]) {
    let mut input = input(change(puts));
    for sealed in input.secrets.values_mut() {
        sealed.fingerprint = sealed.former_fingerprint;
    }
    t.catalog.change(&t.app, input).await.unwrap();
    t.engine.batch("DELETE FROM keyed_secrets").await;
}

/// Returns the first `limit` old secrets, with the fingerprints that the server would give them.
async fn left(t: &Fixture, limit: i64) -> Vec<RekeyedSecret> {
    let old = t.catalog.secrets_to_rekey(OldSecretPlace::default(), limit).await.unwrap();
    let fingerprint = |sealed: &[u8], name: &str| {
        let value: Vec<u8> = sealed.iter().map(|byte| byte ^ 0x55).collect();
        bound(name, &String::from_utf8(value).unwrap())
    };
    old.into_iter()
        .map(|old| RekeyedSecret {
            fingerprint: fingerprint(old.sealed.as_deref().unwrap_or_default(), old.name.as_str()),
            old,
        })
        .collect()
}

async fn rekey(t: &Fixture, keyed: Vec<RekeyedSecret>) -> u64 {
    t.catalog.secrets_rekey(keyed[0].old.app_id, keyed).await.unwrap()
}

async fn names(t: &Fixture, name: &str) -> Vec<(i64, String, Vec<String>)> {
    let listed = t.catalog.version_list(&t.app, key(UnitKind::Secret, name), ALL).await.unwrap().items;
    listed.into_iter().map(|version| (version.number, version.uid, version.releases)).collect()
}

/// TOKEN was a, b and a again; OTHER is a.
async fn an_old_app(t: &Fixture) {
    for value in ["a", "b", "a"] {
        put_old(t, [secret("TOKEN", value)]).await;
    }
    put_old(t, [secret("OTHER", "a")]).await;
}

async fn a_rekeyed_version_keeps_its_names_and_its_former_digest(t: &Fixture) {
    an_old_app(t).await;
    let before = (names(t, "TOKEN").await, names(t, "OTHER").await);
    assert_eq!(rekey(t, left(t, 100).await).await, 4);
    assert_eq!((names(t, "TOKEN").await, names(t, "OTHER").await), before);
    for (name, value, number) in [("TOKEN", "a", 3), ("TOKEN", "b", 2), ("OTHER", "a", 1)] {
        for digest in [digest(former(value)), digest(bound(name, value))] {
            let found = t.version(UnitKind::Secret, name, &digest.to_string()).await.unwrap();
            assert_eq!((found.number, found.digest), (number, self::digest(bound(name, value))), "{name} {value}");
            let short = t.version(UnitKind::Secret, name, &format!("sha256:{}", &digest.hex()[..16])).await.unwrap();
            assert_eq!(short.number, number);
        }
        assert!(t.version(UnitKind::Secret, name, &digest(former("c")).to_string()).await.is_err());
    }
    // One content for each secret and value. Content that two names shared goes with the next
    // sweep.
    t.catalog.sweep(0).await.unwrap();
    assert_eq!(t.number("SELECT count(*) FROM contents WHERE kind = 'secret'").await, 3);
    assert_eq!(t.number("SELECT count(DISTINCT sealed) FROM contents WHERE kind = 'secret'").await, 2);
    assert!(left(t, 100).await.is_empty());
}

async fn an_unchanged_secret_makes_no_version_rekeyed_or_not(t: &Fixture) {
    an_old_app(t).await;
    assert!(!t.put([secret("TOKEN", "a"), secret("OTHER", "a")]).await.changed);
    // Partly re-keyed: TOKEN 1 and 2 are done, 3 is not.
    assert_eq!(rekey(t, left(t, 2).await).await, 2);
    assert!(!t.put([secret("TOKEN", "a"), secret("OTHER", "a")]).await.changed);
    let asked = t.put([secret("OTHER", "a").forced()]).await;
    assert_eq!(asked.versions[0].reasons, [milepost_model::plan::Reason::Asked]);
    assert_eq!(rekey(t, left(t, 100).await).await, 2);
    assert!(!t.put([secret("TOKEN", "a"), secret("OTHER", "a")]).await.changed);
    assert_eq!(t.put([secret("TOKEN", "c")]).await.versions[0].number, Some(4));
    let digests = |name: &'static str| async move {
        let listed = t.catalog.version_list(&t.app, key(UnitKind::Secret, name), ALL).await.unwrap().items;
        listed.into_iter().map(|version| version.digest).collect::<Vec<_>>()
    };
    assert_eq!(digests("OTHER").await, [digest(bound("OTHER", "a")); 2], "equal values have equal digests");
}

async fn two_nodes_rekey_a_version_once(t: &Fixture) {
    an_old_app(t).await;
    let (one, other) = (left(t, 100).await, left(t, 3).await);
    assert_eq!((rekey(t, one).await, rekey(t, other).await), (4, 0));
    let found = t.version(UnitKind::Secret, "TOKEN", &digest(former("a")).to_string()).await.unwrap();
    assert_eq!((found.number, found.digest), (3, digest(bound("TOKEN", "a"))));
}

async fn a_version_deleted_meanwhile_is_rekeyed_in_the_next_pass(t: &Fixture) {
    an_old_app(t).await;
    let seen = left(t, 100).await;
    let gone = "UPDATE versions SET content_id = NULL, state = 'deleted' \
                WHERE number = 1 AND unit_id IN (SELECT id FROM units WHERE name = 'TOKEN')";
    t.engine.batch(gone).await;
    assert_eq!(rekey(t, seen).await, 3);
    let again = left(t, 100).await;
    assert_eq!((again.len(), again[0].old.content_id, again[0].old.number), (1, None, 1));
    assert_eq!(rekey(t, again).await, 1);
    let old = digest(former("a")).to_string();
    assert_eq!(t.version(UnitKind::Secret, "TOKEN", &old).await.unwrap().number, 3, "a deleted one is not found");
}

async fn a_change_applied_by_an_older_program_is_not_applied_again(t: &Fixture) {
    let with_key = |former: bool| {
        let mut input = ChangeInput { idempotency_key: Some("k".into()), ..input(change([secret("TOKEN", "a")])) };
        for sealed in input.secrets.values_mut().filter(|_| former) {
            sealed.fingerprint = sealed.former_fingerprint;
        }
        input
    };
    let first = t.catalog.change(&t.app, with_key(true)).await.unwrap();
    assert_eq!(t.catalog.change(&t.app, with_key(false)).await.unwrap(), first);
    let other = ChangeInput { idempotency_key: Some("k".into()), ..input(change([secret("TOKEN", "b")])) };
    assert_eq!(refused(t.catalog.change(&t.app, other).await).code, milepost_model::Code::IdempotencyMismatch);
}

async fn rekeying_waits_for_nodes_with_older_programs(t: &Fixture) {
    assert!(!t.catalog.has_nodes_of_old_keys().await.unwrap());
    t.catalog.node_beat("new").await.unwrap();
    assert!(!t.catalog.has_nodes_of_old_keys().await.unwrap());
    let beat = t.catalog.now().as_millisecond();
    t.engine.batch(&format!("INSERT INTO nodes (name, beat_at) VALUES ('old', {beat})")).await;
    assert!(t.catalog.has_nodes_of_old_keys().await.unwrap());
    t.engine.batch(&format!("UPDATE nodes SET beat_at = {} WHERE name = 'old'", beat - 61_000)).await;
    assert!(!t.catalog.has_nodes_of_old_keys().await.unwrap());
}

on_both_engines!(
    a_rekeyed_version_keeps_its_names_and_its_former_digest,
    an_unchanged_secret_makes_no_version_rekeyed_or_not,
    two_nodes_rekey_a_version_once,
    a_version_deleted_meanwhile_is_rekeyed_in_the_next_pass,
    a_change_applied_by_an_older_program_is_not_applied_again,
    rekeying_waits_for_nodes_with_older_programs,
);
