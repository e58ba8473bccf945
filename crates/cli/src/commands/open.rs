use std::process::Stdio;

use clap::Args;

use super::deploy::release_url;
use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::output::{harmless, print_data};

/// Open the app in the browser
///
/// Also prints the URL, for machines without a browser.
#[derive(Debug, Args)]
pub struct OpenArgs {
    /// A release, a tag or `latest` [default: the live release]
    release: Option<String>,
    /// Only print the URL
    #[arg(long)]
    print: bool,
}

pub async fn run(context: &Context<'_>, args: OpenArgs) -> Result<()> {
    let url = match &args.release {
        None => context.client.status(&context.app).await?.urls.live,
        Some(name) => {
            let release = context.client.release_get(&context.app, name).await?;
            if let Some(at) = release.expired_at {
                let message = format!("release {} expired at {}", release.id, crate::output::local(at));
                return Err(Failure::new(message)
                    .hint(format!("release it again with `milepost release create {}`", release.app_version)));
            }
            release_url(&release, name).cloned()
        }
    };
    let url = url.ok_or_else(|| {
        Failure::new(format!("app {} has no URL", context.app)).hint("run `milepost status` to see what is live")
    })?;
    print_data(&harmless(&url))?;
    if !args.print && !browse(&url).await {
        context.ui.say("No browser found.");
    }
    Ok(())
}

/// Opens the URL. Returns false if no browser was found.
async fn browse(url: &str) -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let browser = set("BROWSER");
    let program = match &browser {
        Some(browser) => browser.clone(),
        None if cfg!(target_os = "macos") => "open".into(),
        // Without a display, `xdg-open` would start a text browser in this terminal.
        None if set("DISPLAY").is_some() || set("WAYLAND_DISPLAY").is_some() => "xdg-open".into(),
        None => return false,
    };
    let mut command = tokio::process::Command::new(program);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().is_ok()
}
