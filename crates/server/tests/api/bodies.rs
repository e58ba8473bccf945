//! Packs, trees and changes for tests.

use milepost_model::Digest;
use milepost_model::pack::{BlobKind, MAGIC, encode_header};
use milepost_model::tree::{FileEntry, Leaf, Tree};
use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::server::TestServer;

/// A pack of these blobs, each under its own digest.
pub fn pack(blobs: &[(BlobKind, &[u8])]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    for (kind, blob) in blobs {
        bytes.extend(encode_header(*kind, Digest::of(blob), blob.len() as u64));
        bytes.extend(*blob);
    }
    bytes
}

pub fn file(text: &str) -> Leaf {
    Leaf::File(FileEntry { digest: Digest::of(text.as_bytes()), size: text.len() as u64, executable: false })
}

pub fn link(target: &str) -> Leaf {
    Leaf::Link { target: target.to_owned() }
}

pub fn tree(leaves: &[(&str, Leaf)]) -> Tree {
    let mut tree = Tree::default();
    for (path, leaf) in leaves {
        tree.insert(path, leaf.clone()).unwrap();
    }
    tree
}

/// The root of a tree of text files, and a pack with all its files and directories.
pub fn packed_tree(files: &[(&str, &str)]) -> (Digest, Vec<u8>) {
    let leaves: Vec<(&str, Leaf)> = files.iter().map(|(path, text)| (*path, file(text))).collect();
    let encoded = tree(&leaves).encode();
    let mut blobs: Vec<(BlobKind, &[u8])> = files.iter().map(|(_, text)| (BlobKind::File, text.as_bytes())).collect();
    blobs.extend(encoded.directories.iter().map(|(_, bytes)| (BlobKind::Directory, bytes.as_slice())));
    (encoded.root, pack(&blobs))
}

/// The directories of a tree whose files are already on the server, or that has no files.
pub fn directories_of(tree: &Tree) -> (Digest, Vec<u8>) {
    let encoded = tree.encode();
    let blobs: Vec<(BlobKind, &[u8])> =
        encoded.directories.iter().map(|(_, bytes)| (BlobKind::Directory, bytes.as_slice())).collect();
    (encoded.root, pack(&blobs))
}

pub fn static_item(name: &str, root: Digest) -> Value {
    json!({ "puts": [{ "kind": "static", "name": name, "spec": { "path": "/", "tree": root } }] })
}

pub fn config(key: &str, value: impl Into<Value>) -> Value {
    json!({ "puts": [{ "kind": "config", "name": "config", "spec": { "set": { key: value.into() } } }] })
}

/// A function and its package in one change. Skips the check, since the code mostly cannot be
/// loaded.
pub fn function(name: &str, root: Digest) -> Value {
    json!({ "check": false, "message": format!("put {name}"), "puts": [
        { "kind": "package", "name": name, "spec": { "environment": { "name": "python" }, "deployment": root } },
        { "kind": "function", "name": name, "spec": { "package": { "name": name }, "entrypoint": "main" } },
    ] })
}

impl TestServer {
    pub async fn upload_to(&self, app: &str, pack: Vec<u8>) -> Response {
        self.ask(Method::POST, &format!("/apps/{app}/blobs")).body(pack).send().await.unwrap()
    }

    /// Uploads a tree of text files to app `default`.
    pub async fn store(&self, files: &[(&str, &str)]) -> Digest {
        let (root, pack) = packed_tree(files);
        let response = self.upload_to("default", pack).await;
        assert!(response.status().is_success(), "{}", response.text().await.unwrap());
        root
    }

    /// Returns the digests that the server does not have.
    pub async fn missing(&self, digests: &[Digest]) -> Vec<Digest> {
        let (status, answer) =
            self.send(Method::POST, "/apps/default/blobs/missing", &json!({ "digests": digests })).await;
        assert_eq!(status, 200, "{answer}");
        serde_json::from_value(answer["missing"].clone()).unwrap()
    }
}
