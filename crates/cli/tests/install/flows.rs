use std::time::Duration;

use milepost_testkit::eventually_blocking;

use crate::author::Author;
use crate::common::World;

const PATIENCE: Duration = Duration::from_secs(60);

/// An author whose channels are in a folder that the server reads.
fn author() -> (Author, String) {
    let author = Author::of(World::on_machine_time());
    let channel = author.world.env.work_dir().join("channels/shop/stable").display().to_string();
    author.release("1.0.0", "--to channels");
    (author, channel)
}

fn version(author: &Author, app: &str) -> String {
    let status = author.json(&format!("install status {app}"));
    status["entry"]["version"].as_str().unwrap().to_owned()
}

#[test]
fn an_app_is_installed_shown_upgraded_and_rolled_back() {
    let (author, channel) = author();
    let policy = "--policy patch=manual,minor=window --window 'sun 02:00-04:00' --zone Europe/Berlin --poll 1h";
    let said =
        author.ok(&format!("install --channel {channel} --app copy {policy} --set greeting=Moin --health /index.html"));
    assert!(said.starts_with("Installed shop 1.0.0 as app copy."), "{said}");
    assert!(said.contains("Digest   sha256:") && said.contains(", live"), "{said}");
    author.release("1.0.1", "--to channels");
    let plan = author.ok("upgrade copy --plan");
    assert!(plan.starts_with("1.0.1 waits for you\n  1.0.1: patch updates are manual"), "{plan}");
    assert_eq!(version(&author, "copy"), "1.0.0");
    let done = author.ok("upgrade copy");
    assert!(done.starts_with("Upgraded app copy from 1.0.0 to 1.0.1."), "{done}");
    author.ok("rollback --app copy -m slow");
    let status = author.ok("install status copy");
    for expected in [
        "Package    shop 1.0.0",
        "Policy     patch=manual,minor=window,major=manual",
        "Windows    sun 02:00-04:00, Europe/Berlin",
        "Check      /index.html within 60 s",
        "Override   greeting = \"Moin\"",
        "Held       upgrades are held until there is a version above 1.0.1 (slow, by admin)",
        "Skipped    1.0.1",
    ] {
        assert!(status.contains(expected), "no `{expected}` in\n{status}");
    }
    let refused = author.refused("upgrade copy --to 1.0.1");
    assert!(refused.contains("`1.0.1` was rolled back") && refused.contains("milepost install lift"), "{refused}");
    author.ok("install lift copy");
    author.ok("upgrade copy --to 1.0.1");
    assert_eq!(version(&author, "copy"), "1.0.1");
    let config = author.json("config get --app copy");
    assert_eq!(config["greeting"], "Moin", "{config}");
    let list = author.ok("install list");
    assert!(list.contains("copy") && list.contains("1.0.1"), "{list}");
    assert!(author.ok("install detach copy").contains("no longer follows a channel"));
    assert!(author.refused("install status copy").contains("is not an installed app"));
}

#[test]
fn a_server_that_runs_takes_patches_by_itself_and_goes_back_when_they_are_not_well() {
    let (author, channel) = author();
    author.ok(&format!("install --channel {channel} --app copy --poll 1s --health /index.html --health-deadline 2s"));
    author.release("1.0.1", "--to channels");
    eventually_blocking(PATIENCE, || version(&author, "copy") == "1.0.1");
    assert_eq!(author.json("install status copy")["installedBy"], "watcher");
    // This version lacks the page that the health check requests.
    author.manifest("1.0.2", "two");
    std::fs::remove_file(author.world.env.work_dir().join("public/index.html")).unwrap();
    author.world.env.write_file("public/other.html", "x");
    author.deploy();
    author.ok("publish --to channels");
    eventually_blocking(PATIENCE, || author.json("install status copy")["lastFailure"]["version"] == "1.0.2");
    let status = author.json("install status copy");
    assert_eq!((&status["entry"]["version"], &status["live"]), (&"1.0.1".into(), &"1.0.1".into()), "{status:#}");
    assert_eq!(status["brakes"]["skipped"][0], "1.0.2");
    assert_eq!(live_moves(&author, "copy"), 2, "users never got it");
    // Later checks do not hide the reason why it is skipped.
    eventually_blocking(PATIENCE, || author.json("install status copy")["lastCheck"]["kind"] != "unhealthy");
    let status = author.ok("install status copy");
    let failed = status.lines().find(|line| line.starts_with("Failed")).unwrap_or_else(|| panic!("{status}"));
    assert!(failed.contains("1.0.2, ") && failed.contains("status 404"), "{failed}");
    author.world.env.write_file("public/index.html", "again");
    author.release("1.0.3", "--to channels");
    eventually_blocking(PATIENCE, || version(&author, "copy") == "1.0.3");
    eventually_blocking(PATIENCE, || author.json("install status copy")["live"] == "1.0.3");
    eventually_blocking(PATIENCE, || author.json("install status copy")["lastFailure"].is_null());
}

