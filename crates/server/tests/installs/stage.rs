//! A server that checks its installs when the test asks it to.

use std::sync::Arc;

use milepost_client::api::Problem;
use milepost_client::{Client, ClientError};
use milepost_model::install::{Check, Install, InstallFrom, InstallSettings, Installed, NewInstall, Upgrade};
use milepost_model::{ManualClock, Timestamp};
use milepost_server::{InstallsDue, Server, Settings, StartError};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub const APP: &str = "shop";

pub struct Stage {
    pub client: Client,
    pub clock: Arc<ManualClock>,
    due: InstallsDue,
    stop: CancellationToken,
    _running: JoinHandle<Result<(), StartError>>,
    _data: TempDir,
}

pub fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Stage {
    /// The clock starts on a Wednesday.
    pub async fn new() -> Self {
        Self::starting(at("2026-11-18T12:00:00Z")).await
    }

    pub async fn starting(now: Timestamp) -> Self {
        Self::with(now, |_| {}).await
    }

    pub async fn with(now: Timestamp, change: impl FnOnce(&mut Settings)) -> Self {
        let data = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at(now));
        let mut settings = Settings::new(data.path().to_owned(), "127.0.0.1:0".parse().unwrap());
        settings.clock = Arc::clone(&clock) as Arc<dyn milepost_model::Clock>;
        settings.installs = 0;
        settings.spares = Some(0);
        change(&mut settings);
        let server = Server::start(settings).await.unwrap();
        let due = server.installs_due();
        let token = std::fs::read_to_string(data.path().join("admin.token")).unwrap();
        let client = Client::new(&format!("http://{}", server.address()), token.trim()).unwrap();
        let stop = CancellationToken::new();
        let running = tokio::spawn(server.run(stop.clone()));
        Self { client, clock, due, stop, _running: running, _data: data }
    }

    pub fn now(&self) -> Timestamp {
        milepost_model::Clock::now(&*self.clock)
    }

    /// Advances the clock to a time.
    pub fn go_to(&self, moment: Timestamp) {
        let by = moment.as_millisecond() - self.now().as_millisecond();
        assert!(by >= 0, "{moment} is in the past");
        self.clock.advance_ms(by);
    }

    /// Processes due installs, as the watcher does.
    pub async fn run_due(&self) -> usize {
        self.due.run().await.unwrap()
    }

    pub async fn next_due(&self) -> Option<Timestamp> {
        self.due.next().await.unwrap()
    }

    /// Checks every channel now.
    pub async fn poll(&self) -> usize {
        self.due.make_due().await.unwrap();
        self.run_due().await
    }

    pub async fn install(&self, new: &NewInstall) -> Installed {
        self.client.install_create(new).await.unwrap_or_else(|error| panic!("{error:?}"))
    }

    pub async fn follow(&self, url: &str, settings: InstallSettings) -> Installed {
        self.install(&following(url, settings)).await
    }

    pub async fn status(&self) -> Install {
        self.client.install_get(APP).await.unwrap()
    }

    pub async fn version(&self) -> String {
        self.status().await.entry.version.to_string()
    }

    pub async fn last_check(&self) -> Check {
        self.status().await.last_check.unwrap()
    }

    pub async fn upgrade(&self, asked: Upgrade) -> Result<Installed, ClientError> {
        self.client.upgrade(APP, &asked).await
    }

    /// The app's configuration.
    pub async fn config(&self) -> serde_json::Value {
        let key = milepost_model::change::UnitKey {
            kind: milepost_model::UnitKind::Config,
            name: milepost_model::UnitName::config(),
        };
        self.client.unit_get(APP, &key).await.unwrap().current.spec["document"].clone()
    }

    /// Kinds of the app's events, oldest first, and who caused them.
    pub async fn events(&self) -> Vec<(String, String)> {
        let mut events = self.client.event_list(APP, 1000, None).await.unwrap().items;
        events.reverse();
        events.into_iter().map(|event| (event.kind, event.actor)).collect()
    }
}

pub fn following(url: &str, settings: InstallSettings) -> NewInstall {
    let from = InstallFrom::Channel { url: url.to_owned(), package: None };
    NewInstall { app: None, from, secrets: Default::default(), settings }
}

#[track_caller]
pub fn refused<T: std::fmt::Debug>(result: Result<T, ClientError>, code: &str) -> Problem {
    match result {
        Err(ClientError::Refused(problem)) if problem.code == code => *problem,
        other => panic!("expected {code}, found {other:?}"),
    }
}
