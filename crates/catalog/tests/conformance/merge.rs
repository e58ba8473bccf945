//! Which fields of a put are kept and which get their default.

use milepost_model::Next;
use milepost_model::refusal::Field;
use milepost_model::unit_put::{ConfigPut, FunctionPut, PackagePut, ScalePut};
use milepost_model::{Code, UnitKind, UnitPut};
use serde_json::json;

use crate::common::facts::RefusalFacts;
use crate::common::*;

async fn a_merged_function_keeps_omitted_fields(t: &Fixture) {
    t.deploy("hello", "one").await;
    let first = FunctionPut {
        package: Some(reference("hello", "latest")),
        entrypoint: Some("main.run".into()),
        memory: Some(256 << 20),
        variables: [("MODE".to_owned(), Some("fast".to_owned()))].into(),
        scale: Some(ScalePut { min: Some(1), ..ScalePut::default() }),
        ..FunctionPut::default()
    };
    t.put([function_with("hello", first)]).await;
    let second = FunctionPut { merge: true, timeout_ms: Some(5000), ..FunctionPut::default() };
    t.put([function_with("hello", second)]).await;
    let spec = t.version(UnitKind::Function, "hello", "latest").await.unwrap().spec;
    assert_eq!(
        (&spec["entrypoint"], &spec["memory"], &spec["timeoutMs"]),
        (&json!("main.run"), &json!(256 << 20), &json!(5000))
    );
    assert_eq!((&spec["variables"], &spec["scale"]), (&json!({"MODE": "fast"}), &json!({"min": 1})));
    assert_eq!(spec["package"]["number"], 1);
}

async fn an_unmerged_function_gets_defaults(t: &Fixture) {
    t.deploy("hello", "one").await;
    let first = FunctionPut { merge: true, memory: Some(256 << 20), ..FunctionPut::default() };
    t.put([function_with("hello", first)]).await;
    t.put([function_on("hello", "hello")]).await;
    let version = t.version(UnitKind::Function, "hello", "latest").await.unwrap();
    assert_eq!((version.number, version.spec.get("memory")), (3, None));
    assert_eq!(t.refuse([function_with("hello", FunctionPut::default())]).await.code, Code::InvalidSpec);
}

async fn a_merged_function_stays_on_its_package_version(t: &Fixture) {
    t.deploy("hello", "one").await;
    let tree = t.tree("two").await;
    t.put([package("hello", tree)]).await;
    t.put([function_with("hello", FunctionPut { merge: true, cpu: Some(500), ..FunctionPut::default() })]).await;
    let spec = t.version(UnitKind::Function, "hello", "latest").await.unwrap().spec;
    assert_eq!((&spec["package"]["number"], &spec["cpu"]), (&json!(1), &json!(500)));
}

fn package_with(package: PackagePut) -> milepost_model::unit_put::Put {
    put("code", UnitPut::Package(PackagePut { merge: true, ..package }))
}

async fn a_function_that_moves_to_its_own_package_keeps_its_environment(t: &Fixture) {
    let (one, two) = (t.tree("one").await, t.tree("two").await);
    let mut shared = package("shared", one);
    if let UnitPut::Package(package) = &mut shared.unit {
        package.environment = Some(reference("snake", "latest"));
    }
    t.put([environment("snake", "3.12"), shared, function_on("hello", "shared")]).await;
    let own = PackagePut { merge: true, deployment: Some(two), ..PackagePut::default() };
    let moved = FunctionPut { merge: true, package: Some(reference("hello-pkg", "latest")), ..FunctionPut::default() };
    t.put([put("hello-pkg", UnitPut::Package(own)), function_with("hello", moved)]).await;
    let function = t.version(UnitKind::Function, "hello", "latest").await.unwrap();
    assert_eq!(
        (&function.spec["package"]["name"], &function.spec["environment"]["name"]),
        (&"hello-pkg".into(), &"snake".into())
    );
    let package = t.version(UnitKind::Package, "hello-pkg", "latest").await.unwrap();
    assert_eq!(package.spec["environment"]["name"], "snake");
}

async fn a_command_for_a_package_without_a_source_is_refused(t: &Fixture) {
    let tree = t.tree("one").await;
    t.put([package("p", tree)]).await;
    let command = PackagePut { merge: true, build_command: Some("./build.sh".into()), ..PackagePut::default() };
    let refusal = t.refuse([put("p", UnitPut::Package(command))]).await;
    assert_eq!(refusal.code, Code::InvalidSpec);
    assert!(refusal.next.contains(&Next::Give { field: Field::Source }), "{refusal:?}");
}

