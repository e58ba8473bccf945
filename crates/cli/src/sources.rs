//! Scans files, with a stat cache, and uploads them with a progress bar.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use milepost_client::UploadSummary;
use milepost_client::source::{Source, SourceOptions};
use milepost_declared::reporter::Progress as _;
use milepost_model::Digest;

use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::folders::{bytes_bar, scanner};

/// Options that name the code of a function or a package.
#[derive(Debug, Clone, Default, Args)]
pub struct CodeArgs {
    /// Code to run: a file, a folder or a zip
    #[arg(long, value_name = "PATH", conflicts_with = "deploy")]
    pub code: Option<PathBuf>,
    /// Source to build: a file, a folder or a zip
    #[arg(long, visible_alias = "sourcearchive", value_name = "PATH")]
    pub src: Option<PathBuf>,
    /// Code that is already built: a folder or a zip
    #[arg(long, visible_alias = "deployarchive", value_name = "PATH")]
    pub deploy: Option<PathBuf>,
    /// Command that builds the source
    #[arg(long, value_name = "COMMAND")]
    pub buildcmd: Option<String>,
}

impl CodeArgs {
    pub fn is_given(&self) -> bool {
        self.code.is_some() || self.src.is_some() || self.deploy.is_some() || self.buildcmd.is_some()
    }

    /// Rejects `--buildcmd` together with code that runs as it is: the command would never run.
    fn check(&self) -> Result<()> {
        let (Some(_), Some(path)) = (&self.buildcmd, self.code.as_ref().or(self.deploy.as_ref())) else {
            return Ok(());
        };
        let option = if self.code.is_some() { "--code" } else { "--deploy" };
        let message = format!("`--buildcmd` does not apply to `{option}`, whose code is not built");
        let hint = match &self.src {
            Some(_) => format!("leave out `{option}` or `--buildcmd`"),
            None => format!("pass the source as `--src {}`, or leave out `--buildcmd`", path.display()),
        };
        Err(Failure::usage(message).hint(hint))
    }

    /// Scans the given paths.
    pub async fn scan(&self) -> Result<Code> {
        self.check()?;
        let mut code = Code::default();
        if let Some(path) = &self.src {
            code.source = Some(code.add(path).await?);
        }
        if let Some(path) = self.code.as_ref().or(self.deploy.as_ref()) {
            code.deployment = Some(code.add(path).await?);
        }
        Ok(code)
    }
}

/// The code of a package: its root digests and the files to upload.
#[derive(Default)]
pub struct Code {
    pub source: Option<Digest>,
    pub deployment: Option<Digest>,
    pub files: Vec<Arc<Source>>,
}

impl Code {
    async fn add(&mut self, path: &Path) -> Result<Digest> {
        let source = scan_some(path, &SourceOptions::default()).await?;
        let root = source.root()?;
        self.files.push(Arc::new(source));
        Ok(root)
    }
}

/// Uploads what the server is missing of several trees, with one progress bar.
pub async fn upload_all(context: &Context<'_>, sources: Vec<Arc<Source>>, what: &str) -> Result<UploadSummary> {
    let bar = Arc::new(bytes_bar(context.ui, what));
    let moving = Arc::clone(&bar);
    let progress = Arc::new(move |bytes| moving.advance(bytes));
    Ok(context.client.upload_many(&context.app, sources, |total| bar.set_total(total), progress).await?)
}

/// Scans files, and fails if there are none.
pub async fn scan_some(path: &Path, options: &SourceOptions) -> Result<Source> {
    let source = scanner().path(path, options).await?;
    if source.summary().files_seen == 0 {
        return Err(
            Failure::new(format!("`{}` contains no files", path.display())).hint("check the path and the exclusions")
        );
    }
    Ok(source)
}
