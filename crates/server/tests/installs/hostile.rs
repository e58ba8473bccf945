//! Malicious artifacts, each with the digest that its channel names. None may affect anything
//! outside its app.

use std::collections::BTreeMap;
use std::sync::Arc;

use milepost_client::source::{Source, SourceOptions};
use milepost_model::change::Change;
use milepost_model::channel::Artifact;
use milepost_model::channel::artifact::ArtifactBlob;
use milepost_model::install::{CheckResult, InstallSettings};
use milepost_model::pack::{BlobKind, encode_header};
use milepost_model::tree::{FileEntry, Leaf, Tree};
use milepost_model::{Digest, PlanName};
use serde_json::{Value, json};

use crate::author::Author;
use crate::stage::{Stage, at};

/// An artifact with these units and blobs, without any validation.
fn forged(units: Value, blobs: &[(BlobKind, Vec<u8>)]) -> Vec<u8> {
    let blobs: BTreeMap<Digest, _> = blobs.iter().map(|blob| (Digest::of(&blob.1), blob)).collect();
    let listed = blobs.iter().map(|(digest, (kind, bytes))| ArtifactBlob {
        digest: *digest,
        size: bytes.len() as u64,
        directory: *kind == BlobKind::Directory,
    });
    let units = serde_json::from_value(units).unwrap();
    let artifact = Artifact { format: 1, units, inputs: [].into(), blobs: listed.collect() };
    let mut bytes = artifact.prefix();
    for (digest, (kind, blob)) in &blobs {
        bytes.extend(encode_header(*kind, *digest, blob.len() as u64));
        bytes.extend(blob);
    }
    bytes
}

fn file(text: &str) -> Leaf {
    Leaf::File(FileEntry { digest: Digest::of(text.as_bytes()), size: text.len() as u64, executable: false })
}

fn link(target: &str) -> Leaf {
    Leaf::Link { target: target.to_owned() }
}

fn site(root: Digest) -> Value {
    json!([{ "kind": "static", "name": "site", "spec": { "path": "/", "tree": root } }])
}

/// An artifact whose static item is a tree of these leaves, with the files' bytes.
fn tree(leaves: &[(&str, Leaf)], files: &[&str], alter: impl Fn(Vec<u8>) -> Vec<u8>) -> Vec<u8> {
    let mut tree = Tree::default();
    for (path, leaf) in leaves {
        tree.insert(path, leaf.clone()).unwrap();
    }
    let encoded = tree.encode();
    let directories = encoded.directories.iter().map(|(_, bytes)| (BlobKind::Directory, alter(bytes.clone())));
    let mut blobs: Vec<_> = directories.collect();
    let root = match blobs.as_slice() {
        [(_, only)] => Digest::of(only),
        _ => encoded.root,
    };
    blobs.extend(files.iter().map(|text| (BlobKind::File, text.as_bytes().to_vec())));
    forged(site(root), &blobs)
}

fn replaced(from: &'static str, to: &'static str) -> impl Fn(Vec<u8>) -> Vec<u8> {
    move |bytes| String::from_utf8(bytes).unwrap().replace(from, to).into_bytes()
}

struct Scene {
    stage: Stage,
    author: Author,
    patch: u32,
}

impl Scene {
    async fn new() -> Self {
        let (stage, mut author) = (Stage::new().await, Author::new());
        author.publish("1.0.0", at("2026-11-01T00:00:00Z"));
        stage.follow(&author.url(), InstallSettings::default()).await;
        Self { stage, author, patch: 0 }
    }

    async fn with_another_app() -> Self {
        let scene = Self::new().await;
        let client = &scene.stage.client;
        client.app_create(&"other".parse().unwrap(), PlanName::Standard).await.unwrap();
        let config = json!({ "puts": [{ "kind": "config", "name": "config", "spec": { "set": { "a": 1 } } }] });
        let change: Change = serde_json::from_value(config).unwrap();
        client.change("other", &change, None).await.unwrap();
        scene
    }

    async fn events_of_the_other(&self) -> usize {
        self.stage.client.event_list("other", 100, None).await.unwrap().items.len()
    }

