//! Packs app versions as artifacts and reads them back.

use serde_json::{Value, json};

use crate::change::UnitKey;
use crate::channel::Artifact;
use crate::channel::artifact::{ArtifactBlob, ArtifactError, HEAD_LEN, merge};
use crate::diff::Contents;
use crate::{Digest, UnitKind, UnitSpec};

fn key(kind: UnitKind, name: &str) -> UnitKey {
    UnitKey { kind, name: name.parse().expect("a name") }
}

fn spec(kind: UnitKind, spec: &Value) -> UnitSpec {
    UnitSpec::from_json(kind, &spec.to_string()).expect("a spec")
}

fn pin(contents: &Contents, kind: UnitKind, name: &str) -> Value {
    let (number, spec) = &contents[&key(kind, name)];
    json!({"name": name, "number": number, "digest": spec.digest()})
}

/// An environment, a package, a function with a secret, a configuration, and a route with `target`.
fn app(target: impl FnOnce(&Contents) -> Value) -> Contents {
    let mut contents = Contents::new();
    let put = |contents: &mut Contents, kind, name: &str, json: Value| {
        contents.insert(key(kind, name), (3, spec(kind, &json)));
    };
    put(&mut contents, UnitKind::Environment, "py", json!({"runtime": "python"}));
    let environment = pin(&contents, UnitKind::Environment, "py");
    let package = json!({"environment": environment, "source": Digest::of(b"s"), "deployment": Digest::of(b"d")});
    put(&mut contents, UnitKind::Package, "code", package);
    let function = json!({
        "entrypoint": "main.main", "package": pin(&contents, UnitKind::Package, "code"),
        "environment": pin(&contents, UnitKind::Environment, "py"), "secrets": ["TOKEN"],
    });
    put(&mut contents, UnitKind::Function, "hello", function);
    put(
        &mut contents,
        UnitKind::Config,
        "config",
        json!({"document": {"greeting": "hi", "mail": {"from": "a", "to": "b"}}}),
    );
    let mut route = target(&contents);
    route["path"] = json!("/hello");
    put(&mut contents, UnitKind::Route, "hello", route);
    contents
}

fn plain(_: &Contents) -> Value {
    json!({"function": "hello"})
}

#[test]
fn packs_deployments_and_names_of_secrets_only() {
    let packed = Artifact::of(&app(plain), |_, _| None).expect("it travels");
    assert_eq!(packed.roots.into_iter().collect::<Vec<_>>(), [Digest::of(b"d")], "the source stays at home");
    assert_eq!(packed.artifact.inputs.iter().map(ToString::to_string).collect::<Vec<_>>(), ["TOKEN"]);
    assert_eq!(packed.artifact.units.len(), 5);
    assert_eq!(packed.notes, [] as [String; 0]);
}

#[test]
fn packing_is_deterministic_and_round_trips() {
    let mut artifact = Artifact::of(&app(plain), |_, _| None).expect("it travels").artifact;
    artifact.blobs.push(ArtifactBlob { digest: Digest::of(b"d"), size: 1, directory: false });
    let bytes = artifact.prefix();
    assert_eq!(bytes, artifact.clone().prefix());
    let head: &[u8; HEAD_LEN] = bytes[..HEAD_LEN].try_into().expect("a head");
    let length = Artifact::document_len(head).expect("a length");
    assert_eq!(Artifact::read(&bytes[HEAD_LEN..HEAD_LEN + length]), Ok(artifact));
}

/// Artifacts are installed years after they were published, so their bytes must not change.
#[test]
fn the_bytes_of_an_artifact_are_fixed() {
    let artifact = Artifact::of(&app(plain), |_, _| None).expect("it travels").artifact;
    assert_eq!(Digest::of(&artifact.prefix()).short(), "4c0718b48953");
}

