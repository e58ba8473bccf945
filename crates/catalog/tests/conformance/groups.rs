//! Groups and tokens.

use milepost_model::unit_put::{FunctionPut, PutOnly};
use milepost_model::{Code, Digest, GroupName, Role, UnitKind, Warning};

use crate::common::*;
use crate::facts::RefusalFacts;

fn name(text: &str) -> GroupName {
    text.parse().unwrap()
}

async fn a_group_holds_one_version_of_each_unit(t: &Fixture) {
    t.put([config("a", 1).grouped("spring"), secret("TOKEN", "x").grouped("spring")]).await;
    t.put([config("a", 2).grouped("spring")]).await;
    t.put([config("a", 3).grouped("autumn")]).await;
    let group = t.catalog.group_get(&t.app, name("spring")).await.unwrap();
    let mut members: Vec<_> = group.members.iter().map(|member| (member.kind, member.number)).collect();
    members.sort();
    assert_eq!(members, [(UnitKind::Secret, 1), (UnitKind::Config, 2)]);
    let names: Vec<String> =
        t.catalog.group_list(&t.app).await.unwrap().iter().map(|group| group.name.to_string()).collect();
    assert_eq!(names, ["autumn", "spring"]);
    assert_eq!(t.version(UnitKind::Config, "config", "2").await.unwrap().groups, [name("spring")]);
}

async fn an_unchanged_version_joins_the_group_and_keeps_its_description(t: &Fixture) {
    t.deploy("hello", "one").await;
    let merge = || FunctionPut { merge: true, ..FunctionPut::default() };
    let described = |group: &str| {
        let mut put = function_with("hello", merge()).grouped(group);
        put.description = Some("other words".to_owned());
        put.only = Some(PutOnly::Existing);
        put
    };
    let outcome = t.put([described("spring")]).await;
    assert!(!outcome.changed);
    let unused = Warning::DescriptionUnused { kind: UnitKind::Function, name: "hello".to_owned(), version: 1 };
    assert_eq!(outcome.notices, [unused]);
    let version = t.version(UnitKind::Function, "hello", "1").await.unwrap();
    assert_eq!((version.groups, version.description.as_str()), (vec![name("spring")], ""));
    let joined = async || t.events().await.iter().filter(|event| event.kind == "group.changed").count();
    assert_eq!(joined().await, 1);
    t.put([described("spring")]).await;
    assert_eq!(joined().await, 1, "it is in it");
}

async fn deleting_a_group_keeps_its_versions(t: &Fixture) {
    t.put([config("a", 1).grouped("spring")]).await;
    t.catalog.group_delete(&t.app, "x", name("spring")).await.unwrap();
    assert_eq!(t.numbers(UnitKind::Config, "config").await, [1]);
    let refusal = refused(t.catalog.group_get(&t.app, name("spring")).await);
    assert_eq!(refusal.code, Code::GroupNotFound);
    assert_eq!(refused(t.catalog.group_delete(&t.app, "x", name("spring")).await).code, Code::GroupNotFound);
    t.put([config("a", 2).grouped("autumn")]).await;
    assert_eq!(refused(t.catalog.group_get(&t.app, name("autum")).await).close_names(), ["autumn"]);
}

async fn a_deleted_version_leaves_its_group(t: &Fixture) {
    t.deploy("hello", "one").await;
    t.put([function_on("hello", "hello").forced().grouped("spring")]).await;
    t.delete(UnitKind::Function, "hello", "2").await.unwrap();
    assert!(t.catalog.group_get(&t.app, name("spring")).await.unwrap().members.is_empty());
}

async fn tokens_are_found_by_their_hash(t: &Fixture) {
    let hash = Digest::of(b"token");
    t.catalog.token_create("ci".into(), hash, Role::Deployer, Some(t.app.clone()), "ann").await.unwrap();
    t.catalog.token_create("Root".into(), Digest::of(b"root"), Role::Admin, None, "ann").await.unwrap();
    let found = t.catalog.token_by_hash(hash).await.unwrap().unwrap();
    assert_eq!((found.name.as_str(), found.role, found.app.as_deref()), ("ci", Role::Deployer, Some("shop")));
    assert!(t.catalog.token_by_hash(Digest::of(b"other")).await.unwrap().is_none());
    let taken = t.catalog.token_create("ci".into(), Digest::of(b"new"), Role::Reader, None, "ann").await;
    assert_eq!(refused(taken).code, Code::TokenExists);
    let names: Vec<String> = t.catalog.token_list().await.unwrap().into_iter().map(|token| token.name).collect();
    assert_eq!(names, ["Root", "ci"]);
    assert_eq!(refused(t.catalog.token_delete("cj".into()).await).close_names(), ["ci"]);
    t.catalog.token_delete("ci".into()).await.unwrap();
    assert!(t.catalog.token_by_hash(hash).await.unwrap().is_none());
}

async fn a_token_of_a_deleted_app_matches_no_app(t: &Fixture) {
    let hash = Digest::of(b"token");
    t.catalog.token_create("ci".into(), hash, Role::Deployer, Some(t.app.clone()), "ann").await.unwrap();
    t.catalog.app_delete(&t.app, "ann").await.unwrap();
    t.catalog.app_create(&t.app, milepost_model::PlanName::Free, "ann").await.unwrap();
    assert_eq!(t.catalog.token_by_hash(hash).await.unwrap().unwrap().app.as_deref(), Some(""));
}

on_both_engines!(
    a_group_holds_one_version_of_each_unit,
    an_unchanged_version_joins_the_group_and_keeps_its_description,
    deleting_a_group_keeps_its_versions,
    a_deleted_version_leaves_its_group,
    tokens_are_found_by_their_hash,
    a_token_of_a_deleted_app_matches_no_app,
);
