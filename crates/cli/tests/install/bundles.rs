use crate::author::Author;
use crate::common::World;

#[test]
fn a_bundle_installs_and_upgrades_without_a_network() {
    let author = Author::of(World::on_machine_time());
    author.ok("channel key");
    let key = format!("{}.pub", author.key_file());
    author.release("1.0.0", "--to channels");
    let channel = author.world.env.work_dir().join("channels/shop/stable");
    author.ok(&format!("bundle {} --file one.bundle", channel.display()));
    author.release("1.1.0", "--to channels");
    author.ok(&format!("bundle {} --file two.bundle", channel.display()));
    std::fs::remove_dir_all(author.world.env.work_dir().join("channels")).unwrap();

    author.ok(&format!("install --bundle one.bundle --app offline --key {key}"));
    let status = author.ok("install status offline");
    assert!(status.contains("Package    shop 1.0.0") && status.contains("from a bundle"), "{status}");
    assert!(author.refused("upgrade offline").contains("was installed from a bundle"));
    let done = author.ok("upgrade offline --bundle two.bundle");
    assert!(done.starts_with("Upgraded app offline from 1.0.0 to 1.1.0."), "{done}");
    // An old bundle is an old copy of the channel, so it is refused.
    let old = author.refused("upgrade offline --bundle one.bundle");
    assert!(old.contains("is an old copy"), "{old}");
}

#[test]
fn an_incomplete_bundle_hints_at_installing_its_versions() {
    let author = Author::of(World::on_machine_time());
    author.release("1.0.0", "--to channels");
    author.release("1.1.0", "--to channels");
    let channel = author.world.env.work_dir().join("channels/shop/stable");
    let said = author.ok(&format!("bundle {} --version 1.0.0 --file old.bundle", channel.display()));
    assert!(said.contains("`milepost install shop:1.0.0 --bundle old.bundle`"), "{said}");
    let said = author.refused("install --bundle old.bundle --app offline");
    assert!(said.contains("`milepost install shop:1.0.0 --bundle FILE`"), "{said}");
    author.ok("install shop:1.0.0 --bundle old.bundle --app offline");
}

#[test]
fn a_bundle_that_was_altered_installs_nothing() {
    let author = Author::of(World::on_machine_time());
    author.release("1.0.0", "--to channels");
    let channel = author.world.env.work_dir().join("channels/shop/stable");
    author.ok(&format!("bundle {} --file one.bundle", channel.display()));
    let path = author.world.env.work_dir().join("one.bundle");
    let mut bytes = std::fs::read(&path).unwrap();
    let page = b"<h1>1.0.0</h1>";
    let at = bytes.windows(page.len()).rposition(|window| window == page).unwrap();
    bytes[at + 4] = b'6';
    std::fs::write(&path, bytes).unwrap();
    let said = author.refused("install --bundle one.bundle --app offline");
    assert!(said.contains("truncated or altered") && !said.contains("connection"), "{said}");
    assert!(author.refused("install status offline").contains("app `offline` does not exist"));
    std::fs::write(&path, b"not a bundle at all").unwrap();
    assert!(author.refused("install --bundle one.bundle --app offline").contains("not a bundle"));
    assert!(author.refused("install --bundle none.bundle --app offline").contains("could not read"));
}
