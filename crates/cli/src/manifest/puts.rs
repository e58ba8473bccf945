//! From the manifest to the puts of one change: the files are sent first, so that the change can name their trees.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use milepost_client::UploadSummary;
use milepost_client::source::SourceOptions;
use milepost_model::spec::StaticSpec;
use milepost_model::unit_put::{ConfigPut, FunctionPut, PackagePut, Put, UnitPut, VersionRef};
use milepost_model::{Digest, Selector, UnitName};

use super::Manifest;
use super::function::Code;
use crate::commands::shared;
use crate::context::Context;
use crate::failure::Result;
use crate::sources;

/// What editors, interpreters and desktops leave behind. It never belongs to an app, and would make a version of its own
/// while somebody edits.
pub const LITTER: [&str; 9] = ["__pycache__/", "*.pyc", "*.swp", "*.swx", "*.swo", "*~", ".#*", ".DS_Store", "4913"];

/// Trees that were sent, by what was read: functions often share a folder.
#[derive(Default)]
struct Trees {
    known: HashMap<(PathBuf, Vec<String>, bool), Digest>,
    sent: UploadSummary,
}

impl Manifest {
    /// Sends what the server does not have; answers the puts, and how much was sent.
    pub async fn puts(&self, context: &Context<'_>) -> Result<(Vec<Put>, UploadSummary)> {
        let mut trees = Trees::default();
        let mut puts = Vec::new();
        if let Some(document) = &self.config {
            let config = ConfigPut { document: Some(document.clone()), ..ConfigPut::default() };
            puts.push(shared::put(UnitName::config(), UnitPut::Config(config)));
        }
        for item in &self.functions {
            let package = match &item.code {
                Code::Shared(package) => package.clone(),
                Code::Own { package, src, exclude } => {
                    let tree = trees.send(context, src, exclude, false).await?;
                    let environment = item.put.environment.clone();
                    let put = PackagePut { environment, deployment: Some(tree), ..PackagePut::default() };
                    puts.push(shared::put(package.clone(), UnitPut::Package(put)));
                    VersionRef { name: package.clone(), version: Selector::Latest }
                }
            };
            let function = FunctionPut { package: Some(package), ..item.put.clone() };
            let mut put = shared::put(item.name.clone(), UnitPut::Function(function));
            put.description.clone_from(&item.description);
            puts.push(put);
        }
        for item in &self.statics {
            let tree = trees.send(context, &item.src, &item.exclude, true).await?;
            let spec = StaticSpec { tree, ..item.spec.clone() };
            puts.push(shared::put(item.name.clone(), UnitPut::Static(spec)));
        }
        puts.extend(self.triggers.iter().map(|(put, _)| put.clone()));
        Ok((puts, trees.sent))
    }
}

impl Trees {
    async fn send(
        &mut self,
        context: &Context<'_>,
        src: &Path,
        exclude: &[String],
        keep_archives: bool,
    ) -> Result<Digest> {
        let key = (src.to_owned(), exclude.to_vec(), keep_archives);
        if let Some(tree) = self.known.get(&key) {
            return Ok(*tree);
        }
        let litter = LITTER.iter().map(|&pattern| pattern.to_owned());
        let exclude = exclude.iter().cloned().chain(litter).collect();
        let options = SourceOptions { exclude, keep_archives, ..SourceOptions::default() };
        let (tree, summary) = sources::upload(context, src, &options).await?;
        self.sent.files += summary.files;
        self.sent.files_sent += summary.files_sent;
        self.sent.bytes_sent += summary.bytes_sent;
        self.sent.requests += summary.requests;
        self.known.insert(key, tree);
        Ok(tree)
    }
}
