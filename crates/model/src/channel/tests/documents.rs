//! Reading and writing `latest` and `all`: the seed's own examples, rejected documents, and
//! arbitrary bytes.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::index::MAX_VERSIONS;
use super::super::{All, Entry, Latest};
use super::{at, entry, published, version};

const SEED_LATEST: &str = r#"{
 "name": "stable",
 "type": "channel",
 "package": "crossplane/aws-stack",
 "latest":
  {
    "version": "1.2.3",
    "id": "461324714c7d",
    "createTime": "2019-09-12T17:39:04Z"
  }
}"#;

const SEED_BETA: &str = r#" {
  "name": "beta",
  "type": "channel",
  "package": "crossplane/aws-stack",
  "latest":
   {
     "version": "1.2.3-beta+123",
     "id": "461324714c7d",
     "createTime": "2019-09-12T17:39:04Z"
   }
 }"#;

const SEED_ALL: &str = r#"{
 "name": "stable",
 "type": "all",
 "package": "crossplane/aws-stack",
 "latest": {"version": "1.2.3", "id": "461324714c7d", "createTime": "2019-09-12T17:39:04Z"},
  "versions": [
     {"version": "1.2.3", "id": "236565319b99", "createTime": "2019-09-12T17:39:04Z"},
     {"version": "1.1.3", "id": "72f201c9f096", "createTime": "2019-09-2T4:39:04Z"},
     {"version": "1.0.3", "id": "ea2d2f10bfdb", "createTime": "2019-09-1T23:39:04Z"}
   ]}"#;

fn texts(entries: &[Entry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.version.as_str()).collect()
}

#[test]
fn reads_the_examples_of_the_seed() {
    for (text, version) in [(SEED_LATEST, "1.2.3"), (SEED_BETA, "1.2.3-beta+123")] {
        let latest = Latest::read(text.as_bytes()).expect("the seed's latest");
        assert_eq!(latest.latest.expect("an entry").version.as_str(), version);
    }
    let all = All::read(SEED_ALL.as_bytes()).expect("the seed's all");
    assert_eq!(texts(all.versions()), ["1.2.3", "1.1.3", "1.0.3"]);
    assert_eq!(all.versions()[1].create_time, at("2019-09-02T04:39:04Z"));
    assert_eq!(all.package().as_str(), "crossplane/aws-stack");
    assert!(all.versions().iter().all(|entry| entry.id.digest().is_none()), "short ids are never fetched by");
}

#[test]
fn writes_the_keys_of_the_seed_in_its_order() {
    let all = published("stable", &["1.0.3", "1.2.3"]);
    let (old, new) = (entry("1.0.3").id, entry("1.2.3").id);
    let expected = format!(
        r#"{{
  "name": "stable",
  "type": "all",
  "package": "acme/shop",
  "latest": {{
    "version": "1.2.3",
    "id": "{new}",
    "createTime": "2026-01-01T00:00:00Z"
  }},
  "versions": [
    {{
      "version": "1.2.3",
      "id": "{new}",
      "createTime": "2026-01-01T00:00:00Z"
    }},
    {{
      "version": "1.0.3",
      "id": "{old}",
      "createTime": "2026-01-01T00:00:00Z"
    }}
  ]
}}
"#
    );
    assert_eq!(String::from_utf8(all.write()).expect("text"), expected);
    let (head, _) = expected.split_once(",\n  \"versions\"").expect("the list comes last");
    let expected = format!("{head}\n}}\n").replace("\"all\"", "\"channel\"");
    assert_eq!(String::from_utf8(all.to_latest().write()).expect("text"), expected);
}

#[test]
fn a_channel_without_a_latest_has_null() {
    let all = super::channel("beta");
    let text = String::from_utf8(all.to_latest().write()).expect("text");
    assert!(text.contains("\"latest\": null"), "{text}");
    assert_eq!(Latest::read(text.as_bytes()).expect("readable").latest, None);
    assert_eq!(All::read(&all.write()).expect("readable"), all);
}

