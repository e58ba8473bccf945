use std::os::unix::fs::PermissionsExt;

use crate::author::{Author, text};

#[test]
fn a_key_is_made_once_and_then_used_by_itself() {
    let author = Author::new();
    let made = author.json("channel key");
    assert_eq!(made["made"], true);
    let file = author.key_file();
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let again = author.json("channel key");
    assert_eq!(again["made"], false);
    assert_eq!(again["publicKey"], made["publicKey"]);

    let public = text(&made["publicKey"]);
    let published = author.json("publish");
    assert_eq!(published["key"], made["publicKey"]);
    assert!(text(&published["install"]).ends_with(&format!("--key {public}")), "{published}");
    let shown = author.json(&format!("channel show --key {public}"));
    assert_eq!(shown["serial"], published["serial"]);
    author.ok(&format!("channel show --key {file}.pub"));
    author.ok("channel show");

    author.manifest("1.1.0", "two");
    author.deploy();
    let said = author.refused("publish --no-key");
    assert!(said.contains("the channel is signed"), "{said}");
    author.ok("channel key other.key");
    let said = author.refused("publish --key other.key");
    assert!(said.contains("is signed with key"), "{said}");
    author.ok("publish");
    author.ok(&format!("bundle --key {public} --file signed.bundle"));
    let other = author.json("channel key other.key");
    let said = author.refused(&format!("channel show --key {}", text(&other["publicKey"])));
    assert!(said.contains("is signed with key"), "{said}");
}

#[test]
fn an_unsigned_channel_is_signed_only_on_request() {
    let author = Author::new();
    author.ok("publish");
    let public = text(&author.json("channel key")["publicKey"]);
    author.manifest("1.1.0", "two");
    author.deploy();
    let said = author.refused("publish");
    assert!(said.contains("--sign-existing"), "{said}");
    author.ok("publish --sign-existing");
    author.ok(&format!("channel show --key {public}"));
}

#[test]
fn a_key_with_a_password_asks_for_it() {
    let mut author = Author::new();
    author.world.env.set("MILEPOST_KEY_PASSWORD", "open sesame");
    author.ok("channel key --password");
    author.ok("publish");
    author.world.env.set("MILEPOST_KEY_PASSWORD", "guessed");
    author.manifest("1.1.0", "two");
    author.deploy();
    assert!(author.refused("publish").contains("wrong password for the key"));
    author.world.env.unset("MILEPOST_KEY_PASSWORD");
    assert!(author.refused("publish").contains("has a password"));
}

#[test]
fn a_key_that_others_can_read_is_not_used() {
    let author = Author::new();
    author.ok("channel key");
    let file = author.key_file();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let said = author.refused("publish");
    assert!(said.contains("can read"), "{said}");
}
