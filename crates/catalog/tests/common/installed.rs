//! Short helpers for installs.

use milepost_catalog::{
    CatalogError, ChangeInput, Checking, InstallInput, InstallLease, InstallOutcome, LeasedInstall, VersionInput,
};
use milepost_model::channel::Entry;
use milepost_model::install::{Install, InstallMode, InstallSettings};
use milepost_model::unit_put::Put;
use milepost_model::{Digest, UnitPut};

use super::{Fixture, input};

pub const LEASE_MS: i64 = 120_000;

pub fn entry(version: &str) -> Entry {
    let at = "2029-12-01T00:00:00Z".parse().unwrap();
    Entry::new(version.parse().unwrap(), Digest::of(version.as_bytes()), at)
}

pub fn version(version: &str, puts: impl IntoIterator<Item = Put>, inputs: &[&str]) -> VersionInput {
    let entry = entry(version);
    let inputs = inputs.iter().map(|name| name.parse().unwrap()).collect();
    let mut change = VersionInput::change(&"acme/shop".parse().unwrap(), &entry, &inputs);
    change.puts = puts.into_iter().collect();
    let config = change.puts.iter().find_map(|put| match &put.unit {
        UnitPut::Config(config) => Some(config.resolve(None).unwrap().document),
        _ => None,
    });
    let config = config.unwrap_or_else(|| serde_json::json!({}));
    let change = ChangeInput { actor: "ina".to_owned(), ..input(change) };
    VersionInput { entry, change, config, inputs, forced: false, checking: Checking::Unasked }
}

impl Fixture {
    pub async fn install_with(
        &self,
        settings: InstallSettings,
        version: VersionInput,
    ) -> Result<InstallOutcome, CatalogError> {
        self.clock.advance_ms(1000);
        let new = InstallInput {
            mode: InstallMode::Channel,
            package: "acme/shop".parse().unwrap(),
            channel: Some("stable".parse().unwrap()),
            place: "https://example.com/acme/shop/stable".to_owned(),
            settings,
            confined: false,
            serial: 0,
            check: None,
            version,
            holder: "first".to_owned(),
            lease_ms: LEASE_MS,
        };
        self.catalog.install_create(&self.app, new).await
    }

    /// Installs an app and gives its lease back.
    pub async fn installed(
        &self,
        settings: InstallSettings,
        text: &str,
        puts: impl IntoIterator<Item = Put>,
    ) -> Install {
        let done = self.install_with(settings, version(text, puts, &[])).await.unwrap();
        self.catalog.install_let_go(&done.install.lease).await.unwrap();
        done.install.install
    }

    pub async fn take(&self, holder: &str) -> Result<LeasedInstall, CatalogError> {
        self.catalog.install_take(&self.app, holder, "uma", LEASE_MS).await
    }

    /// Takes the lease, upgrades and releases the lease.
    pub async fn upgraded(&self, text: &str, puts: impl IntoIterator<Item = Put>) -> InstallOutcome {
        self.clock.advance_ms(1000);
        let taken = self.take(&format!("for {text}")).await.unwrap();
        let done = self.upgrade(&taken, version(text, puts, &[])).await.unwrap();
        self.catalog.install_let_go(&taken.lease).await.unwrap();
        done
    }

    pub async fn upgrade(&self, taken: &LeasedInstall, to: VersionInput) -> Result<InstallOutcome, CatalogError> {
        self.catalog.install_upgrade(&taken.lease, taken.revision, to).await
    }

    pub async fn install(&self) -> Install {
        self.catalog.install_get(&self.app).await.unwrap()
    }

    /// The state that an older Milepost left, which did not keep the author's configuration.
    pub async fn forget_configs(&self) {
        self.engine.batch("UPDATE install_versions SET config = NULL").await;
    }

    pub async fn let_go(&self, lease: &InstallLease) {
        self.catalog.install_let_go(lease).await.unwrap();
    }
}
