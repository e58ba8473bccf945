use milepost_model::change::{Change, UnitAction, UnitKey};
use milepost_model::plan::Reason;
use milepost_model::unit_put::{FunctionPut, Put, PutOnly};
use milepost_model::{Code, GitFacts, PlanName, UnitKind, UnitPut, Warning};

use crate::common::*;

async fn one_change_puts_a_unit_of_every_kind(t: &Fixture) {
    let tree = t.tree("one").await;
    let outcome = t
        .put([
            // In random order: dependencies are applied before their dependents.
            timer("nightly", "hello", "latest"),
            route("GET /hello", "hello", "latest"),
            static_item("/static", tree),
            function_on("hello", "hello"),
            package("hello", tree),
            config("greeting", "hi"),
            secret("TOKEN", "abc"),
            environment("python", "3.12"),
        ])
        .await;
    assert!(outcome.changed);
    let uid = outcome.app_version.unwrap();
    let kinds: Vec<UnitKind> = outcome.versions.iter().map(|unit| unit.kind).collect();
    assert_eq!(kinds, UnitKind::ALL);
    for unit in &outcome.versions {
        assert_eq!((unit.action, unit.number, unit.uid.as_ref()), (UnitAction::Created, Some(1), Some(&uid)));
        assert_eq!(unit.reasons, [Reason::New]);
        let version = t.version(unit.kind, unit.name.as_str(), "latest").await.unwrap();
        assert_eq!((Some(version.digest), version.number, version.latest), (unit.digest, 1, true));
        assert_eq!((&version.uid, version.created_by.as_str()), (&uid, "ann"));
        assert_eq!(version.releases, [outcome.release.as_ref().unwrap().id.clone()]);
    }
    assert_eq!(t.objects(&uid).await.len(), 8);
}

async fn equal_content_makes_no_version(t: &Fixture) {
    let first = t.deploy("hello", "one").await;
    let before = t.rows().await;
    let second = t.deploy("hello", "one").await;
    assert!(!second.changed);
    assert_eq!(second.app_version, first.app_version);
    assert!(second.release.is_none() && second.notices.is_empty());
    assert!(second.versions.iter().all(|unit| unit.action == UnitAction::Unchanged && unit.number == Some(1)));
    assert_eq!(t.rows().await, before);
}

async fn a_forced_put_makes_a_version_that_shares_the_stored_content(t: &Fixture) {
    let first = t.deploy("hello", "one").await;
    let contents = t.count("contents").await;
    let second = t.put([function_on("hello", "hello").forced()]).await;
    assert!(second.changed);
    assert_ne!(second.app_version, first.app_version);
    assert_eq!((second.versions[0].number, &second.versions[0].reasons[..]), (Some(2), &[Reason::Asked][..]));
    let (one, two) = (
        t.version(UnitKind::Function, "hello", "1").await.unwrap(),
        t.version(UnitKind::Function, "hello", "2").await.unwrap(),
    );
    assert_eq!((one.digest, one.spec), (two.digest, two.spec));
    assert_eq!(t.count("contents").await, contents);
}

async fn only_what_differs_gets_a_version(t: &Fixture) {
    t.put([config("a", 1), secret("TOKEN", "x")]).await;
    let outcome = t.put([config("a", 2), secret("TOKEN", "x")]).await;
    let actions: Vec<_> = outcome.versions.iter().map(|unit| (unit.kind, unit.action, unit.number)).collect();
    assert_eq!(
        actions,
        [(UnitKind::Secret, UnitAction::Unchanged, Some(1)), (UnitKind::Config, UnitAction::Updated, Some(2))]
    );
    let reason = Reason::Field { field: "a".into(), before: Some(1.into()), after: Some(2.into()) };
    assert_eq!(outcome.versions[1].reasons, [reason]);
}

async fn a_function_and_its_package_made_together_share_a_uid(t: &Fixture) {
    t.deploy("hello", "one").await;
    let outcome = t.deploy("hello", "two").await;
    let uid = outcome.app_version.unwrap();
    let package = t.version(UnitKind::Package, "hello", &uid).await.unwrap();
    let function = t.version(UnitKind::Function, "hello", &uid).await.unwrap();
    assert_eq!((package.number, function.number), (2, 2));
    assert_eq!(function.spec["package"]["number"], 2);
    let changed = outcome.versions.iter().find(|unit| unit.kind == UnitKind::Function).unwrap();
    let reason = Reason::Pinned { kind: UnitKind::Package, name: "hello".into(), before: Some(1), after: Some(2) };
    assert_eq!(changed.reasons, [reason]);
}