/// The number of times live has moved.
fn live_moves(author: &Author, app: &str) -> usize {
    let events = author.json(&format!("app history --limit 1000 --app {app}"));
    events.as_array().unwrap().iter().filter(|event| event["kind"] == "live.moved").count()
}

#[test]
fn an_override_counts_at_once_and_gives_the_authors_value_back_at_once() {
    let (author, channel) = author();
    author.ok(&format!("install --channel {channel} --app copy --poll 1h"));
    author.ok("install policy copy --set greeting=Moin --set mail.from=me");
    assert_eq!(
        author.json("config get --app copy"),
        serde_json::json!({ "greeting": "Moin", "mail": { "from": "me" } })
    );
    let status = author.ok("install policy copy --unset greeting");
    assert!(!status.contains("greeting") && status.contains("Override   mail.from"), "{status}");
    assert_eq!(author.json("config get --app copy")["greeting"], "Hello");
    let refused = author.refused("install policy copy --unset greeting");
    assert!(refused.contains("does not override `greeting`"), "{refused}");
    // Warnings from the server are shown.
    author.release("1.0.1", "--to channels");
    author.ok("upgrade copy");
    author.ok("rollback --app copy");
    let said = author.run("install policy copy --set greeting=Tach");
    assert!(said.succeeded() && said.stderr.contains("live stays pinned"), "{}", said.stderr);
}

#[test]
fn a_health_check_by_a_function_that_a_version_does_not_have_changes_nothing() {
    let (author, channel) = author();
    let manifest = "app: shop\nversion: 1.1.0\nfunctions:\n  check: { env: python, src: check/ }\n";
    author.world.env.write_file("milepost.yaml", manifest);
    author.world.env.write_file("check/main.py", "def main():\n    return 'well'\n");
    author.deploy();
    author.ok("publish --to channels");
    let install = format!("install --channel {channel} --app copy --poll 1s --policy minor=immediate");
    let refused = author.refused(&format!("{install} --health function:chek"));
    assert!(refused.contains("shop 1.1.0 has no function `chek`") && refused.contains("`check`"), "{refused}");
    assert!(author.refused("install status copy").contains("app `copy` does not exist"));
    author.ok(&format!("{install} --health function:check --health-deadline 30s"));
    let refused = author.refused("install policy copy --health function:chek");
    assert!(refused.contains("App `copy` has no function `chek`") && refused.contains("`check`"), "{refused}");
    author.release("1.2.0", "--to channels");
    eventually_blocking(PATIENCE, || author.json("install status copy")["lastCheck"]["kind"] == "no_health_function");
    assert_eq!((version(&author, "copy").as_str(), live_moves(&author, "copy")), ("1.1.0", 1));
    let refused = author.refused("upgrade copy --to 1.2.0");
    assert!(refused.contains("shop 1.2.0 has no function `check`"), "{refused}");
}

#[test]
fn names_that_are_nearly_right_are_understood() {
    let author = Author::of(World::on_machine_time());
    author.ok("publish");
    author.ok("install shop:1.0.0 --app copy");
    assert!(author.refused("install status cpy").contains("did you mean `copy`?"));
    assert!(author.refused("upgrade cpy").contains("did you mean `copy`?"));
    let unknown = author.refused("install shpo:1.0.0 --app other");
    assert!(unknown.contains("this server has no `/channels/shpo/stable`"), "{unknown}");
    assert!(unknown.contains("did you mean `shop`?"), "{unknown}");
    let typed = author.refused("install statu");
    assert!(typed.contains("did you mean `milepost install status`?"), "{typed}");
}

#[test]
fn a_pinned_version_of_this_servers_own_channels_stays() {
    let author = Author::of(World::on_machine_time());
    author.release("1.0.0", "");
    author.release("1.0.1", "");
    author.ok("install shop:1.0.0 --app old");
    let status = author.ok("install status old");
    assert!(status.contains("pinned, never upgraded automatically") && !status.contains("Next poll"), "{status}");
    let missing = author.refused("install shop:9.9.9 --app none");
    assert!(missing.contains("has no version `9.9.9`") && missing.contains("1.0.1"), "{missing}");
    assert!(author.refused("install shop --app none").contains("has no version"));
    assert!(author.refused("install").contains("no package or channel given"));
    // The same channel over HTTP.
    let channel = format!("{}/channels/shop/stable", author.world.server.api());
    author.ok(&format!("install --channel {channel} --app new"));
    assert_eq!(version(&author, "new"), "1.0.1");
    assert!(author.refused("install status").contains("several apps are installed: new, old"));
}

