use std::process::Stdio;

use clap::Args;

use super::deploy::release_url;
use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::output::{harmless, print_data};

/// Open the app in the browser
///
/// Prints the address too, so that it works where there is no browser.
#[derive(Debug, Args)]
pub struct OpenArgs {
    /// A release, a tag or `latest`; what is live when left out
    release: Option<String>,
    /// Only print the address
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
                    .hint(format!("`milepost release create {}` releases it again", release.app_version)));
            }
            release_url(&release, name).cloned()
        }
    };
    let url = url.ok_or_else(|| {
        Failure::new(format!("app {} has no address", context.app)).hint("`milepost status` says what is live")
    })?;
    print_data(&harmless(&url))?;
    if !args.print && !browse(&url).await {
        context.ui.say("There is no browser to open it with.");
    }
    Ok(())
}

/// Whether a browser was found for it.
async fn browse(url: &str) -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let browser = set("BROWSER");
    let program = match &browser {
        Some(browser) => browser.clone(),
        None if cfg!(target_os = "macos") => "open".into(),
        // Without a display it would start a browser for the terminal, over what is there.
        None if set("DISPLAY").is_some() || set("WAYLAND_DISPLAY").is_some() => "xdg-open".into(),
        None => return false,
    };
    let mut command = tokio::process::Command::new(program);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().is_ok()
}
