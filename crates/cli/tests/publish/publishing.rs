use crate::author::{Author, text};

#[test]
fn publishing_prints_how_to_install_the_version() {
    let author = Author::new();
    let said = author.ok("publish");
    assert!(said.contains("Published shop 1.0.0 to stable; it is now the latest."), "{said}");
    assert!(said.contains("Digest   sha256:"), "{said}");
    assert!(said.contains("/channels/shop/stable"), "{said}");
    assert!(said.contains("Install  milepost install --channel http://"), "{said}");

    let beta = author.release("1.1.0", "--pre beta.1+7");
    assert_eq!(text(&beta["version"]), "1.1.0-beta.1+7");
    assert_eq!(text(&beta["channel"]), "beta");
    let second = author.release("1.1.0", "");
    assert_eq!(second["latest"], true);
    assert_eq!(beta["id"], second["id"], "the same app version gives the same artifact");
    let older = author.release("1.0.1", "");
    assert_eq!(older["latest"], false, "an older line does not take latest");

    assert_eq!(author.versions(""), ["1.1.0", "1.0.1", "1.0.0"]);
    assert_eq!(author.versions("beta"), ["1.1.0-beta.1+7"]);
    let shown = author.ok("channel show");
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[1].starts_with("1.1.0") && lines[1].contains("latest"), "{shown}");
    let digest = text(&second["id"]);
    assert!(lines[1].contains(&digest["sha256:".len()..][..12]), "{shown}");
    let listed = author.ok("channel list");
    assert!(listed.contains("beta") && listed.contains("stable") && listed.contains("1.1.0"), "{listed}");
}

#[test]
fn other_releases_can_be_published_and_a_dry_run_publishes_nothing() {
    let author = Author::new();
    author.manifest("1.1.0", "two");
    author.deploy();
    let dry = author.json("publish --dry-run");
    assert_eq!(dry["dryRun"], true);
    assert!(author.refused("channel show").contains("does not exist"));
    let live = author.json("publish");
    author.manifest("1.0.0", "one");
    let first = author.json("publish --app-version 1");
    assert_ne!(first["id"], live["id"]);
    assert_ne!(first["appVersion"], live["appVersion"]);
    assert_eq!(author.versions(""), ["1.1.0", "1.0.0"]);
}

#[test]
fn every_refusal_has_a_hint() {
    let author = Author::new();
    author.ok("publish");
    // With the hyphen, as in the seed.
    author.ok("publish --pre -beta.1 --to folder");
    for (manifest, line, says) in [
        ("1.0.0", "publish", "`1.0.0` is already in `stable`, and a published version never changes"),
        ("1.0.0", "publish --pre beta", "is not newer than the stable release `1.0.0`"),
        ("1.0.0-rc.1", "publish", "it must be three plain numbers"),
        ("1.0.0+5", "publish", "it must be three plain numbers"),
        ("1.0", "publish", "milepost.yaml:2: `version`"),
        ("01.0.0", "publish", "milepost.yaml:2: `version`"),
        ("2.0.0", "publish --pre Beta", "not a valid channel name"),
        ("2.0.0", "publish --pre 1", "not a valid channel name"),
        ("2.0.0", "publish --pre stable", "publish `2.0.0` without `--pre`"),
        ("2.0.0", "publish --pre beta..1", "`--pre`"),
        ("2.0.0", "publish --package Shop", "not a valid package name"),
        ("2.0.0", "publish --app-version 99", "99"),
        ("2.0.0", "publish --registry shop", "is not a repository"),
        ("2.0.0", "publish --to ftp://host/x", "is not a channel location"),
        ("2.0.0", "publish --key missing.key", "missing.key"),
    ] {
        author.manifest(manifest, "other");
        let said = author.refused(line);
        assert!(said.contains(says), "`{line}` with version {manifest} said:\n{said}");
        assert!(said.contains("Hint:"), "`{line}` with version {manifest} gives no next step:\n{said}");
    }
    assert_eq!(author.versions(""), ["1.0.0"], "a refusal changed something");
    std::fs::write(author.world.env.work_dir().join("milepost.yaml"), "app: shop\n").unwrap();
    assert!(author.refused("publish").contains("has no `version`"));
    std::fs::remove_file(author.world.env.work_dir().join("milepost.yaml")).unwrap();
    assert!(author.refused("publish --app shop").contains("no milepost.yaml found"));
}