#[test]
fn preserves_unknown_fields() {
    let mut value: Value = serde_json::from_str(SEED_ALL).expect("json");
    value["notesUrl"] = json!("https://example.com");
    value["versions"][1]["size"] = json!(42);
    value["versions"][1]["registry"] = json!("registry.example.com:5000/team/shop");
    let all = All::read(value.to_string().as_bytes()).expect("readable");
    let again: Value = serde_json::from_slice(&all.write()).expect("json");
    assert_eq!(again["notesUrl"], value["notesUrl"]);
    assert_eq!(again["versions"][1]["size"], json!(42));
    assert_eq!(again["versions"][1]["registry"], json!("registry.example.com:5000/team/shop"));
    assert_eq!(All::read(&all.write()).expect("readable"), all);
}

type Change = Box<dyn FnOnce(&mut Value)>;

/// Changes the seed's `all` and returns the resulting error.
fn refused(change: impl FnOnce(&mut Value)) -> String {
    let mut value: Value = serde_json::from_str(SEED_ALL).expect("json");
    change(&mut value);
    All::read(value.to_string().as_bytes()).expect_err("refused").to_string()
}

#[test]
fn errors_name_the_file_and_the_field() {
    let full = |letter: &str| format!("sha256:{}", letter.repeat(64));
    let cases: Vec<(Change, &str)> = vec![
        (Box::new(|all| all["name"] = json!("Stable")), "`name`: `Stable` is not a valid channel name"),
        (Box::new(|all| all["package"] = json!("../etc")), "`package`: `../etc` is not a valid package name"),
        (Box::new(|all| all["type"] = json!("channel")), "`type`: it is `channel`, and this file has `all`"),
        (Box::new(|all| all["latest"] = json!(1)), "`latest`: an object is needed, and this is a number"),
        (Box::new(|all| drop(all.as_object_mut().expect("map").remove("latest"))), "`latest`: it is missing"),
        (Box::new(|all| all["versions"] = json!({})), "`versions`: a list is needed, and this is an object"),
        (
            Box::new(|all| all["versions"][2]["version"] = json!("1.0")),
            "`versions[2].version`: `1.0` is not a semantic version",
        ),
        (
            Box::new(|all| all["versions"][1]["createTime"] = json!("now")),
            "`versions[1].createTime`: `now` is not a time",
        ),
        (
            Box::new(|all| all["versions"][0]["id"] = json!("xyz")),
            "`versions[0].id`: `xyz` is not the id of an artifact",
        ),
        (
            Box::new(|all| all["versions"][0]["id"] = json!(null)),
            "`versions[0].id`: a text is needed, and this is null",
        ),
        (
            Box::new(|all| all["versions"][0]["registry"] = json!("http://x/y")),
            "`versions[0].registry`: it is not a repository",
        ),
        (
            Box::new(|all| all["versions"][2]["version"] = json!("1.0.3-beta")),
            "`versions[2].version`: `1.0.3-beta` has a pre-release",
        ),
        (
            Box::new(|all| all["name"] = json!("beta")),
            "`versions[0].version`: `1.2.3` does not begin its pre-release with `beta`",
        ),
        (Box::new(|all| all["versions"][2]["version"] = json!("1.1.3")), "`versions`: `1.1.3` is there twice"),
        (Box::new(|all| all["latest"]["version"] = json!("1.2.4")), "`latest`: `1.2.4` is not in `versions`"),
        (
            Box::new(|all| all["latest"] = all["versions"][1].clone()),
            "`latest`: `1.1.3` is lower than `1.2.3` of `versions`",
        ),
        (
            Box::new(move |all| {
                all["latest"]["id"] = json!(full("a"));
                all["versions"][0]["id"] = json!(full("b"));
            }),
            "`latest.id`: `1.2.3` has another id in `versions`",
        ),
        (
            Box::new(|all| all["latest"]["createTime"] = json!("2020-01-01T00:00:00Z")),
            "`latest.createTime`: `1.2.3` has another time in `versions`",
        ),
        (
            Box::new(|all| all["unpublished"] = json!([all["versions"][0].clone()])),
            "`versions`: `1.2.3` is there twice",
        ),
    ];
    for (change, said) in cases {
        let error = refused(change);
        assert!(
            error.starts_with(&format!("the channel's file `all` is not usable: {said}")),
            "{error}\n  expected {said}"
        );
    }
    let stable_beta = SEED_LATEST.replace("1.2.3", "1.2.3-beta");
    let error = Latest::read(stable_beta.as_bytes()).expect_err("refused").to_string();
    assert!(error.contains("`latest` is not usable: `latest.version`: `1.2.3-beta` has a pre-release"), "{error}");
}

