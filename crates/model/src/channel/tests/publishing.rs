//! `publish` and `unpublish`: every check of the seed, and the invariants of the list.

use proptest::prelude::*;

use super::super::publish::version_to_publish;
use super::super::{All, ArtifactId, PublishRefusal, Publishing, UnpublishRefusal, publish, unpublish};
use super::{channel, entry, published, version};
use crate::Digest;

fn texts(all: &All) -> Vec<&str> {
    all.versions().iter().map(|entry| entry.version.as_str()).collect()
}

fn latest(all: &All) -> Option<&str> {
    all.latest().map(|entry| entry.version.as_str())
}

fn try_publish(all: &All, text: &str, manifest: &str, stable: Option<&All>) -> Result<All, PublishRefusal> {
    publish(all, Publishing { entry: entry(text), manifest: &version(manifest), stable })
}

#[test]
fn a_greater_version_becomes_latest_and_a_lower_one_is_accepted() {
    let all = published("stable", &["1.1.0", "1.2.0"]);
    let all = try_publish(&all, "1.1.4", "1.1.4", None).expect("a patch of an older line");
    assert_eq!(texts(&all), ["1.2.0", "1.1.4", "1.1.0"]);
    assert_eq!(latest(&all), Some("1.2.0"));
    let beta = published("beta", &["1.2.3-beta+9", "1.2.3-beta+10", "1.2.3-beta"]);
    assert_eq!(texts(&beta), ["1.2.3-beta+10", "1.2.3-beta+9", "1.2.3-beta"]);
    assert_eq!(latest(&beta), Some("1.2.3-beta+10"));
}

#[test]
fn every_check_of_the_seed_rejects() {
    let stable = published("stable", &["1.2.2", "1.2.3"]);
    let beta = channel("beta");
    for (all, text, manifest, said) in [
        (
            &stable,
            "1.2.4-beta+5",
            "1.2.4",
            "`1.2.4-beta+5` has a pre-release, and `stable` has none; publish it with `--pre beta+5`, or release `1.2.4`",
        ),
        (
            &stable,
            "1.2.4+5",
            "1.2.4",
            "`1.2.4+5` has build metadata, and versions in `stable` have none; publish `1.2.4`",
        ),
        (
            &beta,
            "1.2.4",
            "1.2.4",
            "the first pre-release identifier of `1.2.4` is not `beta`; publish it as `1.2.4-beta`",
        ),
        (&beta, "1.2.4-alpha.beta", "1.2.4", "the first pre-release identifier of `1.2.4-alpha.beta` is not `beta`"),
        (&stable, "1.2.4", "1.2.5", "`1.2.4` does not agree with `version: 1.2.5` of the manifest; set it to `1.2.4`"),
        (
            &beta,
            "1.2.4-beta",
            "1.2.4-beta",
            "`version` of the manifest is `1.2.4-beta`, and it must be three plain numbers; write `1.2.4`",
        ),
        (
            &stable,
            "1.2.3",
            "1.2.3",
            "`1.2.3` is already in `stable`, and a published version never changes; raise the version",
        ),
        (&beta, "1.2.3-beta+1", "1.2.3", "`1.2.3-beta+1` is not newer than the stable release `1.2.3`"),
    ] {
        let error = try_publish(all, text, manifest, Some(&stable)).expect_err(text).to_string();
        assert!(error.starts_with(said), "{error}\n  expected {said}");
    }
    assert!(try_publish(&beta, "1.2.4-beta+1", "1.2.4", Some(&stable)).is_ok());
    assert!(matches!(
        try_publish(&beta, "1.2.4-beta", "1.2.4", Some(&beta)),
        Err(PublishRefusal::NotTheStableList { .. })
    ));

    let mut short = entry("1.2.4");
    short.id = ArtifactId::Short("461324714c7d".to_owned());
    let refusal = publish(&stable, Publishing { entry: short, manifest: &version("1.2.4"), stable: None });
    assert!(matches!(refusal, Err(PublishRefusal::NoDigest(_))));
    let long = format!("1.2.4-beta+{}", "a".repeat(150));
    assert!(matches!(try_publish(&beta, &long, "1.2.4", None), Err(PublishRefusal::Tag(_))));
}

#[test]
fn the_version_combines_manifest_and_pre_release() {
    let manifest = version("1.2.3");
    let made = |pre| version_to_publish(&manifest, pre).map(|made| made.to_string());
    assert_eq!(made(None).expect("plain"), "1.2.3");
    assert_eq!(made(Some("beta+123")).expect("with a build"), "1.2.3-beta+123");
    assert_eq!(made(Some("-beta")).expect("as the seed writes it"), "1.2.3-beta");
    assert!(made(Some("")).is_err());
}

