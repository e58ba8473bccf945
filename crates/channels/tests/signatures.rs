//! Keys and signatures, our own and minisign's.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output};

use milepost_channels::signature::{KeyError, SignatureError, Statement};
use milepost_channels::{PublicKey, SecretKey};
use proptest::prelude::*;

fn statement(serial: u64) -> Statement {
    let (package, channel) = ("team/shop".parse().unwrap(), "stable".parse().unwrap());
    Statement { package, channel, file: "all".to_owned(), serial }
}

fn minisign(args: &[&str], folder: &std::path::Path) -> Output {
    Command::new("minisign")
        .args(args)
        .current_dir(folder)
        .output()
        .expect("run `minisign`; `cargo xtask setup` installs it")
}

#[test]
fn minisign_verifies_our_signatures() {
    let home = tempfile::tempdir().unwrap();
    let key = SecretKey::create(&home.path().join("our.key"), None).unwrap();
    fs::write(home.path().join("all"), b"the list").unwrap();
    fs::write(home.path().join("all.minisig"), key.sign(b"the list", &statement(12)).unwrap()).unwrap();
    let said = minisign(&["-V", "-p", "our.key.pub", "-m", "all"], home.path());
    let text = String::from_utf8_lossy(&said.stdout);
    assert!(said.status.success(), "{text}{}", String::from_utf8_lossy(&said.stderr));
    assert!(text.contains("package:team/shop channel:stable file:all serial:12"), "{text}");
    fs::write(home.path().join("all"), b"another list").unwrap();
    assert!(!minisign(&["-V", "-p", "our.key.pub", "-m", "all"], home.path()).status.success());
}

#[test]
fn signs_with_a_key_of_minisign() {
    let home = tempfile::tempdir().unwrap();
    let made = minisign(&["-G", "-W", "-s", "their.key", "-p", "their.pub"], home.path());
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let path = home.path().join("their.key");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let key = SecretKey::load(&path, None).unwrap();
    let public: PublicKey = fs::read_to_string(home.path().join("their.pub")).unwrap().parse().unwrap();
    assert_eq!(&public, key.public());
    let signature = key.sign(b"x", &statement(1)).unwrap();
    assert_eq!(public.verify(b"x", signature.as_bytes()), Ok(statement(1)));
    let mut broken = fs::read(&path).unwrap();
    broken[150] = if broken[150] == b'A' { b'B' } else { b'A' };
    fs::write(&path, broken).unwrap();
    assert!(matches!(SecretKey::load(&path, None), Err(KeyError::NotSecret(_))), "a broken key was taken");
}

#[test]
fn minisign_signs_with_our_key() {
    let home = tempfile::tempdir().unwrap();
    let key = SecretKey::create(&home.path().join("our.key"), None).unwrap();
    fs::write(home.path().join("all"), b"the list").unwrap();
    let comment = statement(5).to_string();
    let signed = minisign(&["-S", "-W", "-s", "our.key", "-m", "all", "-t", &comment], home.path());
    assert!(signed.status.success(), "{}", String::from_utf8_lossy(&signed.stderr));
    let signature = fs::read(home.path().join("all.minisig")).unwrap();
    assert_eq!(key.public().verify(b"the list", &signature), Ok(statement(5)));
}

#[test]
fn key_file_is_private_and_never_overwritten() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("channel.key");
    let key = SecretKey::create(&path, None).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let public: PublicKey = fs::read_to_string(home.path().join("channel.key.pub")).unwrap().parse().unwrap();
    assert_eq!(&public, key.public());
    assert!(matches!(SecretKey::create(&path, None), Err(KeyError::Exists(_))));
    assert_eq!(SecretKey::load(&path, None).unwrap().public(), key.public());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(matches!(SecretKey::load(&path, None), Err(KeyError::TooOpen(_))));
}