#[test]
fn rejects_a_truncated_file_at_every_length() {
    let bytes = published("stable", &["1.0.3", "1.2.3"]).write();
    for length in 0..bytes.len() - 2 {
        let error = All::read(&bytes[..length]).expect_err("half of a document").to_string();
        assert!(error.contains("it ends too early, perhaps it is being written"), "{length}: {error}");
    }
}

#[test]
fn enforces_size_limits() {
    let many: Vec<Value> = (0..=MAX_VERSIONS)
        .map(|patch| format!("1.0.{patch}"))
        .map(|text| json!({"version": text, "id": "461324714c7d", "createTime": "2026-01-01T00:00:00Z"}))
        .collect();
    let error = refused(|all| {
        all["latest"] = Value::Null;
        all["versions"] = json!(many);
    });
    assert!(error.contains("it has 10001 entries, more than the limit of 10000"), "{error}");
    let error = All::read(&vec![b' '; (8 << 20) + 1]).expect_err("too large").to_string();
    assert!(error.contains("more than the limit of 8388608"), "{error}");
    assert!(All::read("[".repeat(100_000).as_bytes()).is_err(), "no depth ends the program");
    let long = format!("1.0.3+{}", "a".repeat(200));
    assert!(refused(|all| all["versions"][2]["version"] = json!(long)).contains("more than 128 characters"));
}

#[test]
fn rejects_another_package_another_channel_and_a_wrong_clock() {
    let all = published("stable", &["1.2.3"]);
    let (package, other) = (all.package().clone(), "acme/other".parse().expect("a package"));
    assert!(all.expect(&package, all.name()).is_ok());
    let error = all.expect(&other, all.name()).expect_err("another package").to_string();
    assert!(error.contains("`package`: it is `acme/shop`, and `acme/other` was asked for"), "{error}");
    let error = all.to_latest().expect(&package, &"beta".parse().expect("a name")).expect_err("another").to_string();
    assert!(error.contains("`name`: it is `stable`, and `beta` was asked for"), "{error}");

    assert!(all.check_clock(at("2025-12-31T23:50:00Z")).is_ok());
    let error = all.to_latest().check_clock(at("2025-12-31T23:49:59Z")).expect_err("from the future").to_string();
    assert!(error.contains("one of the two clocks is wrong"), "{error}");
}

#[test]
fn an_all_without_the_version_of_latest_is_behind() {
    let (old, new) = (published("stable", &["1.0.0"]), published("stable", &["1.0.0", "1.1.0"]));
    assert!(old.is_behind(&new.to_latest()));
    assert!(!new.is_behind(&old.to_latest()), "latest is written last, so it may be the older one");
    assert!(!new.is_behind(&new.to_latest()));
    let withdrawn = super::super::unpublish(&new, &version("1.1.0"), true, &[]).expect("unpublished").all;
    assert!(!withdrawn.is_behind(&new.to_latest()), "latest still names what was just taken back");
}

proptest! {
    #[test]
    fn reading_arbitrary_bytes_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = All::read(&bytes);
        let _ = Latest::read(&bytes);
    }

    /// A document with one changed byte is rejected, or is consistent and round-trips.
    #[test]
    fn a_damaged_document_is_rejected_or_consistent(at in 0_usize..2000, byte in any::<u8>()) {
        let mut bytes = published("stable", &["1.0.3", "1.2.3", "1.1.4", "2.0.0"]).write();
        let place = at % bytes.len();
        bytes[place] = byte;
        if let Ok(all) = All::read(&bytes) {
            prop_assert_eq!(All::read(&all.write()).expect("readable"), all.clone());
            prop_assert!(all.latest().is_none_or(|latest| latest == &all.versions()[0]));
            prop_assert!(all.versions().is_sorted_by(|a, b| a.cmp_channel(b).is_gt()));
        }
    }
}