#[test]
fn unpublishing_the_latest_clears_or_promotes() {
    let all = published("stable", &["1.0.3", "1.1.3", "1.2.3"]);
    let gone = unpublish(&all, &version("1.2.3"), false, &[]).expect("unpublished");
    assert!(gone.was_latest && gone.artifact_is_free());
    assert_eq!(latest(&gone.all), None);
    assert_eq!(texts(&gone.all), ["1.1.3", "1.0.3"]);
    let promoted = unpublish(&all, &version("1.2.3"), true, &[]).expect("unpublished");
    assert_eq!(latest(&promoted.all), Some("1.1.3"));
    let older = unpublish(&all, &version("1.1.3"), false, &[]).expect("unpublished");
    assert!(!older.was_latest);
    assert_eq!(latest(&older.all), Some("1.2.3"));

    // The previous version can be promoted later too, but only while nothing is latest.
    let later = unpublish(&gone.all, &version("1.2.3"), true, &[]).expect("promoted");
    assert_eq!((latest(&later.all), later.was_latest), (Some("1.1.3"), false));
    let again = unpublish(&later.all, &version("1.2.3"), true, &[]);
    assert!(matches!(again, Err(UnpublishRefusal::Already { .. })));

    // Only a version that is the greatest becomes latest again.
    let lower = try_publish(&gone.all, "1.0.4", "1.0.4", None).expect("published");
    assert_eq!(latest(&lower), None);
    let higher = try_publish(&lower, "1.1.4", "1.1.4", None).expect("published");
    assert_eq!(latest(&higher), Some("1.1.4"));
    assert_eq!(All::read(&higher.write()).expect("readable"), higher);
}

#[test]
fn an_unpublished_version_returns_only_with_its_content() {
    let all = published("stable", &["1.2.3"]);
    let gone = unpublish(&all, &version("1.2.3"), false, &[]).expect("unpublished").all;
    let mut other = entry("1.2.3");
    other.id = Digest::of(b"other").into();
    let refusal = publish(&gone, Publishing { entry: other, manifest: &version("1.2.3"), stable: None });
    assert_eq!(refusal, Err(PublishRefusal::Reused(version("1.2.3"))));
    let back = try_publish(&gone, "1.2.3", "1.2.3", None).expect("the same content");
    assert_eq!(back, all);
    let late_beta = try_publish(&channel("beta"), "1.2.3-beta", "1.2.3", Some(&gone));
    assert!(matches!(late_beta, Err(PublishRefusal::AlreadyStable { .. })));
}

#[test]
fn a_shared_artifact_is_kept() {
    let share = |all: &All, text: &str| {
        let mut entry = entry(text);
        entry.id = Digest::of(b"shared").into();
        let manifest = version(entry.version.core());
        publish(all, Publishing { entry, manifest: &manifest, stable: None }).expect("published")
    };
    let stable = share(&channel("stable"), "1.2.3");
    let beta = share(&share(&channel("beta"), "1.2.3-beta+1"), "1.2.3-beta+2");
    let gone = unpublish(&beta, &version("1.2.3-beta+1"), false, &[&stable, &beta]).expect("unpublished");
    let shared: Vec<String> =
        gone.shared_with.iter().map(|(channel, version)| format!("{channel} {version}")).collect();
    assert_eq!(shared, ["beta 1.2.3-beta+2", "stable 1.2.3"]);
    assert!(!gone.artifact_is_free());
    assert!(unpublish(&stable, &version("1.2.3"), false, &[]).expect("unpublished").artifact_is_free());
}

#[test]
fn unpublishing_an_unknown_version_suggests_a_known_one() {
    let all = published("stable", &["1.2.3"]);
    let error = unpublish(&all, &version("1.2.4"), false, &[]).expect_err("unknown").to_string();
    assert_eq!(error, "`1.2.4` is not in `stable`; did you mean `1.2.3`?");
    let gone = unpublish(&all, &version("1.2.3"), false, &[]).expect("unpublished").all;
    let again = unpublish(&gone, &version("1.2.3"), false, &[]);
    assert!(matches!(again, Err(UnpublishRefusal::Already { .. })));
}

proptest! {
    /// After any sequence of publishing and unpublishing, latest is `None` or the greatest, the
    /// list is strictly descending, no version has two digests, and the document round-trips.
    #[test]
    fn the_list_stays_consistent(
        steps in prop::collection::vec((0_u8..3, 0_u8..3, 0_u8..3, 0_u8..4, any::<bool>()), 1..30),
    ) {
        let mut all = channel("stable");
        let mut bound = std::collections::HashMap::new();
        for (major, minor, patch, kind, flag) in steps {
            let text = format!("{major}.{minor}.{patch}");
            let before = all.clone();
            if kind == 0 {
                if let Ok(gone) = unpublish(&all, &version(&text), flag, &[]) {
                    prop_assert_eq!(gone.was_latest, latest(&before) == Some(text.as_str()));
                    all = gone.all;
                }
            } else {
                let mut entry = entry(&text);
                entry.id = Digest::of(&[kind]).into();
                if let Ok(next) = publish(&all, Publishing { entry, manifest: &version(&text), stable: None }) {
                    prop_assert_eq!(*bound.entry(text.clone()).or_insert(kind), kind, "{} changed its content", text);
                    prop_assert_eq!(next.versions().len(), before.versions().len() + 1);
                    all = next;
                }
            }
            prop_assert!(all.latest().is_none_or(|latest| Some(latest) == all.versions().first()));
            prop_assert!(all.versions().is_sorted_by(|a, b| a.cmp_channel(b).is_gt()));
            prop_assert_eq!(&All::read(&all.write()).expect("readable"), &all);
        }
    }
}
