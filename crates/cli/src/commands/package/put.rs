//! Options shared by `create` and `update`.

use std::sync::Arc;

use clap::Args;
use milepost_client::source::Source;
use milepost_model::unit_put::{PackagePut, Put, PutOnly, UnitPut, VersionRef};
use milepost_model::{Selector, UnitKind, UnitName};

use crate::commands::shared::{self, parse_label};
use crate::failure::Result;
use crate::sources::CodeArgs;

#[derive(Debug, Clone, Args)]
pub struct PackageArgs {
    #[command(flatten)]
    pub code: CodeArgs,
    /// The environment: python, nodejs, binary, or an environment of the app
    #[arg(long, value_name = "ENVIRONMENT")]
    pub env: Option<String>,
    /// Label of the new version, like `v1.0.1`
    #[arg(long, visible_alias = "label", value_name = "LABEL")]
    version: Option<String>,
    /// Description of the version
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
}

impl PackageArgs {
    /// Returns the put, and the files to upload for it.
    pub async fn put(&self, name: UnitName, update: bool) -> Result<(Put, Vec<Arc<Source>>)> {
        let code = self.code.scan().await?;
        let environment = match &self.env {
            Some(name) => {
                Some(VersionRef { name: UnitName::for_kind(UnitKind::Environment, name)?, version: Selector::Latest })
            }
            None => None,
        };
        let package = PackagePut {
            merge: update || !self.code.is_given(),
            environment,
            source: code.source,
            deployment: code.deployment,
            build_command: self.code.buildcmd.clone(),
            build_log: None,
        };
        let mut put = shared::put(name, UnitPut::Package(package));
        put.label = parse_label(self.version.as_deref())?;
        put.description.clone_from(&self.description);
        put.force = !update || put.label.is_some();
        put.only = update.then_some(PutOnly::Existing);
        Ok((put, code.files))
    }
}
