//! A served app, and a client that only uses HTTP.

use std::time::Duration;

use milepost_testkit::cli::CliEnv;
use reqwest::header::HOST;
use reqwest::{Client, Response};

use crate::common::World;

pub struct Stage {
    pub world: World,
    pub client: Client,
    pub app: &'static str,
}

/// A response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub release: String,
    pub body: String,
    pub request: String,
}

impl Stage {
    /// A server with extra arguments, and an app with these files.
    pub fn new(app: &'static str, args: &[&str], files: &[(&str, &str)]) -> Self {
        let mut env = CliEnv::new();
        env.unset("MILEPOST_TEST_SEED");
        env.unset("MILEPOST_TEST_CLOCK");
        env.set("MILEPOST_APP", app);
        for (path, text) in files {
            env.write_file(path, text);
        }
        Self::in_env(app, env, args)
    }

    /// A server in a prepared environment.
    pub fn in_env(app: &'static str, env: CliEnv, args: &[&str]) -> Self {
        let world = World::in_env(env, args);
        // Creating our client installs the TLS provider that reqwest needs.
        drop(world.client());
        let client = Client::builder().timeout(Duration::from_secs(60)).build().unwrap();
        Self { world, client, app }
    }

    /// Deploys the folder and returns the release.
    pub fn deploy(&self) -> String {
        self.world.json("deploy")["release"]["id"].as_str().unwrap().to_owned()
    }

    /// The same for functions that do not load.
    pub fn deploy_unchecked(&self) -> String {
        self.world.json("deploy --no-check")["release"]["id"].as_str().unwrap().to_owned()
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.world.server.gateway().trim_end_matches('/').replace("localhost", "127.0.0.1"))
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.try_get(path).await.unwrap_or_else(|error| panic!("GET {path}: {error:?}"))
    }

    pub async fn try_get(&self, path: &str) -> Result<Answer, reqwest::Error> {
        get(&self.client, &self.url(path), self.app).await
    }

    /// The log lines of a request.
    pub fn log_of(&self, request: &str) -> String {
        self.world.ok(&format!("logs --request {request}"))
    }
}

pub async fn get(client: &Client, url: &str, app: &str) -> Result<Answer, reqwest::Error> {
    read(client.get(url).header(HOST, format!("{app}.localhost")).send().await?).await
}

async fn read(response: Response) -> Result<Answer, reqwest::Error> {
    let header = |name: &str| {
        response.headers().get(name).map(|value| value.to_str().unwrap_or_default().to_owned()).unwrap_or_default()
    };
    let (status, release, request) =
        (response.status().as_u16(), header("milepost-release"), header("milepost-request-id"));
    Ok(Answer { status, release, request, body: response.text().await? })
}

/// A function and a static file that both return the version.
pub const TWO_KINDS: &[(&str, &str)] = &[
    (
        "milepost.yaml",
        "app: shop\nfunctions:\n  f: { env: python, src: f/, scale: { min: 1 } }\nstatic:\n  - { src: site, path: /site }\nroutes:\n  - GET /: f\nconfig: { word: one }\n",
    ),
    ("f/main.py", "import milepost\n\ndef main():\n    return 'one ' + milepost.config['word']\n"),
    ("site/x.txt", "one"),
];

/// Changes all of it.
pub fn change_everything(stage: &Stage) {
    let env = &stage.world.env;
    env.write_file("milepost.yaml", TWO_KINDS[0].1.replace("word: one", "word: two"));
    env.write_file("f/main.py", TWO_KINDS[1].1.replace("'one '", "'two '"));
    env.write_file("site/x.txt", "two");
}
