use clap::Args;
use milepost_client::UploadSummary;
use milepost_client::source::SourceOptions;
use milepost_model::UnitKind;
use milepost_model::spec::StaticSpec;
use milepost_model::unit_put::{UnitPut, check_static};
use std::path::PathBuf;
use std::sync::Arc;

use crate::commands::shared::{self, ChangeArgs};
use crate::context::{Context, unit_key};
use crate::failure::{Failure, Result};
use crate::folders;
use crate::sources;

/// Add or update static files
///
/// Only files that the server does not have are sent. If no file changed, no version is created.
#[derive(Debug, Args)]
pub struct AddArgs {
    /// The folder or file to serve
    src: PathBuf,
    /// The URL path to serve it at
    #[arg(long, value_name = "PATH")]
    path: String,
    /// Exclude files that match (can be repeated)
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<String>,
    /// The file to serve for a folder
    #[arg(long, value_name = "FILE", default_value = "index.html")]
    index: String,
    /// The file to serve for unknown paths, with status 200, for single-page applications
    #[arg(long, value_name = "FILE")]
    fallback: Option<String>,
    /// The file to serve for unknown paths, with status 404
    #[arg(long, visible_alias = "error-page", value_name = "FILE", conflicts_with = "fallback")]
    error: Option<String>,
    /// Serve `login.html` at `/login`, and redirect from `/login.html`
    #[arg(long)]
    clean: bool,
    /// How long clients may cache the files, like `1h`
    ///
    /// By default, files with a content hash in their names are cached for a year, and others are
    /// revalidated on each request.
    #[arg(long, value_name = "TIME", value_parser = shared::parse_duration_ms)]
    expires: Option<u64>,
    #[command(flatten)]
    change: ChangeArgs,
}

pub async fn run(context: &Context<'_>, args: AddArgs) -> Result<()> {
    // `/static` and `/static/` are the same path.
    let path = if args.path.len() > 1 { args.path.trim_end_matches('/').to_owned() } else { args.path };
    if !path.starts_with('/') {
        let hint = format!("start it with a slash: `--path '/{path}'`");
        return Err(Failure::usage(format!("path `{path}` does not start with `/`")).hint(hint));
    }
    let key = unit_key(UnitKind::Static, &path)?;
    let options = SourceOptions { exclude: args.exclude, keep_archives: true, ..SourceOptions::default() };
    let source = Arc::new(sources::scan_some(&args.src, &options).await?);
    let tree = source.root()?;
    let file = args.src.is_file();
    let spec = StaticSpec {
        path,
        tree,
        file,
        index: args.index,
        fallback: args.fallback,
        error_page: args.error,
        clean: args.clean,
        expires_ms: args.expires,
    };
    // Reports mistakes that need no server before it uploads anything.
    check_static(&spec)?;
    let put = shared::put(key.name, UnitPut::Static(spec));
    let change = args.change.change(vec![put], Vec::new());
    if change.dry_run {
        return folders::send(context, change, vec![source]).await;
    }
    let summary = sources::upload_all(context, vec![source], &format!("Uploading {}", args.src.display())).await?;
    context.ui.say(&sent(&summary));
    shared::send(context, &change).await
}

/// Counts files and bytes. Directory listings are sent too, even if no file is.
fn sent(summary: &UploadSummary) -> String {
    let files = if summary.files == 1 { "file" } else { "files" };
    let lists = if summary.files_sent == 0 && summary.bytes_sent > 0 { " of folder lists" } else { "" };
    format!("{} {files}, {} sent ({} bytes{lists})", summary.files, summary.files_sent, summary.bytes_sent)
}