#[test]
fn packs_current_pins_as_names_and_reports_all_stale_pins() {
    let held = app(|contents| json!({"function": "hello", "version": pin(contents, UnitKind::Function, "hello")}));
    assert!(Artifact::of(&held, |_, _| None).is_ok());

    let other = json!({"name": "hello", "number": 2, "digest": Digest::of(b"older")});
    let mut contents = app(|_| json!({"function": "hello", "version": other}));
    let stale = json!({"environment": {"name": "py", "number": 1, "digest": Digest::of(b"older")}, "deployment": Digest::of(b"x")});
    contents.insert(key(UnitKind::Package, "stale"), (1, spec(UnitKind::Package, &stale)));
    let refused = Artifact::of(&contents, |_, _| None).expect_err("it cannot travel");
    assert_eq!(refused.0.len(), 2, "{refused}");
    assert!(refused.0[0].contains("package stale") && refused.0[1].contains("route hello"), "{refused}");
}

#[test]
fn packs_an_alias_only_if_it_points_at_the_packed_version() {
    let contents = app(|_| json!({"function": "hello", "alias": "stable"}));
    let packed = Artifact::of(&contents, |_, _| Some(3)).expect("it travels");
    assert!(packed.notes[0].contains("alias `stable`"), "{:?}", packed.notes);
    let refused = Artifact::of(&contents, |_, _| Some(2)).expect_err("it points elsewhere");
    assert!(refused.to_string().contains("move the alias"), "{refused}");
}

#[test]
fn overrides_are_merged_into_the_configuration() {
    let artifact = Artifact::of(&app(plain), |_, _| None).expect("it travels").artifact;
    let puts = artifact.puts(&json!({"mail": {"from": "me", "to": null}, "extra": 1}));
    let config = puts.iter().find(|put| put.unit.kind() == UnitKind::Config).expect("a configuration");
    let document = serde_json::to_value(config).expect("json")["spec"]["document"].clone();
    assert_eq!(document, json!({"greeting": "hi", "mail": {"from": "me"}, "extra": 1}));
    assert_eq!(artifact.puts(&Value::Null), artifact.units);

    let mut bare = artifact;
    bare.units.retain(|put| put.unit.kind() != UnitKind::Config);
    assert_eq!(bare.puts(&json!({"a": 1})).len(), bare.units.len() + 1, "overrides alone are a configuration too");
    assert_eq!(bare.puts(&json!({})).len(), bare.units.len());
}

#[test]
fn merge_follows_rfc_7396() {
    let cases = [
        (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": "b"}), json!({"a": null}), json!({})),
        (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
        (json!({"a": "c"}), json!({"a": {"b": 1}}), json!({"a": {"b": 1}})),
        (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
    ];
    for (mut target, patch, expected) in cases {
        merge(&mut target, &patch);
        assert_eq!(target, expected, "{patch}");
    }
}

#[test]
fn rejects_invalid_artifacts() {
    let good = Artifact::of(&app(plain), |_, _| None).expect("it travels").artifact;
    let altered = |change: fn(&mut Value)| {
        let mut value = serde_json::to_value(&good).expect("json");
        change(&mut value);
        Artifact::read(value.to_string().as_bytes())
    };
    let secret = json!({"name": "TOKEN", "kind": "secret", "spec": {"value": "x"}});
    assert_eq!(altered(|value| value["format"] = json!(2)), Err(ArtifactError::Format(2)));
    assert!(matches!(altered(|value| value["more"] = json!(2)), Err(ArtifactError::Document(_))));
    let with_secret = {
        let mut value = serde_json::to_value(&good).expect("json");
        value["units"][0] = secret;
        value
    };
    assert!(matches!(Artifact::read(with_secret.to_string().as_bytes()), Err(ArtifactError::Secret(_))));
    let twice = json!([{"digest": Digest::of(b"a"), "size": 1}, {"digest": Digest::of(b"a"), "size": 1}]);
    let doubled = {
        let mut value = serde_json::to_value(&good).expect("json");
        value["blobs"] = twice;
        value
    };
    assert_eq!(Artifact::read(doubled.to_string().as_bytes()), Err(ArtifactError::Order));
    assert_eq!(Artifact::document_len(b"MPAPP002\0\0\0\0\0\0\0\0"), Err(ArtifactError::Magic));
    assert!(matches!(Artifact::document_len(b"MPAPP001\xff\xff\xff\xff\0\0\0\0"), Err(ArtifactError::TooLong(_))));
}

proptest::proptest! {
    /// Reading must never panic.
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..400)) {
        let _ = Artifact::read(&bytes);
    }
}