async fn a_function_takes_the_uid_of_its_package_when_asked(t: &Fixture) {
    let tree = t.tree("one").await;
    let made = t.put([package("code", tree)]).await.app_version.unwrap();
    let put =
        FunctionPut { package: Some(reference("code", &made)), adopt_package_uid: true, ..FunctionPut::default() };
    let outcome = t.put([function_with("hello", put.clone())]).await;
    assert_eq!(outcome.versions[0].uid.as_ref(), Some(&made));
    assert_ne!(outcome.app_version.as_ref(), Some(&made));

    let again = t.put([function_with("hello", put).forced()]).await;
    assert_eq!(again.versions[0].uid, again.app_version);
    assert!(matches!(&again.notices[..], [Warning::UidTaken { uid, .. }] if *uid == made), "{:?}", again.notices);
}

async fn a_built_in_environment_joins_the_app_on_first_use(t: &Fixture) {
    let outcome = t.deploy("hello", "one").await;
    assert_eq!(outcome.versions[0].kind, UnitKind::Environment);
    let environment = t.version(UnitKind::Environment, "python", "latest").await.unwrap();
    assert_eq!(environment.spec["runtime"], "python");
    assert!(t.objects("head").await.contains_key("environment python"));
    let tree = t.tree("x").await;
    let unknown = milepost_model::unit_put::PackagePut {
        environment: Some(reference("cobol", "latest")),
        deployment: Some(tree),
        ..Default::default()
    };
    assert_eq!(t.refuse([put("p", milepost_model::UnitPut::Package(unknown))]).await.code, Code::UnitNotFound);
}

async fn create_needs_a_new_unit_and_update_an_existing_one(t: &Fixture) {
    let only = |only| milepost_model::unit_put::Put { only: Some(only), ..config("a", 1) };
    assert_eq!(t.refuse([only(PutOnly::Existing)]).await.code, Code::UnitNotFound);
    t.put([only(PutOnly::New)]).await;
    assert_eq!(t.refuse([only(PutOnly::New)]).await.code, Code::UnitExists);
    assert!(!t.put([only(PutOnly::Existing)]).await.changed);
}

async fn a_change_names_each_unit_once(t: &Fixture) {
    assert_eq!(t.refuse([config("a", 1), config("b", 2)]).await.code, Code::InvalidRequest);
    t.put([config("a", 1)]).await;
    let both = Change { removes: vec![key(UnitKind::Config, "config")], ..change([config("a", 2)]) };
    assert_eq!(refused(t.send(both).await).code, Code::InvalidRequest);
}

async fn a_refused_change_writes_nothing(t: &Fixture) {
    t.put([config("a", 1)]).await;
    let before = t.rows().await;
    // The second unit fails after the first was written.
    let refusal = t.refuse([config("a", 2), function_on("hello", "nowhere")]).await;
    assert_eq!(refusal.code, Code::UnitNotFound);
    assert_eq!(t.rows().await, before);
    assert_eq!(t.version(UnitKind::Config, "config", "latest").await.unwrap().number, 1);
}

async fn a_change_records_its_message_and_git_facts(t: &Fixture) {
    let git =
        GitFacts { commit: "abc".into(), branch: "main".into(), clean: false, remote: None, subject: Some("s".into()) };
    let said = Change { message: "first".into(), git: Some(git.clone()), ..change([config("a", 1)]) };
    let outcome = t.send(said).await.unwrap();
    let read = t.catalog.app_version_get(&t.app, outcome.app_version.unwrap()).await.unwrap();
    assert_eq!((read.message.as_str(), read.git, read.number), ("first", Some(git), 1));
    t.deploy("hello", "one").await;
    let list = t.catalog.app_version_list(&t.app, ALL).await.unwrap().items;
    assert_eq!(list[0].message, "create function hello");
    assert!(list[0].objects.is_empty() && list[0].release.is_some());
}

async fn a_plan_limits_the_resources_of_a_function(t: &Fixture) {
    t.set_plan(PlanName::Free).await;
    t.deploy("hello", "one").await;
    let asking = |put: FunctionPut| function_with("hello", FunctionPut { merge: true, ..put });
    let refusal = t.refuse([asking(FunctionPut { memory: Some(1 << 30), ..FunctionPut::default() })]).await;
    assert_eq!(refusal.code, Code::PlanLimit);
    assert!(refusal.message.contains("1024 MiB"), "{}", refusal.message);
    let scale = milepost_model::unit_put::ScalePut { max: Some(9), ..Default::default() };
    assert_eq!(
        t.refuse([asking(FunctionPut { scale: Some(scale), ..FunctionPut::default() })]).await.code,
        Code::PlanLimit
    );
}

