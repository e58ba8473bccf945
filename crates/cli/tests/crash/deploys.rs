//! The deploys to send: of one unit and of several, with and without files.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use milepost_client::source::{Source, SourceOptions};
use milepost_client::{Client, ClientError};
use milepost_model::change::{Change, UnitKey};
use milepost_model::spec::StaticSpec;
use milepost_model::unit_put::{ConfigPut, FunctionPut, PackagePut, Put, UnitPut, VersionRef};
use milepost_model::{ChangeOutcome, Digest, Selector, UnitKind, UnitName};
use milepost_testkit::cli::CliEnv;

use crate::common::random::Random;

pub const APP: &str = "default";

/// The files of a unit, by path.
pub type Files = BTreeMap<String, String>;

#[derive(Clone)]
pub struct Deploy {
    pub number: usize,
    config: bool,
    function: Option<Folder>,
    site: Option<Folder>,
}

#[derive(Clone)]
struct Folder {
    path: PathBuf,
    files: Files,
}

pub struct Deploys {
    folder: PathBuf,
    random: Random,
    made: usize,
}

impl Deploys {
    pub fn new(env: &CliEnv, seed: u64) -> Self {
        Self { folder: env.work_dir(), random: Random::new(seed), made: 0 }
    }

    pub fn next(&mut self) -> Deploy {
        let number = self.made;
        self.made += 1;
        // The first deploy creates all units, so that later ones can change any of them.
        let kind = if number == 0 { 3 } else { self.random.below(4) };
        Deploy {
            number,
            config: kind == 0 || kind == 3,
            function: (kind == 1 || kind == 3).then(|| self.folder(number, "code", 1)),
            site: (kind == 2 || kind == 3).then(|| self.folder(number, "site", 6)),
        }
    }

    fn folder(&mut self, number: usize, name: &str, files: usize) -> Folder {
        let path = self.folder.join(format!("{number}-{name}"));
        std::fs::create_dir_all(path.join("js")).unwrap();
        let mut written = Files::new();
        for file in 0..files {
            let name = if file % 2 == 0 { format!("{file}.html") } else { format!("js/{file}.js") };
            let length = 1 + self.random.below(40_000) as usize;
            let text = self.random.text(length);
            std::fs::write(path.join(&name), &text).unwrap();
            written.insert(name, text);
        }
        Folder { path, files: written }
    }
}

impl Deploy {
    pub fn message(&self) -> String {
        format!("deploy {}", self.number)
    }

    /// The units that get a version, with their files.
    pub fn units(&self) -> Vec<(UnitKey, Option<Files>)> {
        let mut units = Vec::new();
        let mut add = |kind, name: &str, files: Option<&Folder>| {
            units.push((key(kind, name), files.map(|folder| folder.files.clone())));
        };
        if self.config {
            add(UnitKind::Config, "config", None);
        }
        if let Some(code) = &self.function {
            add(UnitKind::Package, "hello-pkg", Some(code));
            add(UnitKind::Function, "hello", Some(code));
        }
        if let Some(site) = &self.site {
            add(UnitKind::Static, "/", Some(site));
        }
        units
    }

    /// Sends the files, then the change, as the command line does. Always uses the same key.
    pub async fn send(&self, client: &Client) -> Result<ChangeOutcome, ClientError> {
        let mut puts = Vec::new();
        if self.config {
            let set = BTreeMap::from([("deploy".to_owned(), self.number.into())]);
            puts.push(put("config", UnitPut::Config(ConfigPut { set, ..ConfigPut::default() })));
        }
        if let Some(code) = &self.function {
            let deployment = Some(upload(client, code).await?);
            let python = VersionRef { name: name("python"), version: Selector::Latest };
            let package = PackagePut { deployment, environment: Some(python), ..PackagePut::default() };
            puts.push(put("hello-pkg", UnitPut::Package(package)));
            let package = Some(VersionRef { name: name("hello-pkg"), version: Selector::Latest });
            puts.push(put("hello", UnitPut::Function(FunctionPut { package, ..FunctionPut::default() })));
        }
        if let Some(site) = &self.site {
            let spec = StaticSpec {
                path: "/".to_owned(),
                tree: upload(client, site).await?,
                file: false,
                index: "index.html".to_owned(),
                fallback: None,
                error_page: None,
                clean: false,
                expires_ms: None,
            };
            let name = key(UnitKind::Static, "/").name;
            puts.push(Put { name, ..put("site", UnitPut::Static(spec)) });
        }
        // Unchecked: the contents are not real code, and the test only compares bytes.
        let change = Change { message: self.message(), puts, check: false, ..Change::default() };
        client.change(APP, &change, Some(&format!("key of {}", self.message()))).await
    }
}

async fn upload(client: &Client, folder: &Folder) -> Result<Digest, ClientError> {
    let source = Arc::new(Source::open(&folder.path, &SourceOptions::default(), None).unwrap());
    let root = source.root().unwrap();
    client.upload(APP, source, |_| {}, Arc::new(|_| {})).await?;
    Ok(root)
}

fn name(text: &str) -> UnitName {
    UnitName::for_kind(UnitKind::Function, text).unwrap()
}

fn key(kind: UnitKind, name: &str) -> UnitKey {
    UnitKey { kind, name: UnitName::for_kind(kind, name).unwrap() }
}

fn put(unit: &str, content: UnitPut) -> Put {
    Put { name: name(unit), label: None, description: None, group: None, force: false, only: None, unit: content }
}