#[test]
fn a_package_without_a_version_and_a_channel_follow_the_channel() {
    let (author, channel) = author();
    // The name from the seed.
    let refused = author.refused(&format!("install crossplane/aws-stack --channel {channel}"));
    assert!(refused.contains("aws-stack"), "{refused}");
    author.ok("publish --to channels --package crossplane/aws-stack --app-version live");
    let place = channel.replace("channels/shop", "channels/crossplane/aws-stack");
    author.ok(&format!(
        "install crossplane/aws-stack --channel {place} --policy minor=window --window 'sun 02:00-04:00'"
    ));
    let status = author.json("install status aws-stack");
    assert_eq!(
        (&status["mode"], &status["package"]),
        (&"channel".into(), &"crossplane/aws-stack".into()),
        "{status:#}"
    );
    assert_eq!(status["settings"]["policy"]["minor"], "window", "{status:#}");
    let without = author.refused("install crossplane/aws-stack --app none");
    assert!(without.contains("has no version") && without.contains("--channel URL"), "{without}");
}

#[test]
fn options_of_a_followed_channel_are_refused_for_a_version_that_stays() {
    let (author, channel) = author();
    for option in
        ["--policy minor=immediate", "--window 'sun 02:00-04:00'", "--deny sat", "--zone Europe/Berlin", "--poll 1m"]
    {
        let said = author.refused(&format!("install shop:1.0.0 --channel {channel} --app copy {option}"));
        let name = option.split(' ').next().unwrap();
        assert!(said.contains(&format!("`{name}` applies only to installs that follow a channel")), "{said}");
    }
    author.ok(&format!("install shop:1.0.0 --channel {channel} --app copy --set greeting=Moin --health /index.html"));
    // The server refuses the same from other clients, and in later changes.
    for option in ["--policy minor=immediate", "--window 'sun 02:00-04:00'", "--poll 1m"] {
        let said = author.refused(&format!("install policy copy {option}"));
        assert!(said.contains("a pinned install stays at its version"), "{said}");
    }
    author.ok("install policy copy --set greeting=Tach");
}

#[test]
fn secrets_that_an_app_wants_are_listed_and_given() {
    let (author, channel) = author();
    let manifest = "app: shop\nversion: 1.1.0\nfunctions:\n  hello: { env: python, src: hello/, secrets: [API_KEY] }\n";
    author.world.env.write_file("milepost.yaml", manifest);
    author.world.env.write_file("hello/main.py", "def main():\n    return 'hello'\n");
    assert!(author.world.env.run_with_input(&["secret", "set", "API_KEY"], "author's own").succeeded());
    author.deploy();
    author.ok("publish --to channels");
    let refused = author.refused(&format!("install --channel {channel} --app copy"));
    assert!(refused.contains("needs a secret that is not set") && refused.contains("- API_KEY"), "{refused}");
    assert!(author.refused("install status copy").contains("app `copy` does not exist"));
    author.world.env.write_file("key.txt", "mine\n");
    author.ok(&format!("install --channel {channel} --app copy --secret-file API_KEY=key.txt"));
    let names = author.ok("secret list --app copy -o name");
    assert_eq!(names.trim(), "API_KEY");
}

#[test]
fn options_that_cannot_be_are_refused_before_anything_is_sent() {
    let (author, channel) = author();
    let install = |options: &str| author.refused(&format!("install --channel {channel} --app copy {options}"));
    assert!(install("--policy minor=window").contains("wait for a window, but none is set"));
    assert!(install("--window 'sun 25:00-26:00'").contains("`25:00` is not a time of day"));
    assert!(install("--zone Europe/Berlim --deny sat").contains("Europe/Berlin"));
    assert!(install("--health healthz").contains("is not a health check"));
    assert!(install("--policy often").contains("is not a part of a policy"));
    assert!(author.refused("upgrade nothing --plan").contains("app `nothing` does not exist"));
}

#[test]
fn a_version_of_a_registry_is_found_by_its_tag_and_kept_by_its_digest() {
    let registry = milepost_testkit::registry::OciRegistry::start();
    let author = Author::of(World::on_machine_time());
    let repository = format!("{}/team/shop", registry.host());
    let published = author.release("1.0.0", &format!("--registry {repository}"));
    author.release("1.0.1", &format!("--registry {repository}"));
    author.ok(&format!("install {repository}:1.0.0 --app old"));
    let status = author.json("install status old");
    assert_eq!(status["entry"]["version"], "1.0.0");
    assert!(published.to_string().contains(status["entry"]["id"].as_str().unwrap()), "{published}");
    assert!(author.refused(&format!("install {repository}:7.7.7 --app none")).contains("registry has no app"));
    assert!(author.ok("upgrade old --to 1.0.1").starts_with("Upgraded app old from 1.0.0 to 1.0.1."));
    // A channel may keep its artifacts in a registry.
    let channel = format!("{}/channels/shop/stable", author.world.server.api());
    author.ok(&format!("install --channel {channel} --app new"));
    assert_eq!(version(&author, "new"), "1.0.1");
}