#[test]
fn encrypted_key_requires_its_password() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("channel.key");
    let key = SecretKey::create(&path, Some("open sesame")).unwrap();
    assert!(matches!(SecretKey::load(&path, None), Err(KeyError::NeedsPassword(_))));
    assert!(matches!(SecretKey::load(&path, Some("guessed")), Err(KeyError::WrongPassword(_))));
    let opened = SecretKey::load(&path, Some("open sesame")).unwrap();
    assert_eq!(opened.public(), key.public());
    let signature = opened.sign(b"x", &statement(3)).unwrap();
    assert_eq!(key.public().verify(b"x", signature.as_bytes()), Ok(statement(3)));
}

#[test]
fn rejects_invalid_key_files() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("not.key");
    for text in ["", "hello", "untrusted comment: x\nRWQ=\n", "a\nb\nc\nd\n"] {
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let error = SecretKey::load(&path, None).expect_err(text);
        assert!(matches!(error, KeyError::NotSecret(_)), "{text:?}: {error}");
        assert!(text.parse::<PublicKey>().is_err(), "{text:?}");
    }
    assert!(!format!("{:?}", SecretKey::generate(None).unwrap().0).contains("secret:"));
}

#[test]
fn other_key_is_reported_by_id() {
    let (ours, _) = SecretKey::generate(None).unwrap();
    let (theirs, _) = SecretKey::generate(None).unwrap();
    let signature = theirs.sign(b"x", &statement(1)).unwrap();
    assert_eq!(ours.public().verify(b"x", signature.as_bytes()), Err(SignatureError::OtherKey(theirs.public().id())));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn altered_file_is_never_accepted(content in prop::collection::vec(any::<u8>(), 0..200), at in any::<usize>(), flip in 1u8..) {
        let (key, _) = SecretKey::generate(None).unwrap();
        let signature = key.sign(&content, &statement(1)).unwrap();
        prop_assert_eq!(key.public().verify(&content, signature.as_bytes()), Ok(statement(1)));
        let mut altered = content.clone();
        if altered.is_empty() { altered.push(flip) } else { let at = at % altered.len(); altered[at] ^= flip }
        prop_assert!(key.public().verify(&altered, signature.as_bytes()).is_err());
    }

    /// However a signature is altered, it is rejected or states the same: an untrusted comment has
    /// no meaning.
    #[test]
    fn altered_signature_never_states_something_else(at in any::<usize>(), flip in 1u8..) {
        let (key, _) = SecretKey::generate(None).unwrap();
        let mut signature = key.sign(b"content", &statement(7)).unwrap().into_bytes();
        let at = at % signature.len();
        signature[at] ^= flip;
        if let Ok(said) = key.public().verify(b"content", &signature) {
            prop_assert_eq!(said, statement(7));
        }
    }

    #[test]
    fn arbitrary_signatures_and_keys_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let (key, _) = SecretKey::generate(None).unwrap();
        prop_assert!(key.public().verify(b"content", &bytes).is_err());
        let _ = String::from_utf8_lossy(&bytes).parse::<PublicKey>();
    }

    /// A well-formed signature file with lines of invalid lengths.
    #[test]
    fn rejects_signature_lines_of_wrong_length(first in prop::collection::vec(any::<u8>(), 0..120), second in prop::collection::vec(any::<u8>(), 0..120), comment in ".{0,40}") {
        let (key, _) = SecretKey::generate(None).unwrap();
        let (first, second) = (data_encoding::BASE64.encode(&first), data_encoding::BASE64.encode(&second));
        let text = format!("untrusted comment: x\n{first}\ntrusted comment: {comment}\n{second}\n");
        prop_assert!(key.public().verify(b"content", text.as_bytes()).is_err());
        let good = key.sign(b"content", &statement(7)).unwrap();
        let lines: Vec<&str> = good.lines().collect();
        let mixed = format!("{}\n{}\n{}\n{second}\n", lines[0], lines[1], lines[2]);
        prop_assert!(key.public().verify(b"content", mixed.as_bytes()).is_err());
    }
}
