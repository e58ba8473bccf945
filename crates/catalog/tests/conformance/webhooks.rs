use milepost_catalog::SecretChange;
use milepost_model::webhook::{NewWebhook, WebhookChange};
use milepost_model::{AppName, Code, PlanName};

use crate::common::*;

async fn a_webhook_is_found_by_its_id_alone(t: &Fixture) {
    t.deploy("hello", "one").await;
    let new = NewWebhook {
        function: "hello".parse().unwrap(),
        version: "1".parse().unwrap(),
        description: "from git".to_owned(),
        secret: Some("s".to_owned()),
    };
    let made = t.catalog.webhook_create(&t.app, "wes", new, Some(vec![1, 2])).await.unwrap();
    assert_eq!((made.version, made.signed, made.id.len()), (Some(1), true, 36));
    let called = t.catalog.webhook_find(made.id.clone()).await.unwrap().unwrap();
    assert_eq!((called.app, called.sealed), (t.app.clone(), Some(vec![1, 2])));
    assert_eq!(called.webhook, made);
    assert!(t.catalog.webhook_find("x".to_owned()).await.unwrap().is_none());

    let other: AppName = "other".parse().unwrap();
    t.catalog.app_create(&other, PlanName::Standard, "ann").await.unwrap();
    assert_eq!(refused(t.catalog.webhook_get(&other, made.id.clone()).await).code, Code::WebhookNotFound);
    assert_eq!(refused(t.catalog.webhook_delete(&other, "x", made.id.clone()).await).code, Code::WebhookNotFound);
    let told = serde_json::to_string(&t.events().await).unwrap();
    assert!(told.contains("webhook.created") && !told.contains(&made.id), "the address is not in the event log");
}

async fn a_webhook_can_be_changed_and_deleted(t: &Fixture) {
    t.deploy("hello", "one").await;
    t.deploy("other", "one").await;
    let made = t.webhook("hello", "latest").await.unwrap();
    assert_eq!((made.version, made.signed, made.updated_at), (None, false, None));
    let update = async |change: WebhookChange, secret: SecretChange| {
        t.catalog.webhook_update(&t.app, "wes", made.id.clone(), change, secret).await
    };
    let signed = update(WebhookChange::default(), SecretChange::Set(vec![9])).await.unwrap();
    assert!(signed.signed && signed.updated_at.is_some());
    let to = WebhookChange {
        function: Some("other".parse().unwrap()),
        version: Some("1".parse().unwrap()),
        description: Some("d".into()),
        ..WebhookChange::default()
    };
    let moved = update(to, SecretChange::Keep).await.unwrap();
    assert_eq!((moved.function.as_str(), moved.version, moved.description.as_str()), ("other", Some(1), "d"));
    assert!(moved.signed);
    let missing = WebhookChange { version: Some("7".parse().unwrap()), ..WebhookChange::default() };
    assert_eq!(refused(update(missing, SecretChange::Keep).await).code, Code::VersionNotFound);
    assert!(!update(WebhookChange::default(), SecretChange::Remove).await.unwrap().signed);
    assert_eq!(t.catalog.webhook_find(made.id.clone()).await.unwrap().unwrap().sealed, None);
    assert_eq!(t.catalog.webhook_list(&t.app, None, 10).await.unwrap().items.len(), 1);
    t.catalog.webhook_delete(&t.app, "wes", made.id.clone()).await.unwrap();
    assert!(t.catalog.webhook_find(made.id.clone()).await.unwrap().is_none());
    assert_eq!(refused(t.catalog.webhook_get(&t.app, made.id).await).code, Code::WebhookNotFound);
}

on_both_engines!(a_webhook_is_found_by_its_id_alone, a_webhook_can_be_changed_and_deleted);
