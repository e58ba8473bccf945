//! M8: a tightened permission does not apply to older releases, so the change warns about them.

use crate::stage::Stage;

const MANIFEST: &str =
    "app: shop\nfunctions:\n  admin:\n    env: python\n    src: admin/\nroutes:\n  - GET /admin: admin\n";
const CODE: &str = "def main():\n    return 'panel'\n";

#[test]
fn a_tighter_permission_names_the_older_releases_that_stay_open() {
    let stage = Stage::new("shop", &[], &[("milepost.yaml", MANIFEST), ("admin/main.py", CODE)]);
    let release = stage.deploy();
    stage.world.env.write_file("milepost.yaml", MANIFEST.replace("src: admin/", "src: admin/\n    permission: token"));
    let said = stage.world.json("deploy");
    let warnings = said["warnings"].to_string();
    assert!(warnings.contains(&format!("1 older release still serves it without a token: {release}")), "{warnings}");
    assert!(warnings.contains("milepost release expire"), "{warnings}");
    assert!(!warnings.contains("(live)"), "live has moved: {warnings}");
    let with_token = said["release"]["id"].as_str().unwrap().to_owned();
    // Releases expired by hand are not listed either.
    stage.world.ok(&format!("release expire {release}"));
    let said = stage.world.run("function version update --name admin --permission internal");
    assert!(said.stderr.contains("still serves it to callers with a token"), "{}", said.snapshot());
    assert!(!said.stderr.contains(&release), "{}", said.snapshot());
    // A pinned live keeps the old permission until it moves.
    stage.world.ok("function version update --name admin --permission public");
    let live = stage.world.json("release live live")["release"]["id"].as_str().unwrap().to_owned();
    let said = stage.world.run("function version update --name admin --permission internal");
    for still in [
        format!("1 older release still serves it without a token: {live} (live);"),
        format!("1 older release still serves it to callers with a token: {with_token};"),
    ] {
        assert!(said.stderr.contains(&still), "{still}: {}", said.snapshot());
    }
    assert!(said.stderr.contains("`milepost release expire RELEASE`"), "{}", said.snapshot());
}
