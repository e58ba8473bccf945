//! Both engines with fully durable settings: SQLite with `synchronous=FULL`, PostgreSQL with
//! `fsync=on`.

use std::sync::Arc;

use anyhow::Result;
use milepost_catalog::{Catalog, ChangeInput};
use milepost_model::change::Change;
use milepost_model::unit_put::{ConfigPut, Put, UnitPut};
use milepost_model::{AppName, OsIds, PlanName, SystemClock, UnitName};
use milepost_testkit::postgres::Cluster;
use serde_json::json;

pub struct Engine {
    pub name: &'static str,
    pub catalog: Catalog,
    _folder: tempfile::TempDir,
    _cluster: Option<Arc<Cluster>>,
}

impl Engine {
    pub async fn sqlite() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("catalog.db");
        let catalog = Catalog::open(&file.display().to_string(), Arc::new(SystemClock), Arc::new(OsIds)).await?;
        Ok(Self { name: "SQLite", catalog, _folder: folder, _cluster: None })
    }

    pub async fn postgres() -> Result<Self> {
        let cluster = tokio::task::spawn_blocking(|| Cluster::start_private(true)).await?;
        let catalog = Catalog::open(&cluster.url(), Arc::new(SystemClock), Arc::new(OsIds)).await?;
        let folder = tempfile::tempdir()?;
        Ok(Self { name: "PostgreSQL", catalog, _folder: folder, _cluster: Some(Arc::new(cluster)) })
    }

    pub async fn all() -> Result<Vec<Self>> {
        Ok(vec![Self::sqlite().await?, Self::postgres().await?])
    }
}

pub async fn app(catalog: &Catalog, name: &str) -> Result<AppName> {
    let name: AppName = name.parse()?;
    catalog.app_create(&name, PlanName::Standard, "bench").await?.unapplied();
    Ok(name)
}

/// Puts a small unit, of about the size of a timer or a secret.
pub fn environment(index: usize, round: usize) -> Result<Put> {
    let name: UnitName = format!("unit-{index}").parse()?;
    let spec = milepost_model::spec::EnvironmentSpec {
        runtime: milepost_model::spec::Runtime::Python,
        interpreter: format!("3.{round}"),
        builder: String::new(),
        variables: Default::default(),
    };
    Ok(Put {
        name,
        label: None,
        description: None,
        group: None,
        force: false,
        only: None,
        unit: UnitPut::Environment(spec),
    })
}

pub fn config(round: usize) -> Put {
    let config = ConfigPut { set: [("round".to_owned(), json!(round))].into(), ..ConfigPut::default() };
    Put {
        name: UnitName::config(),
        label: None,
        description: None,
        group: None,
        force: false,
        only: None,
        unit: UnitPut::Config(config),
    }
}

pub fn change(puts: Vec<Put>, release: bool) -> ChangeInput {
    let change = Change { puts, release, message: "bench".to_owned(), ..Change::default() };
    ChangeInput { change, secrets: Default::default(), actor: "bench".to_owned(), idempotency_key: None }
}