    /// Publishes the artifact as the next patch, which the install takes if it can, and returns the
    /// check.
    async fn meets(&mut self, artifact: &[u8]) -> (CheckResult, String) {
        self.patch += 1;
        self.author.publish_with(&format!("1.0.{}", self.patch), at("2026-11-18T00:00:00Z"), artifact);
        self.stage.clock.advance_ms(4_000_000);
        self.stage.poll().await;
        let check = self.stage.last_check().await;
        (check.result, check.message)
    }
}

#[tokio::test]
async fn rejects_artifacts_that_escape_their_app() {
    let mut scene = Scene::new().await;
    let same = |bytes: Vec<u8>| bytes;
    let whole = tree(&[("a.txt", file("a"))], &["a"], same);
    let secret = json!([{ "kind": "secret", "name": "TOKEN", "spec": { "value": "x" } }]);
    let elsewhere = Digest::of(b"what another app stored");
    let cases = [
        ("a link to the machine", tree(&[("l", link("inside"))], &[], replaced("inside", "/etc/passwd"))),
        ("a link out of the tree", tree(&[("l", link("inside"))], &[], replaced("inside", "../x"))),
        ("a name that climbs", tree(&[("aaaaaaaa", file("a"))], &["a"], replaced("aaaaaaaa", "../../aa"))),
        ("an absolute name", tree(&[("aaaaaaaa", file("a"))], &["a"], replaced("aaaaaaaa", "/aaaaaaa"))),
        ("a name of two dots", tree(&[("aa", file("a"))], &["a"], replaced("\"aa\"", "\"..\""))),
        ("a file that it does not carry", tree(&[("a.txt", file("what another app stored"))], &[], same)),
        ("a tree that it does not carry", forged(site(elsewhere), &[])),
        ("the value of a secret", forged(secret, &[])),
        ("more bytes than it has", [whole.as_slice(), b"more"].concat()),
        ("a file under another digest", {
            let mut bytes = whole.clone();
            let last = bytes.len() - 1;
            bytes[last] ^= 1;
            bytes
        }),
    ];
    // Two of the artifacts name this file only by its digest. It is on the server, in another app.
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("f"), "what another app stored").unwrap();
    let source = Arc::new(Source::open(folder.path(), &SourceOptions::default(), None).unwrap());
    scene.stage.client.app_create(&"other".parse().unwrap(), PlanName::Standard).await.unwrap();
    scene.stage.client.upload("other", source, |_| {}, Arc::new(|_| {})).await.unwrap();
    for (what, artifact) in cases {
        let before = scene.stage.events().await.len();
        let (result, message) = scene.meets(&artifact).await;
        assert_eq!(result, CheckResult::Refused, "{what}: {message}");
        assert_eq!(scene.stage.version().await, "1.0.0", "{what}");
        assert_eq!(scene.stage.events().await.len(), before, "{what} left something behind");
    }
    assert_eq!(scene.meets(&whole).await.0, CheckResult::Ok);
}

/// Mutated bytes under a matching digest: either the artifact is rejected or the app contains what
/// it says, and the server keeps running.
#[tokio::test]
async fn mutated_artifacts_affect_neither_the_server_nor_other_apps() {
    let mut scene = Scene::with_another_app().await;
    let before = scene.events_of_the_other().await;
    let whole = tree(&[("d/a.txt", file("a")), ("d/b.txt", file("bb"))], &["a", "bb"], |bytes| bytes);
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    let mut refused = 0;
    for _ in 0..80 {
        let mut bytes = whole.clone();
        for _ in 0..=random(3) {
            let at = random(bytes.len());
            match random(3) {
                0 => bytes[at] ^= 1 << random(8),
                1 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, u8::try_from(random(256)).unwrap()),
            }
        }
        let (result, message) = scene.meets(&bytes).await;
        assert!(!message.contains("inside the server"), "{message}");
        assert_eq!(scene.events_of_the_other().await, before, "the other app is as it was");
        if result == CheckResult::Ok {
            // The mutated artifact is valid, so the next one needs an app that never had it.
            scene = Scene::with_another_app().await;
        } else {
            assert_eq!(scene.stage.version().await, "1.0.0");
            refused += 1;
        }
    }
    assert!(refused >= 60, "only {refused} of 80 were refused");
}