async fn a_merged_package_keeps_its_environment_command_and_log(t: &Fixture) {
    let (source, built, log) = (t.tree("source").await, t.tree("built").await, t.tree("log").await);
    let first = PackagePut {
        environment: Some(reference("python", "latest")),
        source: Some(source),
        build_command: Some("./build.sh".into()),
        deployment: Some(built),
        build_log: Some(log),
        ..PackagePut::default()
    };
    t.put([package_with(first)]).await;
    assert!(!t.put([package_with(PackagePut::default())]).await.changed);
    let spec = t.version(UnitKind::Package, "code", "latest").await.unwrap().spec;
    assert_eq!(spec["buildLog"], json!(log));

    // The result belongs to the command that made it.
    let other = PackagePut { build_command: Some("make".into()), ..PackagePut::default() };
    assert_eq!(t.refuse([package_with(other)]).await.code, Code::BuildNeeded);

    // A new source makes the result and its log stale.
    let newer = t.tree("newer").await;
    let unbuilt = PackagePut { source: Some(newer), ..PackagePut::default() };
    assert_eq!(t.refuse([package_with(unbuilt.clone())]).await.code, Code::BuildNeeded);
    let rebuilt = t.tree("rebuilt").await;
    t.put([package_with(PackagePut { deployment: Some(rebuilt), ..unbuilt })]).await;
    let spec = t.version(UnitKind::Package, "code", "latest").await.unwrap().spec;
    assert_eq!((&spec["source"], &spec["buildCommand"]), (&json!(newer), &json!("./build.sh")));
    assert_eq!((&spec["deployment"], spec.get("buildLog")), (&json!(rebuilt), None));
    assert_eq!(spec["environment"]["name"], "python");

    // A result without a source replaces both.
    t.put([package_with(PackagePut { deployment: Some(built), ..PackagePut::default() })]).await;
    let spec = t.version(UnitKind::Package, "code", "latest").await.unwrap().spec;
    assert_eq!((&spec["deployment"], spec.get("source")), (&json!(built), None));
}

async fn a_package_needs_code_and_an_environment(t: &Fixture) {
    let tree = t.tree("one").await;
    let bare = PackagePut { environment: Some(reference("python", "latest")), ..PackagePut::default() };
    assert_eq!(t.refuse([package_with(bare)]).await.code, Code::InvalidSpec);
    let homeless = PackagePut { deployment: Some(tree), ..PackagePut::default() };
    assert_eq!(t.refuse([package_with(homeless)]).await.code, Code::InvalidSpec);
    let (file, _) = tree_digests("never sent");
    let refusal = t.refuse([package("code", file)]).await;
    assert_eq!((refusal.code, refusal.lines()), (Code::MissingBlobs, vec![file.to_string()]));
}

async fn config_keys_are_set_unset_and_replaced(t: &Fixture) {
    t.put([config("mail.from", "a")]).await;
    t.put([config("mail.to", "b")]).await;
    let document = |version: milepost_model::snapshot::Version| version.spec["document"].clone();
    let read = t.version(UnitKind::Config, "config", "latest").await.unwrap();
    assert_eq!(document(read), json!({"mail": {"from": "a", "to": "b"}}));

    let unset = ConfigPut { unset: vec!["mail.from".into()], ..ConfigPut::default() };
    t.put([put("config", UnitPut::Config(unset.clone()))]).await;
    assert_eq!(t.refuse([put("config", UnitPut::Config(unset))]).await.code, Code::InvalidSpec);
    let whole = ConfigPut { document: Some(json!({"x": 1})), ..ConfigPut::default() };
    t.put([put("config", UnitPut::Config(whole))]).await;
    let read = t.version(UnitKind::Config, "config", "latest").await.unwrap();
    assert_eq!((read.number, document(read)), (4, json!({"x": 1})));
}

async fn triggers_are_pinned_or_follow_an_alias_or_the_release(t: &Fixture) {
    t.deploy("hello", "one").await;
    t.alias("hello", "stable", "1").await;
    t.put([route("GET /a", "hello", "1"), route("GET /b", "hello", "@stable"), timer("c", "hello", "latest")]).await;
    t.deploy("hello", "two").await;
    let pinned = t.version(UnitKind::Route, "GET /a", "latest").await.unwrap();
    assert_eq!((pinned.number, &pinned.spec["version"]["number"]), (1, &json!(1)));
    let alias = t.version(UnitKind::Route, "GET /b", "latest").await.unwrap().spec;
    assert_eq!((&alias["alias"], alias.get("version")), (&json!("stable"), None));
    let latest = t.version(UnitKind::Timer, "c", "latest").await.unwrap().spec;
    assert_eq!((&latest["function"], latest.get("alias"), latest.get("version")), (&json!("hello"), None, None));
    // The same selector now resolves to another version.
    assert!(t.put([route("GET /a", "hello", "2")]).await.changed);
    assert!(!t.put([route("GET /a", "hello", "2")]).await.changed);
}

async fn a_trigger_needs_an_existing_function_version_and_alias(t: &Fixture) {
    assert_eq!(t.refuse([route("GET /a", "hello", "latest")]).await.code, Code::UnitNotFound);
    t.deploy("hello", "one").await;
    assert_eq!(t.refuse([route("GET /a", "hello", "@stable")]).await.code, Code::AliasNotFound);
    assert_eq!(t.refuse([timer("n", "hello", "7")]).await.code, Code::VersionNotFound);
    assert_eq!(t.refuse([route("GET /a/{x", "hello", "1")]).await.code, Code::InvalidSpec);
}

on_both_engines!(
    a_merged_function_keeps_omitted_fields,
    an_unmerged_function_gets_defaults,
    a_merged_function_stays_on_its_package_version,
    a_function_that_moves_to_its_own_package_keeps_its_environment,
    a_command_for_a_package_without_a_source_is_refused,
    a_merged_package_keeps_its_environment_command_and_log,
    a_package_needs_code_and_an_environment,
    config_keys_are_set_unset_and_replaced,
    triggers_are_pinned_or_follow_an_alias_or_the_release,
    a_trigger_needs_an_existing_function_version_and_alias,
);
