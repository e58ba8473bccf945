//! Resolves the environments of packages: declared in the folder, existing in the app, or built in.

use std::collections::BTreeMap;

use milepost_client::ClientError;
use milepost_model::change::UnitKey;
use milepost_model::spec::EnvironmentSpec;
use milepost_model::unit_put::{UnitPut, VersionRef};
use milepost_model::{Code, Selector, UnitKind, UnitName};

use crate::Declared;
use crate::error::{Error, Result};
use crate::session::Session;

#[derive(Debug, Default)]
pub struct Environments {
    declared: BTreeMap<UnitName, EnvironmentSpec>,
    /// Only fetched when needed: most folders use a built-in environment, and an unchanged folder
    /// should cost one request.
    of_app: Option<BTreeMap<UnitName, EnvironmentSpec>>,
}

impl Environments {
    pub fn of(declared: &Declared) -> Self {
        let specs = declared.units.iter().filter_map(|unit| match &unit.put.unit {
            UnitPut::Environment(spec) => Some((unit.put.name.clone(), spec.clone())),
            _ => None,
        });
        Self { declared: specs.collect(), of_app: None }
    }

    /// The environment after the change. A guess until the app's environments were fetched.
    pub fn get(&self, name: &UnitName) -> Option<EnvironmentSpec> {
        let of_app = || self.of_app.as_ref().and_then(|of_app| of_app.get(name));
        self.declared.get(name).or_else(of_app).cloned().or_else(|| EnvironmentSpec::built_in(name.as_str()))
    }

    /// Whether the app may define the environment differently, because it can override a built-in
    /// name.
    pub fn is_guess(&self, name: &UnitName) -> bool {
        self.of_app.is_none() && !self.declared.contains_key(name)
    }

    /// Discards the fetched environments, which may have changed.
    pub fn forget_app(&mut self) {
        self.of_app = None;
    }

    pub async fn ask(&mut self, session: &Session<'_>) -> Result<()> {
        if self.of_app.is_some() {
            return Ok(());
        }
        let found = match session.units(UnitKind::Environment).await {
            Ok(found) => found,
            Err(error) => return self.without_app(session, error).await,
        };
        let mut of_app = BTreeMap::new();
        for unit in found {
            of_app.insert(unit.name, read(unit.current.spec)?);
        }
        self.of_app = Some(of_app);
        Ok(())
    }

    /// A missing app has no environments. Any other error is returned.
    async fn without_app(&mut self, session: &Session<'_>, error: ClientError) -> Result<()> {
        match session.client.app_get(session.app).await {
            Err(ClientError::Refused(problem)) if problem.code == Code::AppNotFound.as_str() => {
                self.of_app = Some(BTreeMap::new());
                Ok(())
            }
            _ => Err(error.into()),
        }
    }

    /// Resolves an environment for a build, without guesses.
    pub async fn exact(&mut self, session: &Session<'_>, named: &VersionRef) -> Result<EnvironmentSpec> {
        if named.version != Selector::Latest {
            let key = UnitKey { kind: UnitKind::Environment, name: named.name.clone() };
            let version = session.client.version_get(session.app, &key, &named.version.to_string()).await?;
            return read(version.spec);
        }
        if self.is_guess(&named.name) {
            self.ask(session).await?;
        }
        let missing = || Error::NoEnvironment { app: session.app.to_owned(), name: named.name.clone() };
        self.get(&named.name).ok_or_else(missing)
    }
}

fn read(spec: serde_json::Value) -> Result<EnvironmentSpec> {
    serde_json::from_value(spec).map_err(Error::InvalidEnvironment)
}
