//! The folder determines the app, the version and the content, so that a publish cannot use
//! something else by mistake.

use crate::author::{Author, text};

/// Deploys another app from another folder.
fn with_other() -> Author {
    let author = Author::new();
    author.world.env.write_file("other/milepost.yaml", OTHER);
    author.world.env.write_file("other/public/index.html", "<h1>other</h1>");
    author.ok("deploy other");
    author
}

const OTHER: &str = "app: other\nversion: 7.7.7\nstatic:\n  - src: public\n    path: /\n";

#[test]
fn a_folder_elsewhere_is_published_as_its_own_app() {
    let author = with_other();
    let said = author.ok("publish other --to channels");
    assert!(said.contains("Published other 7.7.7 to stable"), "{said}");
    author.ok("install other:7.7.7 --channel channels/other/stable --app copy");
    assert_eq!(author.json("static list --app copy").as_array().unwrap().len(), 1);
    let events = author.json("app history --app other").to_string();
    assert!(events.contains("app.published"), "{events}");
    assert!(!author.json("app history --app shop").to_string().contains("app.published"));
    // DIR may be the manifest itself.
    author.world.env.write_file("other/milepost.yaml", OTHER.replace("7.7.7", "7.7.8"));
    assert!(author.ok("publish other/milepost.yaml --to channels").contains("Published other 7.7.8"));
}

#[test]
fn an_option_that_names_another_app_than_the_folder_is_refused() {
    let mut author = with_other();
    let said = author.refused("publish other --app shop");
    assert!(said.contains("`--app` names app `shop`, but `other/milepost.yaml` describes app `other`"), "{said}");
    author.refused("publish other --app shop --app-version live");
    author.world.env.set("MILEPOST_APP", "shop");
    let said = author.refused("publish other");
    assert!(said.contains("MILEPOST_APP names app `shop`"), "{said}");
    author.ok("publish other --app other --to channels");
}

#[test]
fn a_folder_that_differs_from_live_is_not_published() {
    let author = Author::new();
    author.manifest("1.1.0", "two");
    author.world.env.write_file(
        "milepost.yaml",
        "app: shop\nversion: 1.1.0\nconfig: { a: 1 }\nstatic:\n  - src: public\n    path: /\n",
    );
    let said = author.refused("publish");
    assert!(said.contains("folder `.` differs from the live release of app `shop`"), "{said}");
    assert!(said.contains("- config differs") && said.contains("- static / differs"), "{said}");
    assert!(said.contains("milepost deploy .") && said.contains("--app-version live"), "{said}");
    author.refused("publish --dry-run");
    let live = author.json("publish --app-version live --to channels");
    assert_eq!(text(&live["version"]), "1.1.0");
    author.deploy();
    author.ok("publish");
    // Removes one unit of the folder and adds another.
    author
        .world
        .env
        .write_file("milepost.yaml", "app: shop\nversion: 1.2.0\nstatic:\n  - src: public\n    path: /new\n");
    let said = author.refused("publish");
    assert!(said.contains("- config is no longer in the folder"), "{said}");
    assert!(said.contains("- static /new is only in the folder"), "{said}");
}

#[test]
fn a_folder_is_compared_with_live_and_not_with_latest() {
    let author = Author::new();
    author.manifest("1.1.0", "two");
    author.deploy();
    author.ok("rollback --yes");
    let said = author.refused("publish");
    assert!(said.contains("--app-version head"), "{said}");
    // The folder as it was when live was deployed.
    author.manifest("1.0.0", "one");
    author.ok("publish");
    author.manifest("1.1.0", "two");
    author.ok("publish --app-version head");
    assert_eq!(author.versions(""), ["1.1.0", "1.0.0"]);
    // Units made by hand do not belong to the folder.
    author.ok("release live --follow");
    author.world.env.write_file("more/more.html", "more");
    author.ok("static add more --path /more");
    author.manifest("1.2.0", "two");
    author.ok("publish");
}

#[test]
fn nothing_live_and_mistakes_in_the_manifest_are_refused() {
    let author = Author::new();
    author.world.env.write_file("fresh/milepost.yaml", "app: fresh\nversion: 1.0.0\nconfig: { a: 1 }\n");
    assert!(author.refused("publish fresh").contains("app `fresh` does not exist"));
    author.ok("deploy fresh --no-release");
    let said = author.refused("publish fresh");
    assert!(said.contains("app `fresh` has no live release") && said.contains("milepost deploy fresh"), "{said}");
    author.world.env.write_file("fresh/milepost.yaml", "app: fresh\nversion: 1.0.0\nconfg: { a: 1 }\n");
    assert!(author.refused("publish fresh").contains("confg"));
    author.ok("publish fresh --app-version head --to channels");
    author.world.env.write_file("fresh/milepost.yaml", "app: Fresh!\nversion: 1.0.0\n");
    author.refused("publish fresh --app-version head --to channels");
}

#[test]
fn names_that_the_app_lacks_are_not_suggested() {
    let author = Author::new();
    author.ok("app create bare");
    let said = author.refused("app show --app bare");
    assert!(said.contains("has no version yet") && !said.contains("did you mean"), "{said}");
    assert!(author.refused("diff live head --app bare").contains("nothing of app `bare` is live yet"));
    let said = author.refused("release tag live live");
    assert!(said.contains("`live` cannot be used as a tag"), "{said}");
}