async fn a_plan_limits_the_number_of_functions_but_lets_an_app_shrink(t: &Fixture) {
    let tree = t.tree("one").await;
    let names: Vec<String> = (0..52).map(|number| format!("f{number}")).collect();
    let functions = names.iter().map(|name| function_on(name, "code"));
    t.put(functions.chain([package("code", tree)])).await;
    t.set_plan(PlanName::Free).await;
    assert_eq!(t.refuse([function_on("more", "code")]).await.code, Code::PlanLimit);
    t.remove(UnitKind::Function, "f0").await.unwrap();
    t.put([config("a", 1)]).await;
    t.remove(UnitKind::Function, "f1").await.unwrap();
    t.remove(UnitKind::Function, "f2").await.unwrap();
    t.put([function_on("f2", "code")]).await;
}

async fn overlapping_routes_are_reported_by_the_change_that_makes_them(t: &Fixture) {
    t.deploy("hello", "one").await;
    t.put([route("GET /x/{a}", "hello", "latest"), route("GET /y", "hello", "latest")]).await;
    let second = t.put([route("GET /x/{b}", "hello", "latest")]).await;
    let (route_b, route_a) = ("route GET /x/{b}".to_owned(), "route GET /x/{a}".to_owned());
    assert_eq!(second.notices, [Warning::RoutesOverlap { route: route_b, other: route_a }]);
    // The overlap was reported before, and this change does not concern it.
    assert!(t.put([route("GET /z", "hello", "latest")]).await.notices.is_empty());
    // One route replaces the other.
    t.remove(UnitKind::Route, "GET /x/{b}").await.unwrap();
    let removes = vec![UnitKey { kind: UnitKind::Route, name: "GET /x/{a}".parse().unwrap() }];
    let puts = vec![route("GET /x/{c}", "hello", "latest")];
    let taken_over = t.send(Change { removes, ..change(puts) }).await.unwrap();
    assert!(taken_over.changed && taken_over.notices.is_empty(), "{:?}", taken_over.notices);
}

async fn a_route_for_a_foreign_host_is_rejected_but_an_old_one_blocks_nothing(t: &Fixture) {
    let on_host = |name: &str, host: &str| {
        let mut put = route(name, "hello", "latest");
        let UnitPut::Route(route) = &mut put.unit else { panic!("a route") };
        route.host = host.to_owned();
        put
    };
    t.deploy("hello", "one").await;
    // Without a known domain, every host is accepted.
    let before = on_host("GET /before", "www.example.org");
    t.put([before.clone()]).await;
    let catalog = t.catalog.clone().serving_under("Apps.Example.org.");
    let send = async |puts: Vec<Put>| {
        t.clock.advance_ms(1000);
        catalog.change(&t.app, input(change(puts))).await
    };
    let refusal = refused(send(vec![on_host("GET /x", "www.example.org"), config("greeting", "hi")]).await);
    assert_eq!(refusal.code, Code::InvalidSpec);
    for said in ["route GET /x", "`www.example.org`", "app `shop`"] {
        assert!(refusal.message.contains(said), "{refusal:?}");
    }
    assert!(format!("{:?}", refusal.next).contains("`TAG--shop.apps.example.org`"), "{refusal:?}");
    let unchanged = send(vec![before, config("greeting", "hi")]).await.unwrap();
    assert!(unchanged.changed);
    let altered = on_host("GET /before", "web.example.org");
    assert_eq!(refused(send(vec![altered]).await).code, Code::InvalidSpec);
    let fine = ["shop.apps.example.org", "SHOP.beta.apps.example.org", "beta--shop.apps.example.org", ""];
    send(fine.into_iter().enumerate().map(|(at, host)| on_host(&format!("GET /{at}"), host)).collect()).await.unwrap();
}

on_both_engines!(
    a_route_for_a_foreign_host_is_rejected_but_an_old_one_blocks_nothing,
    overlapping_routes_are_reported_by_the_change_that_makes_them,
    one_change_puts_a_unit_of_every_kind,
    equal_content_makes_no_version,
    a_forced_put_makes_a_version_that_shares_the_stored_content,
    only_what_differs_gets_a_version,
    a_function_and_its_package_made_together_share_a_uid,
    a_function_takes_the_uid_of_its_package_when_asked,
    a_built_in_environment_joins_the_app_on_first_use,
    create_needs_a_new_unit_and_update_an_existing_one,
    a_change_names_each_unit_once,
    a_refused_change_writes_nothing,
    a_change_records_its_message_and_git_facts,
    a_plan_limits_the_resources_of_a_function,
    a_plan_limits_the_number_of_functions_but_lets_an_app_shrink,
);
