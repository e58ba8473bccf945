use milepost_model::Warning;
use milepost_model::install::{InstallChange, InstallSettings};
use serde_json::json;

use crate::common::*;

/// Sets overrides, and returns the resulting configuration and the warnings.
async fn overriding(t: &Fixture, overrides: serde_json::Value) -> (serde_json::Value, Vec<Warning>) {
    let change = InstallChange { overrides: Some(overrides), ..InstallChange::default() };
    let (_, warnings) = t.catalog.install_change(&t.app, "liz", change).await.unwrap();
    let found = t.version(milepost_model::UnitKind::Config, "config", "latest").await.unwrap();
    (found.spec["document"].clone(), warnings)
}

async fn removing_an_override_restores_the_authors_value_at_once(t: &Fixture) {
    t.installed(InstallSettings::default(), "1.0.0", [config("n", 1)]).await;
    let (document, _) = overriding(t, json!({ "n": 2, "mail": { "from": "me" } })).await;
    assert_eq!(document, json!({ "n": 2, "mail": { "from": "me" } }));
    let before = t.install().await.app_version;
    let (document, warnings) = overriding(t, json!({ "n": null })).await;
    assert_eq!((document, warnings.len()), (json!({ "n": 1, "mail": { "from": "me" } }), 0), "{warnings:?}");
    let install = t.install().await;
    assert_ne!(install.app_version, before, "it is a change of its own");
    assert!(install.changed_by_hand.is_empty());
    assert_eq!(install.settings.overrides, json!({ "mail": { "from": "me" } }));
    let (document, _) = overriding(t, json!({ "mail": null })).await;
    assert_eq!(document, json!({ "n": 1 }));
    // The author's value of the version that is installed now.
    overriding(t, json!({ "n": 5 })).await;
    t.upgraded("1.1.0", [config("n", 7)]).await;
    assert_eq!(overriding(t, json!({ "n": null })).await.0, json!({ "n": 7 }));
}

async fn removing_an_override_keeps_manual_changes(t: &Fixture) {
    t.installed(InstallSettings::default(), "1.0.0", [config("n", 1)]).await;
    overriding(t, json!({ "n": 2 })).await;
    t.put([config("by hand", 5)]).await;
    assert_eq!(overriding(t, json!({ "n": null })).await.0, json!({ "by hand": 5, "n": 1 }));
    assert_eq!(t.install().await.changed_by_hand, ["config"]);
}

async fn removing_an_override_without_the_authors_config_reports_missing_values(t: &Fixture) {
    t.installed(InstallSettings::default(), "1.0.0", [config("n", 1)]).await;
    t.forget_configs().await;
    let overriding = |overrides| InstallChange { overrides: Some(overrides), ..InstallChange::default() };
    let change = async |overrides| t.catalog.install_change(&t.app, "liz", overriding(overrides)).await.unwrap();
    let document = async || {
        t.version(milepost_model::UnitKind::Config, "config", "latest").await.unwrap().spec["document"].clone()
    };
    change(json!({ "mail": { "from": "me" }, "a": 1 })).await;
    let (install, warnings) = change(json!({ "n": null, "mail": null })).await;
    assert_eq!(document().await, json!({ "n": 1, "mail": {}, "a": 1 }), "n was never overridden");
    assert_eq!((install.settings.overrides, warnings.len()), (json!({ "a": 1 }), 1));
    assert_eq!(warnings, [Warning::OverridesEnd { keys: vec!["mail.from".to_owned()] }]);
}

on_both_engines!(
    removing_an_override_restores_the_authors_value_at_once,
    removing_an_override_keeps_manual_changes,
    removing_an_override_without_the_authors_config_reports_missing_values,
);
