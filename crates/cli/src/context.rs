//! Where a command finds its server, its token and its app.

use std::path::{Path, PathBuf};

use milepost_client::api::ServerFile;
use milepost_client::{Client, ClientError};
use milepost_model::change::{Change, UnitKey};
use milepost_model::{AppName, ChangeOutcome, UnitKind, UnitName};

use crate::args::Global;
use crate::commands::checked::{self, Cleared};
use crate::failure::{Failure, Result};
use crate::output::Ui;

/// The app that is meant when none is named.
pub const DEFAULT_APP: &str = "default";

/// What a command works with.
pub struct Context<'a> {
    pub ui: &'a Ui,
    pub client: Client,
    /// The name of the app, checked.
    pub app: String,
    /// The app, if `--app` on the command line named it and not a variable or a folder.
    pub app_in_so_many_words: Option<AppName>,
    pub yes: bool,
}

impl<'a> Context<'a> {
    pub fn new(ui: &'a Ui, global: &Global) -> Result<Self> {
        let named = global.app.clone().or_else(crate::declared::manifest::app_of_this_folder);
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
                return Err(Failure::usage("a server that is named with `--server` needs a token")
                    .hint("give `--token` or set `MILEPOST_TOKEN`"));
            }
        };
        let named_here = global.app.is_some() && !global.app_is_from_environment;
        Ok(Self {
            ui,
            client: Client::new(&server, &token)?,
            app: app.to_string(),
            app_in_so_many_words: named_here.then_some(app),
            yes: global.yes,
        })
    }

    /// Sends a change. When the connection breaks before the answer, it is sent once more under the same key: the
    /// server applies it once.
    pub async fn change(&self, change: &Change) -> Result<ChangeOutcome> {
        let mut random = [0u8; 16];
        milepost_model::IdSource::fill(&milepost_model::OsIds, &mut random);
        let key: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let _bar = Cleared(checked::progress(self.ui, change));
        match self.client.change(&self.app, change, Some(&key)).await {
            Err(ClientError::Broken(_)) => match self.client.change(&self.app, change, Some(&key)).await {
                Err(error @ (ClientError::Broken(_) | ClientError::Unreachable { .. })) if !change.dry_run => {
                    Err(outcome_unknown(&error))
                }
                answer => Ok(answer?),
            },
            answer => Ok(answer?),
        }
    }

    /// Whether [`Self::confirm`] will ask somebody.
    pub fn asks(&self) -> bool {
        !self.yes && self.ui.can_ask()
    }

    /// Asks before something that cannot be undone. Where nobody can answer, the caller decides whether that is a yes.
    pub fn confirm(&self, question: &str, unattended: Unattended) -> Result<()> {
        if self.yes {
            return Ok(());
        }
        if !self.ui.can_ask() {
            return match unattended {
                Unattended::Proceed => Ok(()),
                Unattended::Refuse => {
                    Err(Failure::usage("this needs a yes, and there is no terminal to ask on").hint("give `--yes`"))
                }
            };
        }
        if self.ui.ask(question)? { Ok(()) } else { Err(Failure::new("nothing was done")) }
    }
}

/// The key of the change goes with the command, so a second run is a change of its own; it makes nothing when the
/// first one landed, except where a new version was asked for in any case.
fn outcome_unknown(error: &ClientError) -> Failure {
    Failure::new("the connection to the server broke, and it is not known whether the change was made")
        .caused_by(error)
        .hint("check with `milepost app list-version`, then run it again")
}

/// What an unanswered question means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unattended {
    /// The server protects what is in use, and scripts have always done this without a question.
    Proceed,
    Refuse,
}

/// The user's data folder, by the convention of the desktop.
pub fn data_folder(given: Option<&Path>) -> Result<PathBuf> {
    if let Some(given) = given {
        return Ok(given.to_owned());
    }
    user_folder("XDG_DATA_HOME", ".local/share")
}

pub fn cache_folder() -> Result<PathBuf> {
    user_folder("XDG_CACHE_HOME", ".cache")
}

fn user_folder(variable: &str, below_home: &str) -> Result<PathBuf> {
    let set = std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(below_home));
    let base = set
        .or_else(home)
        .ok_or_else(|| Failure::usage("there is no home folder").hint("set HOME, or give `--data DIR`"))?;
    Ok(base.join("milepost"))
}

fn find_server(data: &Path, given: bool) -> Result<String> {
    let missing = || {
        if given {
            let message = format!("no Milepost server uses the data folder `{}`", data.display());
            return Failure::new(message).hint("start one with `milepost serve`, or check `--data` and MILEPOST_DATA");
        }
        Failure::new("no Milepost server runs on this machine")
            .hint("start one with `milepost serve`, or name one with `--server URL`")
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
            .hint("give a token with `--token`")),
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
    async fn a_change_whose_answer_is_lost_twice_is_told_as_unknown_with_the_next_step() {
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
        assert!(failure.message().contains("not known whether the change was made"), "{failure:?}");
        assert!(format!("{failure:?}").contains("milepost app list-version"), "{failure:?}");
        broken.await.expect("both were heard");
    }
}
