//! Changes made by hand since the last deploy of a folder, and changes on live after a rollback.

use crate::stage::Stage;

const MANIFEST: &str = "app: shop\nconfig: { greeting: hi, colour: red }\n";

fn shop() -> Stage {
    let stage = Stage::new("shop", &[], &[("milepost.yaml", MANIFEST)]);
    stage.world.ok("deploy");
    stage
}

fn write(stage: &Stage, from: &str, to: &str) {
    let path = stage.world.env.write_file("milepost.yaml", MANIFEST.replace(from, to));
    assert!(path.exists());
}

#[test]
fn deploy_does_not_undo_changes_made_by_hand_without_asking() {
    let stage = shop();
    let world = &stage.world;
    world.ok("config set greeting=PROD");
    for line in ["deploy", "deploy --yes"] {
        let refused = world.run(line);
        assert_eq!(refused.status, Some(1), "{}", refused.snapshot());
        assert!(refused.stderr.contains("config was changed by "), "{}", refused.snapshot());
        assert!(refused.stderr.contains("greeting: \"PROD\" -> \"hi\""), "{}", refused.snapshot());
        assert!(refused.stderr.contains("`--overwrite`"), "{}", refused.snapshot());
    }
    assert_eq!(world.ok("config get greeting"), "PROD\n");
    // Once the folder has the same value, its other changes undo nothing.
    write(&stage, "greeting: hi", "greeting: PROD");
    assert!(!world.run("deploy").stderr.contains("by hand"));
    write(&stage, "greeting: hi, colour: red", "greeting: PROD, colour: blue");
    world.ok("deploy");
    world.ok("config set colour=green");
    let plan = world.json("deploy --dry-run");
    assert_eq!(plan["handEdits"][0]["undone"][0]["field"], "colour", "{plan}");
    let done = world.run("deploy --overwrite");
    assert!(done.succeeded() && done.stderr.contains("colour"), "{}", done.snapshot());
    assert_eq!(world.ok("config get colour"), "blue\n");
}

#[test]
fn deploy_asks_before_it_restores_units_removed_by_hand() {
    let stage = shop();
    let world = &stage.world;
    world.ok("config delete --yes");
    let refused = world.run("deploy --yes");
    assert_eq!(refused.status, Some(1), "{}", refused.snapshot());
    for told in ["config was removed by ", "create it again", "`--overwrite`"] {
        assert!(refused.stderr.contains(told), "{}", refused.snapshot());
    }
    assert_eq!(world.json("deploy --dry-run")["handEdits"][0]["removed"], true);
    world.ok("deploy --overwrite");
    assert_eq!(
        world.ok("config get greeting"),
        "hi
"
    );
}

#[test]
fn up_on_live_adds_a_folder_to_live() {
    let stage = shop();
    let world = &stage.world;
    world.ok("config set rolled=back");
    world.ok("rollback --yes");
    write(&stage, "greeting: hi", "greeting: fixed");
    let said = world.run("up --no-logs --on live --no-check");
    assert!(said.succeeded(), "{}", said.snapshot());
    assert_eq!(world.json("status")["live"]["mode"], "pinned");
    assert_eq!(world.json("release show live")["check"]["state"], "skipped");
    assert_eq!(
        world.ok("config get greeting"),
        "fixed
"
    );
    assert_eq!(world.run("config get rolled").status, Some(1), "it is not live");
}

#[test]
fn configuration_and_secrets_reach_users_after_a_rollback_without_the_code_that_was_rolled_back() {
    let stage = shop();
    let world = &stage.world;
    write(&stage, "colour: red", "colour: broken");
    world.ok("deploy");
    world.ok("rollback");
    let said = world.run("config set greeting=fixed");
    assert!(said.stderr.contains("`--on live`"), "{}", said.snapshot());
    let said = world.run("config set greeting=fixed --on live");
    assert!(said.succeeded() && said.stdout.contains(", live"), "{}", said.snapshot());
    assert!(
        said.stdout.contains("Left out (not live):\n  config version 3 (live has version 1)"),
        "{}",
        said.snapshot()
    );
    assert_eq!(world.ok("config get colour"), "red\n");
    assert_eq!(world.json("status")["live"]["mode"], "pinned");
    let said = world.json("secret set KEY --from-file milepost.yaml --on live");
    assert_eq!(said["release"]["live"], true, "{said}");
    assert_eq!(world.run("config set a=1 --on lvie").status, Some(2));
}

#[test]
fn a_secret_can_be_set_before_the_first_deploy() {
    let stage = Stage::new("shop", &[], &[("milepost.yaml", MANIFEST)]);
    let said = stage.world.run("secret set KEY --from-file milepost.yaml --app early");
    assert!(said.succeeded() && said.stderr.contains("Created app `early`."), "{}", said.snapshot());
    assert_eq!(stage.world.run("secret set KEY --from-file milepost.yaml --app other --dry-run").status, Some(1));
}
