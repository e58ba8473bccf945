//! The values that commands take as plain arguments or options.

use milepost_model::UnitKind;
use milepost_model::change::UnitKey;

use super::plain::{Plain, Presence, Slot, Slots};
use crate::context::unit_key;
use crate::failure::Result;

const NAME: Slot =
    Slot { option: "name", plain: "plain-name", value_name: "NAME", help: "The name", presence: Presence::Needed };
const MAYBE_NAME: Slot = Slot { presence: Presence::Optional, ..NAME };
const ROUTE_NAME: Slot = Slot { help: "The name [default: methods and path, like `GET /hello`]", ..MAYBE_NAME };
const JOB_NAME: Slot = Slot { help: "A name for other job commands", ..MAYBE_NAME };
const APP_NAME: Slot =
    Slot { help: "The name: lowercase letters, digits and hyphens; it becomes part of a host name", ..NAME };
const ONE_APP: Slot = Slot { help: "The app [default: the app of `--app`]", ..MAYBE_NAME };
const SECRET_NAME: Slot = Slot { help: "The name, like `DATABASE_URL`", ..NAME };
const ALIAS: Slot =
    Slot { option: "alias", plain: "plain-alias", value_name: "ALIAS", help: "The alias", presence: Presence::Needed };
const VERSION: Slot = Slot {
    option: "version",
    plain: "plain-version",
    value_name: "VERSION",
    help: "The version: `latest`, a number, uid, label, `@alias` or `sha256:…`",
    presence: Presence::Default("latest"),
};
const ONE_VERSION: Slot = Slot { presence: Presence::Needed, ..VERSION };
const VERSION_OR_ALL: Slot =
    Slot { help: "The version: a number, uid, label, `@alias`, `latest`, `sha256:…`, or `all`", ..ONE_VERSION };
const TO: Slot = Slot {
    option: "to",
    plain: "plain-to",
    value_name: "RELEASE",
    help: "A release, tag or app version [default: the previous live release]",
    presence: Presence::Optional,
};

macro_rules! slots {
    ($($(#[$doc:meta])* $marker:ident, $name:ident = [$($slot:expr),*];)*) => {
        $(
            $(#[$doc])*
            pub type $name = Plain<$marker>;
            pub enum $marker {}
            impl Slots for $marker {
                const SLOTS: &'static [Slot] = &[$($slot),*];
            }
        )*
    };
}

slots! {
    /// `hello`
    Name, NameArgs = [NAME];
    /// `hello` or nothing
    MaybeName, MaybeNameArgs = [MAYBE_NAME];
    /// `shop`
    AppNamed, AppNameArgs = [APP_NAME];
    /// `shop` or the current app
    OneApp, OneAppArgs = [ONE_APP];
    /// `DATABASE_URL`
    SecretName, SecretNameArgs = [SECRET_NAME];
    /// `hello` or the methods and the path
    RouteName, RouteNameArgs = [ROUTE_NAME];
    /// `nightly` or nothing
    JobName, JobNameArgs = [JOB_NAME];
    /// `hello v1.0.1`, by default the newest version
    NameVersion, VersionArgs = [NAME, VERSION];
    /// `hello v1.0.1` or `hello all`
    NameOrAll, DeletedArgs = [NAME, VERSION_OR_ALL];
    /// `v1.0.1`, of the configuration
    OnlyVersion, ConfigVersionArgs = [VERSION];
    /// `hello stable`
    NameAlias, AliasArgs = [NAME, ALIAS];
    /// `hello stable v1.0.1`, by default the newest version
    NewAlias, NewAliasArgs = [NAME, ALIAS, VERSION];
    /// `hello stable v1.0.1`
    MovedAlias, MovedAliasArgs = [NAME, ALIAS, ONE_VERSION];
    /// A release to go back to
    BackTo, BackToArgs = [TO];
}

impl<S: Slots> Plain<S> {
    pub fn name(&self) -> &str {
        self.get(NAME.option)
    }

    pub fn key(&self, kind: UnitKind) -> Result<UnitKey> {
        unit_key(kind, self.name())
    }

    pub fn version(&self) -> &str {
        self.get(VERSION.option)
    }

    pub fn alias(&self) -> &str {
        self.get(ALIAS.option)
    }
}