#[test]
fn a_folder_is_a_channel_that_any_web_server_can_serve() {
    let author = Author::new();
    let published = author.json("publish --to folder");
    let folder = author.world.env.work_dir().join("folder/shop/stable");
    let latest: serde_json::Value = serde_json::from_slice(&std::fs::read(folder.join("latest")).unwrap()).unwrap();
    // The JSON of the seed.
    assert_eq!(latest["name"], "stable");
    assert_eq!(latest["type"], "channel");
    assert_eq!(latest["package"], "shop");
    assert_eq!(latest["latest"]["version"], "1.0.0");
    assert_eq!(latest["latest"]["id"], published["id"]);
    let all: serde_json::Value = serde_json::from_slice(&std::fs::read(folder.join("all")).unwrap()).unwrap();
    assert_eq!(all["type"], "all");
    let hex = text(&published["id"])["sha256:".len()..].to_owned();
    assert!(folder.join("artifacts").join(hex).is_file());
    assert_eq!(author.versions("./folder/shop/stable"), ["1.0.0"]);
    assert_eq!(author.versions("--to folder"), ["1.0.0"]);
}

#[test]
fn a_bundle_has_the_channel_in_one_file() {
    let author = Author::new();
    author.ok("publish");
    author.release("1.1.0", "");
    let said = author.ok("bundle");
    assert!(said.contains("Wrote shop-stable.bundle with 2 versions of shop stable"), "{said}");
    assert_eq!(author.versions("shop-stable.bundle"), ["1.1.0", "1.0.0"]);
    let one = author.json("bundle --version 1.0.0 --file one.bundle");
    assert_eq!(one["versions"], serde_json::json!(["1.0.0"]));
    author.ok("bundle --file again.bundle");
    let read = |name: &str| std::fs::read(author.world.env.work_dir().join(name)).unwrap();
    assert_eq!(read("shop-stable.bundle"), read("again.bundle"));
    assert!(author.refused("bundle --version 9.9.9").contains("`9.9.9` is not in `stable`"));
}

#[test]
fn a_registry_gets_the_artifact_under_the_version_as_its_tag() {
    let registry = milepost_testkit::registry::OciRegistry::start();
    let author = Author::new();
    let repository = format!("{}/team/shop", registry.host());
    let published = author.json(&format!("publish --pre beta+5 --registry {repository}"));
    let raw = registry.skopeo(&["inspect", "--raw", &format!("docker://{repository}:1.0.0-beta_5")]).unwrap();
    assert!(raw.contains(&text(&published["id"])), "{raw}");
    assert!(author.ok("channel show beta").contains("/team/shop"));
    author.ok("unpublish 1.0.0-beta+5 --yes");
    registry.skopeo(&["inspect", "--raw", &format!("docker://{repository}:1.0.0-beta_5")]).unwrap_err();
}

#[test]
fn publishing_and_unpublishing_are_in_the_history_of_the_app() {
    let author = Author::new();
    let published = author.json("publish --package team/shop --to channels");
    author.release("1.1.0", "--pre beta.1 --package team/shop --to channels");
    author.ok("unpublish 1.0.0 --yes --package team/shop --to channels --app shop");
    let events = author.json("app history");
    let told: Vec<_> =
        events.as_array().unwrap().iter().filter(|event| text(&event["kind"]).contains("published")).collect();
    let kinds: Vec<String> = told.iter().map(|event| text(&event["kind"])).collect();
    assert_eq!(kinds, ["app.unpublished", "app.published", "app.published"], "{events:#}");
    let first = told[2];
    assert_eq!((text(&first["actor"]), text(&first["subject"])), ("admin".to_owned(), "package team/shop".to_owned()));
    let after = &first["after"];
    assert_eq!((text(&after["version"]), text(&after["channel"])), ("1.0.0".to_owned(), "stable".to_owned()));
    assert_eq!((&after["id"], &after["appVersion"]), (&published["id"], &published["appVersion"]));
    assert!(text(&after["place"]).ends_with("/channels/team/shop/stable"), "{after}");
    assert_eq!((text(&told[0]["before"]["version"]), &told[0]["before"]["id"]), ("1.0.0".to_owned(), &published["id"]));
    // Neither a dry run nor a refusal publishes anything.
    author.ok("publish --pre beta.2 --dry-run --package team/shop --to channels");
    author.refused("publish --pre beta.1 --package team/shop --to channels");
    // A package that is only named may belong to another app.
    author.ok("unpublish 1.1.0-beta.1 --yes --package team/shop --to channels");
    assert_eq!(author.json("app history").as_array().unwrap().len(), events.as_array().unwrap().len());
}

#[test]
fn a_publish_succeeds_even_if_the_app_cannot_record_it() {
    let mut author = Author::new();
    let reader = author.json("token create reader --role reader");
    author.world.env.set("MILEPOST_TOKEN", &text(&reader["token"]));
    let refused = author.refused("publish --to channels");
    assert!(refused.contains("--app-version live"), "{refused}");
    let said = author.run("publish --to channels --app-version live");
    assert!(said.succeeded(), "{}", said.stderr);
    assert!(
        said.stderr.contains("1.0.0 is published, but could not be recorded in the history of app shop"),
        "{}",
        said.stderr
    );
}
