//! A signed channel with 1.0.0 and 1.1.0, on a scriptable web server.

use std::fs;

use milepost_channels::{PublicKey, Source, SourceOptions, StoreOptions};
use tempfile::TempDir;

use super::web::{Answer, Web};
use super::{Author, key, options, package};

pub struct World {
    pub web: Web,
    pub home: TempDir,
    pub key: PublicKey,
    pub author: Author,
}

impl World {
    pub async fn new() -> Self {
        let (key, _) = key();
        let public = key.public().clone();
        let home = tempfile::tempdir().unwrap();
        let author =
            Author::at(home.path().to_str().unwrap(), StoreOptions { key: Some(key), ..StoreOptions::default() });
        author.publish("1.0.0").await.unwrap();
        author.publish("1.1.0").await.unwrap();
        let world = Self { web: Web::start().await, home, key: public, author };
        world.upload();
        world
    }

    /// Copies what the author has written since then to the web server.
    pub fn upload(&self) {
        self.web.put_folder(self.home.path());
    }

    pub fn path(&self, file: &str) -> String {
        format!("/{}/stable/{file}", package())
    }

    /// A file as the author wrote it.
    pub fn file(&self, file: &str) -> Vec<u8> {
        fs::read(self.home.path().join(format!("{}/stable/{file}", package()))).unwrap()
    }

    pub fn put(&self, file: &str, answer: Answer) {
        self.web.put(&self.path(file), answer);
    }

    pub fn put_text(&self, file: &str, text: &str) {
        self.put(file, Answer::Bytes(text.as_bytes().to_vec()));
    }

    pub fn url(&self) -> String {
        format!("{}/{}/stable", self.web.url, package())
    }

    pub fn source(&self) -> Source {
        self.source_with(options())
    }

    pub fn keyed(&self) -> Source {
        self.source_with(SourceOptions { key: Some(self.key.clone()), ..options() })
    }

    pub fn source_with(&self, options: SourceOptions) -> Source {
        Source::open(&self.url(), options).unwrap()
    }
}
