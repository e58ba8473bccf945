use crate::author::Author;

#[test]
fn a_version_is_taken_back_and_its_text_stays_bound() {
    let author = Author::new();
    author.ok("publish");
    author.release("1.1.0", "");
    let said = author.ok("unpublish 1.0.0");
    assert!(said.contains("Unpublished shop 1.0.0. The latest of stable is 1.1.0."), "{said}");
    let shown = author.ok("channel show");
    let old = shown.lines().find(|line| line.starts_with("1.0.0")).unwrap();
    assert!(old.contains("unpublished"), "{shown}");
    author.manifest("1.0.0", "other");
    author.deploy();
    let said = author.refused("publish");
    assert!(said.contains("was published before with other content"), "{said}");
    assert!(author.refused("unpublish 1.0.0").contains("was already unpublished"));
    assert!(author.refused("unpublish 7.0.0").contains("is not in `stable`"));
    assert!(author.refused("unpublish 1.0.0 --package other").contains("is not in `stable`"));
    assert!(author.refused("unpublish one").contains("Error:"));
}

#[test]
fn the_latest_is_taken_back_only_after_a_yes() {
    let author = Author::new();
    author.ok("publish");
    author.release("1.1.0", "");
    let said = author.refused("unpublish 1.1.0");
    assert!(said.contains("1.1.0 is the latest of stable: the channel will have no latest"), "{said}");
    assert!(said.contains("`--yes`"), "{said}");
    assert_eq!(author.versions(""), ["1.1.0", "1.0.0"]);
    let said = author.ok("unpublish 1.1.0 --yes --promote-previous");
    assert!(said.contains("The latest of stable is 1.0.0."), "{said}");
    let said = author.ok("unpublish 1.0.0 --yes");
    assert!(said.contains("stable now has no latest."), "{said}");
    author.release("1.2.0", "");
    assert_eq!(author.json("channel show")["latest"]["version"], "1.2.0");
}

#[test]
fn a_channel_without_a_latest_gets_one_by_promoting_later() {
    let author = Author::new();
    author.release("2.0.0", "");
    author.release("3.0.0", "");
    author.ok("unpublish 3.0.0 --yes");
    author.manifest("1.5.0", "lower");
    author.deploy();
    let said = author.ok("publish");
    assert!(said.contains("still has no latest, because 2.0.0 is higher"), "{said}");
    assert!(said.contains("`milepost unpublish 3.0.0 --promote-previous`"), "{said}");
    let taken_back = |events: &serde_json::Value| {
        events.as_array().unwrap().iter().filter(|event| event["kind"] == "app.unpublished").count()
    };
    assert_eq!(taken_back(&author.json("app history")), 1);
    let said = author.ok("unpublish 3.0.0 --promote-previous");
    assert!(said.contains("Promoted shop 2.0.0; 3.0.0 was already unpublished."), "{said}");
    assert!(said.contains("The latest of stable is 2.0.0.") && !said.contains("Unpublished"), "{said}");
    assert_eq!(taken_back(&author.json("app history")), 1, "it is recorded once");
    assert!(author.refused("unpublish 3.0.0 --promote-previous").contains("was already unpublished"));
}

#[test]
fn an_artifact_that_another_version_has_stays() {
    let author = Author::new();
    author.ok("publish");
    // The same app version under another version number.
    author.manifest("1.0.1", "one");
    author.ok("publish");
    let said = author.ok("unpublish 1.0.0");
    assert!(said.contains("Its artifact is kept: another version has the same one."), "{said}");
    author.ok("bundle --version 1.0.1 --file still.bundle");
}
