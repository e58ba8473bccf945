//! An author: publishes to a channel in a folder, with small artifacts.

use std::path::{Path, PathBuf};

use milepost_channels::SecretKey;
use milepost_channels::signature::Statement;
use milepost_model::channel::{All, Artifact, Entry, Publishing, SemVer, publish, unpublish};
use milepost_model::unit_put::{ConfigPut, Put};
use milepost_model::{Digest, Timestamp, UnitName, UnitPut};
use serde_json::json;
use tempfile::TempDir;

pub struct Author {
    folder: TempDir,
    pub all: All,
    key: Option<SecretKey>,
    serial: u64,
}

pub fn semver(text: &str) -> SemVer {
    text.parse().unwrap()
}

/// An artifact whose configuration contains its version.
pub fn artifact(version: &str, inputs: &[&str]) -> Vec<u8> {
    let document = Some(json!({ "version": version, "mail": { "from": "author", "to": "all" } }));
    let unit = UnitPut::Config(ConfigPut { document, ..ConfigPut::default() });
    let name = UnitName::config();
    let put = Put { name, label: None, description: None, group: None, force: false, only: None, unit };
    let inputs = inputs.iter().map(|name| name.parse().unwrap()).collect();
    Artifact { format: 1, units: vec![put], inputs, blobs: Vec::new() }.prefix()
}

impl Author {
    pub fn new() -> Self {
        let all = All::empty("stable".parse().unwrap(), "acme/shop".parse().unwrap());
        Self { folder: tempfile::tempdir().unwrap(), all, key: None, serial: 0 }
    }

    pub fn signing() -> (Self, String) {
        let key = SecretKey::generate(None).unwrap().0;
        let public = key.public().to_string();
        (Self { key: Some(key), ..Self::new() }, public)
    }

    /// The folder of the channel.
    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    pub fn channel(&self) -> PathBuf {
        self.folder.path().join("acme/shop/stable")
    }

    pub fn url(&self) -> String {
        self.channel().display().to_string()
    }

    pub fn publish(&mut self, version: &str, at: Timestamp) {
        self.publish_with(version, at, &artifact(version, &[]));
    }

    pub fn publish_with(&mut self, version: &str, at: Timestamp, artifact: &[u8]) {
        let digest = Digest::of(artifact);
        let entry = Entry::new(semver(version), digest, at);
        let manifest = semver(entry.version.core());
        self.all = publish(&self.all, Publishing { entry, manifest: &manifest, stable: None }).unwrap();
        let folder = self.channel().join("artifacts");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(digest.hex()), artifact).unwrap();
        self.write();
    }

    /// Publishes a version whose artifact is elsewhere.
    pub fn add(&mut self, entry: Entry) {
        let manifest = semver(entry.version.core());
        self.all = publish(&self.all, Publishing { entry, manifest: &manifest, stable: None }).unwrap();
        self.write();
    }

    pub fn unpublish(&mut self, version: &str, promote: bool) {
        self.all = unpublish(&self.all, &semver(version), promote, &[]).unwrap().all;
        self.write();
    }

    /// Writes both files from the list, signed if there is a key.
    pub fn write(&mut self) {
        self.serial += 1;
        self.put("all", &self.all.write());
        self.put("latest", &self.all.to_latest().write());
    }

    pub fn put(&self, file: &str, bytes: &[u8]) {
        std::fs::create_dir_all(self.channel()).unwrap();
        std::fs::write(self.channel().join(file), bytes).unwrap();
        if let Some(key) = &self.key {
            let (package, channel) = (self.all.package().clone(), self.all.name().clone());
            let statement = Statement { package, channel, file: file.to_owned(), serial: self.serial };
            let signature = key.sign(bytes, &statement).unwrap();
            std::fs::write(self.channel().join(format!("{file}.minisig")), signature).unwrap();
        }
    }

    /// Replaces a text in both files, bypassing all checks.
    pub fn tamper(&self, from: &str, to: &str) {
        for file in ["all", "latest"] {
            let path = self.channel().join(file);
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(text.contains(from), "{file}: {text}");
            std::fs::write(path, text.replace(from, to)).unwrap();
        }
    }

    pub fn artifact_file(&self, version: &str) -> PathBuf {
        let digest = self.all.get(&semver(version)).unwrap().id.digest().unwrap();
        self.channel().join("artifacts").join(digest.hex())
    }
}
