//! Resolves the server, the token and the app that a command works with.

use std::path::{Path, PathBuf};

use milepost_client::Client;
use milepost_client::api::ServerFile;
use milepost_declared::bounds::Private;
use milepost_declared::manifest;
use milepost_model::change::{Change, UnitKey};
use milepost_model::{AppName, ChangeOutcome, UnitKind, UnitName};

use crate::args::Global;
use crate::failure::{Failure, Result};
use crate::folders::Terminal;
use crate::output::Ui;
use crate::phrase;

pub use milepost_model::DEFAULT_APP;

pub struct Context<'a> {
    pub ui: &'a Ui,
    pub client: Client,
    /// A valid app name.
    pub app: String,
    /// Set only if `--app` on the command line named the app, not a variable or a manifest.
    pub app_in_so_many_words: Option<AppName>,
    pub yes: bool,
    /// What folders from other authors must not publish.
    pub private: Private,
}

impl<'a> Context<'a> {
    pub fn new(ui: &'a Ui, global: &Global) -> Result<Self> {
        let named = global.app.clone().or_else(|| manifest::app_of(Path::new("")));
        let app: AppName = named.as_deref().unwrap_or(DEFAULT_APP).parse()?;
        let data = data_folder(global.data.as_deref())?;
        let (server, own) = match &global.server {
            Some(server) => (server.clone(), false),
            None => (find_server(&data, global.data.is_some())?, true),
        };
        let token = match &global.token {
            Some(token) => token.clone(),
            None if own => read_admin_token(&data)?,
            None => {
                return Err(Failure::usage("a server given with `--server` or MILEPOST_SERVER needs a token")
                    .hint("pass `--token`, or set MILEPOST_TOKEN"));
            }
        };
        let named_here = global.app.is_some() && !global.app_is_from_environment;
        Ok(Self {
            ui,
            client: Client::new(&server, &token)?,
            app: app.to_string(),
            app_in_so_many_words: named_here.then_some(app),
            yes: global.yes,
            private: private_folders(global),
        })
    }

    /// Sends a change. If the connection breaks before the response, retries once with the same
    /// idempotency key, so that the server applies the change once.
    pub async fn change(&self, change: &Change) -> Result<ChangeOutcome> {
        let outcome = Terminal::new(self).session().change(change).await?;
        Ok(phrase::outcome(&self.app, outcome))
    }

    /// Whether [`Self::confirm`] will prompt.
    pub fn asks(&self) -> bool {
        !self.yes && self.ui.can_ask()
    }

    /// Prompts before a destructive operation. Without a terminal, `unattended` decides.
    pub fn confirm(&self, question: &str, unattended: Unattended) -> Result<()> {
        if self.yes {
            return Ok(());
        }
        if !self.ui.can_ask() {
            return match unattended {
                Unattended::Proceed => Ok(()),
                Unattended::Refuse => {
                    Err(Failure::usage("this needs confirmation, and there is no terminal")
                        .hint("confirm with `--yes`"))
                }
            };
        }
        if self.ui.ask(question)? { Ok(()) } else { Err(Failure::cancelled()) }
    }

    /// Prompts for the name of what is deleted. For what cannot be undone, where `y` is typed too
    /// easily.
    pub fn confirm_by_name(&self, effect: &str, name: &str) -> Result<()> {
        if !self.asks() {
            return self.confirm(effect, Unattended::Refuse);
        }
        self.ui.say(effect);
        if self.ui.ask_for(&format!("Type `{name}` to confirm:"))? == name { Ok(()) } else { Err(Failure::cancelled()) }
    }
}

/// What [`Context::confirm`] does when it cannot prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unattended {
    /// For operations where the server protects what is in use. Scripts rely on this.
    Proceed,
    Refuse,
}

/// The data directory: the given one, or the user's XDG data directory.
pub fn data_folder(given: Option<&Path>) -> Result<PathBuf> {
    if let Some(given) = given {
        return Ok(given.to_owned());
    }
    user_folder("XDG_DATA_HOME", ".local/share")
}

/// The folders of this user that a folder from another author must not publish.
pub fn private_folders(global: &Global) -> Private {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    Private { home, data: data_folder(global.data.as_deref()).ok() }
}

pub fn cache_folder() -> Result<PathBuf> {
    user_folder("XDG_CACHE_HOME", ".cache")
}

fn user_folder(variable: &str, below_home: &str) -> Result<PathBuf> {
    let set = std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(below_home));
    let base = set
        .or_else(home)
        .ok_or_else(|| Failure::usage("the home folder is unknown").hint("set HOME, or pass `--data DIR`"))?;
    Ok(base.join("milepost"))
}

fn find_server(data: &Path, given: bool) -> Result<String> {
    let missing = || {
        if given {
            let message = format!("no Milepost server uses the data folder `{}`", data.display());
            return Failure::new(message).hint("start one with `milepost serve`, or check `--data` and MILEPOST_DATA");
        }
        Failure::new("no Milepost server is running on this machine")
            .hint("start one with `milepost serve`, or pass `--server URL`")
    };
    let bytes = std::fs::read(data.join("server.json")).map_err(|_| missing())?;
    let file: ServerFile = serde_json::from_slice(&bytes).map_err(|_| missing())?;
    Ok(file.api)
}

fn read_admin_token(data: &Path) -> Result<String> {
    let path = data.join("admin.token");
    match std::fs::read_to_string(&path) {
        Ok(token) => Ok(token.trim().to_owned()),
        Err(error) => Err(Failure::new(format!("could not read the admin token `{}`", path.display()))
            .caused_by(&error)
            .hint("pass a token with `--token`")),
    }
}

pub fn unit_key(kind: UnitKind, name: &str) -> Result<UnitKey> {
    Ok(UnitKey { kind, name: UnitName::for_kind(kind, name)? })
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn change_outcome_is_unknown_after_two_broken_connections() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let server = format!("http://{}", listener.local_addr().expect("an address"));
        let broken = tokio::spawn(async move {
            let mut heard = 0;
            while heard < 2 {
                let (mut stream, _) = listener.accept().await.expect("a connection");
                let mut head = [0; 4096];
                heard += usize::from(stream.read(&mut head).await.expect("a request") > 0);
            }
        });
        let cli = crate::args::Cli::parse_from(["milepost", "--server", &server, "--token", "mp_x", "whoami"]);
        let ui = Ui::new(&cli.global);
        let context = Context::new(&ui, &cli.global).expect("a context");
        let failure = context.change(&Change::default()).await.expect_err("no answer");
        assert!(failure.message().contains("may or may not have been applied"), "{failure:?}");
        assert!(format!("{failure:?}").contains("milepost app list-version"), "{failure:?}");
        broken.await.expect("two requests");
    }
}
