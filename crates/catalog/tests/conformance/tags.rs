use milepost_model::Code;

use crate::common::*;

async fn a_tag_moves_and_is_never_on_two_releases(t: &Fixture) {
    let one = t.put([config("n", 1)]).await.release.unwrap().id;
    let two = t.put([config("n", 2)]).await.release.unwrap().id;
    t.tag("beta", &one).await.unwrap();
    let moved = t.tag("beta", "latest").await.unwrap();
    assert_eq!((moved.id.as_str(), moved.tags.len()), (two.as_str(), 1));
    assert!(t.release(&one).await.tags.is_empty());
    assert_eq!(t.release("beta").await.id, two);
    let list = t.catalog.tag_list(&t.app).await.unwrap();
    assert_eq!(list.len(), 1);
    assert_eq!((list[0].0.as_str(), &list[0].1.id), ("beta", &two));
}

async fn setting_a_tag_to_its_release_records_nothing(t: &Fixture) {
    t.put([config("n", 1)]).await;
    t.tag("beta", "latest").await.unwrap();
    let before = t.rows().await;
    t.tag("beta", "latest").await.unwrap();
    assert_eq!(t.rows().await, before);
}

async fn a_tag_never_has_the_name_of_a_release_or_an_app_version(t: &Fixture) {
    let outcome = t.put([config("n", 1)]).await;
    for name in [outcome.release.unwrap().id, outcome.app_version.unwrap()] {
        assert_eq!(refused(t.tag(&name, "latest").await).code, Code::NameTaken, "{name}");
    }
    let long = "x".repeat(40);
    t.tag(&long, "latest").await.unwrap();
    assert_eq!(refused(t.tag("a", "nosuch").await).code, Code::ReleaseNotFound);
}

async fn a_deleted_tag_frees_its_release_and_keeps_its_history(t: &Fixture) {
    let one = t.put([config("n", 1)]).await.release.unwrap().id;
    t.tag("beta", &one).await.unwrap();
    t.catalog.tag_delete(&t.app, "tim", "beta".parse().unwrap()).await.unwrap();
    assert!(t.release(&one).await.tags.is_empty());
    assert_eq!(refused(t.catalog.tag_delete(&t.app, "tim", "beta".parse().unwrap()).await).code, Code::TagNotFound);
    let moves = t.catalog.tag_history(&t.app, "beta".parse().unwrap(), ALL).await.unwrap().items;
    let ends: Vec<_> = moves.iter().map(|step| (step.from.as_ref(), step.to.as_ref(), step.by.as_str())).collect();
    assert_eq!(ends, [(Some(&one), None, "tim"), (None, Some(&one), "tom")]);
    let kinds: Vec<String> = t.events().await.into_iter().rev().take(2).map(|event| event.kind).collect();
    assert_eq!(kinds, ["tag.deleted", "tag.moved"]);
    assert_eq!(refused(t.catalog.tag_history(&t.app, "never".parse().unwrap(), ALL).await).code, Code::TagNotFound);
}

on_both_engines!(
    a_tag_moves_and_is_never_on_two_releases,
    setting_a_tag_to_its_release_records_nothing,
    a_tag_never_has_the_name_of_a_release_or_an_app_version,
    a_deleted_tag_frees_its_release_and_keeps_its_history,
);
