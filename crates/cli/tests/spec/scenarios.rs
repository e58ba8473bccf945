//! Seed 003, "TL;DR of intended behavior of fission code through different scenarios", with the
//! seed's names.

use crate::project::{Project, says_word};
use crate::seed::{HELLO, HELLO_TRIGGER, SRC_PKG, own_package, sharing, trigger};

fn objects(expected: &[(&str, &str, &str)]) -> Vec<(String, String, String)> {
    let mut expected: Vec<_> = expected
        .iter()
        .map(|(kind, name, version)| ((*kind).to_owned(), (*name).to_owned(), (*version).to_owned()))
        .collect();
    expected.sort();
    expected
}

#[test]
fn scenario_1_a_changed_file_versions_the_package_and_the_function_under_one_uid() {
    let project = Project::new(&[]);
    project.file("specs/hello.yaml", HELLO);
    project.code("hello", "hello", "one");
    let owf = project.apply("hello");
    assert_eq!(project.uids("function", "hello"), [owf.as_str()]);
    assert_eq!(project.uids("package", "hello-pkg"), [owf.as_str()]);

    project.file("hello/hello.py", &says_word("two"));
    let commit = project.commit("hello again");
    let aub = project.json("spec version apply")["appVersion"].as_str().unwrap().to_owned();
    assert_eq!(project.uids("function", "hello"), [aub.as_str(), &owf]);
    assert_eq!(project.uids("package", "hello-pkg"), [aub.as_str(), &owf]);
    let group = project.json(&format!("app show {aub}"));
    assert_eq!(group["git"]["commit"], commit.as_str());
    assert_eq!(group["git"]["branch"], "main");
    assert_eq!(group["git"]["clean"], true);
    assert_eq!(group["git"]["subject"], "hello again");
    assert_eq!(project.objects(&aub), objects(&[("function", "hello", &aub), ("package", "hello-pkg", &aub)]));
    assert_eq!(project.objects(&owf), objects(&[("function", "hello", &owf), ("package", "hello-pkg", &owf)]));
    let listed = project.json("spec version list");
    assert_eq!(listed["git"]["commit"], commit.as_str());
    assert_eq!(listed["objects"].as_array().unwrap().len(), 2, "{listed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn scenario_2_a_trigger_on_latest_serves_the_new_version_at_once_and_steps_back_when_it_is_deleted() {
    let project = Project::new(&[]);
    project.file("specs/hello.yaml", &format!("{HELLO}{HELLO_TRIGGER}"));
    project.code("hello", "hello", "one");
    let first = project.apply("hello");
    assert_eq!(project.stage.get("/hello").await.body, "one");
    let route = project.json("route list")[0]["current"]["number"].clone();

    project.file("hello/hello.py", &says_word("two"));
    let second = project.apply("hello again");
    assert_eq!(project.stage.get("/hello").await.body, "two");
    let now = &project.json("route list")[0]["current"]["number"];
    assert_eq!(*now, route, "the trigger itself did not change");
    assert_eq!(project.uids("function", "hello"), [second.as_str(), &first]);

    project.stage.world.ok(&format!("function version delete --name hello --version {second}"));
    assert_eq!(project.stage.get("/hello").await.body, "one");
}

#[test]
fn scenario_3_only_what_changed_gets_a_version_and_the_second_group_lists_bar_at_its_old_one() {
    let project = Project::new(&[]);
    project.file("specs/functions.yaml", &format!("{}---\n{}", own_package("foo"), own_package("bar")));
    project.code("foo", "foo", "foo one");
    project.code("bar", "bar", "bar one");
    let yti = project.apply("foo and bar");
    let all = [
        ("function", "foo", yti.as_str()),
        ("function", "bar", &yti),
        ("package", "foo-pkg", &yti),
        ("package", "bar-pkg", &yti),
    ];
    assert_eq!(project.objects(&yti), objects(&all));

    project.file("foo/foo.py", &says_word("foo two"));
    let abc = project.apply("foo");
    assert_eq!(project.uids("function", "foo"), [abc.as_str(), &yti]);
    assert_eq!(project.uids("package", "foo-pkg"), [abc.as_str(), &yti]);
    assert_eq!(project.uids("function", "bar"), [yti.as_str()]);
    assert_eq!(project.uids("package", "bar-pkg"), [yti.as_str()]);
    let second = [
        ("function", "foo", abc.as_str()),
        ("function", "bar", &yti),
        ("package", "foo-pkg", &abc),
        ("package", "bar-pkg", &yti),
    ];
    assert_eq!(project.objects(&abc), objects(&second));
}

#[tokio::test(flavor = "multi_thread")]
async fn scenarios_4_and_5_a_shared_package_versions_both_functions_and_what_is_taken_out_goes() {
    let project = Project::new(&[]);
    let both = format!("{}{}{SRC_PKG}{}{}", sharing("foo"), sharing("bar"), trigger("foo"), trigger("bar"));
    project.file("specs/functions.yaml", &both);
    project.code("src", "foo", "foo one");
    project.code("src", "bar", "bar one");
    let uid = project.apply("both");
    project.file("src/foo.py", &says_word("foo two"));
    let bla = project.apply("foo");
    for (kind, name) in [("function", "foo"), ("function", "bar"), ("package", "src-pkg")] {
        assert_eq!(project.uids(kind, name), [bla.as_str(), &uid], "{kind} {name}");
    }
    let routes = |objects: Vec<(String, String, String)>| {
        objects.into_iter().filter(|(kind, ..)| kind != "route").collect::<Vec<_>>()
    };
    let group = [("function", "foo", bla.as_str()), ("function", "bar", &bla), ("package", "src-pkg", &bla)];
    assert_eq!(routes(project.objects(&bla)), objects(&group));
    let release = project.json(&format!("app show {bla}"))["release"]["id"].as_str().unwrap().to_owned();
    assert_eq!(project.stage.get("/foo").await.body, "foo two");

    // Scenario 5: removes foo from the YAML and the source.
    project.file("specs/functions.yaml", &format!("{}{SRC_PKG}{}", sharing("bar"), trigger("bar")));
    std::fs::remove_file(project.env().work_dir().join("src/foo.py")).unwrap();
    let ueo = project.apply("without foo");
    assert_eq!(project.uids("function", "bar"), [ueo.as_str(), &bla, &uid]);
    assert_eq!(project.uids("package", "src-pkg"), [ueo.as_str(), &bla, &uid]);
    assert_eq!(routes(project.objects(&ueo)), objects(&[("function", "bar", &ueo), ("package", "src-pkg", &ueo)]));
    assert_eq!(project.run("function version list --name foo").status, Some(1), "its versions are retired");
    assert_eq!(project.stage.get("/foo").await.status, 404);
    assert_eq!(project.stage.get("/bar").await.body, "bar one");
    // Versions that an active release serves are kept.
    let old = format!("{release}--default");
    let answer = crate::stage::get(&project.stage.client, &project.stage.url("/foo"), &old).await.unwrap();
    assert_eq!((answer.status, answer.body.as_str()), (200, "foo two"));
}

#[test]
fn a_version_that_is_deleted_between_two_applies_does_not_confuse_the_next() {
    let project = Project::new(&[]);
    project.file("specs/hello.yaml", HELLO);
    project.code("hello", "hello", "one");
    let first = project.apply("one");
    project.file("hello/hello.py", &says_word("two"));
    let second = project.apply("two");
    project.stage.world.ok(&format!("function version delete --name hello --version {second}"));
    assert_eq!(project.uids("function", "hello"), [first.as_str()]);

    // The app changed and the folder did not: applying restores the folder's state.
    let third = project.json("spec version apply");
    assert_eq!(third["changed"], true, "{third}");
    let third = third["appVersion"].as_str().unwrap();
    assert_eq!(project.uids("function", "hello"), [third, &first]);
    assert_eq!(project.uids("package", "hello-pkg"), [second.as_str(), &first], "the package was there as it is");
    let versions = project.json("function version list --name hello");
    assert_eq!(versions[0]["number"], 3, "a number is not given twice");
    assert!(project.stage.world.ok("spec version apply").contains("Everything up to date."));
}
