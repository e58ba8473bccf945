//! The text form of windows and policies, in both directions, and the errors for invalid ones.

use super::super::policy::PolicyError;
use super::super::{Policy, Step, Window, Windows};
use super::version;

#[test]
fn windows_are_printed_in_one_form() {
    for (text, printed) in [
        ("sun 02:00-04:00", "sun 02:00-04:00"),
        ("mon-fri 22:00-06:00", "mon-fri 22:00-06:00"),
        ("Sunday 2:00-4:00", "sun 02:00-04:00"),
        ("sat,sun 00:00-24:00", "sat-sun"),
        ("sat-sun", "sat-sun"),
        ("fri-mon 12:00-13:30", "mon,fri-sun 12:00-13:30"),
        ("mon,wed,fri 22:00-00:00", "mon,wed,fri 22:00-24:00"),
        ("daily 03:00-05:00", "daily 03:00-05:00"),
        ("mon-sun", "daily"),
        ("2026-12-20..2027-01-06", "2026-12-20..2027-01-06"),
        ("2026-12-24", "2026-12-24"),
    ] {
        let window: Window = text.parse().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(window.to_string(), printed, "{text}");
        assert_eq!(printed.parse::<Window>().expect("its own form"), window);
    }
}

#[test]
fn errors_of_windows_say_what_to_write() {
    for (text, said) in [
        ("", "`` is not a window; write it like `sun 02:00-04:00`"),
        ("02:00-04:00", "`02:00-04:00` is not a window"),
        ("sun 02:00", "`sun 02:00` is not a window"),
        ("sun 02:00-04:00 UTC", "`sun 02:00-04:00 UTC` is not a window"),
        ("so 02:00-04:00", "`so` is not a day; write `mon`"),
        ("sun 02:00-25:00", "`25:00` is not a time of day"),
        ("sun 24:00-04:00", "`24:00 as a beginning` is not a time of day"),
        ("sun 2-4", "`2` is not a time of day"),
        ("sun 02:60-04:00", "`02:60` is not a time of day"),
        ("sun 02:00-02:00", "`sun 02:00-02:00` begins and ends at the same time"),
        ("2026-02-30", "`2026-02-30` is not a date"),
        ("2026-12-20..soon", "`soon` is not a date"),
        ("2027-01-06..2026-12-20", "`2027-01-06..2026-12-20` ends before it begins"),
    ] {
        let error = text.parse::<Window>().expect_err(text).to_string();
        assert!(error.starts_with(said), "{error}\n  expected {said}");
    }
}

#[test]
fn zones_must_be_named() {
    let none: [&str; 0] = [];
    let zone = |name: &str| Windows::new(name, &none, &none);
    for name in ["Europe/Berlin", "UTC", "America/New_York", "Australia/Lord_Howe"] {
        assert!(zone(name).is_ok(), "{name}");
    }
    for name in ["", "+02:00", "CET-1CEST", "Etc/Unknown", "Mars/Olympus", "../../etc/passwd"] {
        assert!(zone(name).is_err(), "{name}");
    }
    let error = zone("Europe/Berln").expect_err("misspelt").to_string();
    assert!(error.starts_with("`Europe/Berln` is not a time zone; did you mean `Europe/Berlin`"), "{error}");
    let many = vec!["daily"; 401];
    assert!(Windows::new("UTC", &many, &[]).is_err());
}

#[test]
fn windows_serialise_as_their_texts() {
    let json = r#"{"zone":"Europe/Berlin","allow":["sun 02:00-04:00"],"deny":["2026-12-20..2027-01-06"]}"#;
    let windows: Windows = serde_json::from_str(json).expect("windows");
    assert_eq!(serde_json::to_string(&windows).expect("json"), json);
    let plain: Windows = serde_json::from_str("{}").expect("no windows");
    assert_eq!(plain, Windows::none());
    assert!(
        serde_json::from_str::<Windows>(r#"{"alow":[]}"#).is_err(),
        "a misspelt key would be a window that is not there"
    );
}

#[test]
fn policies_round_trip() {
    for (text, printed) in [
        ("patch=immediate,minor=window,major=manual", "patch=immediate,minor=window,major=manual"),
        ("minor=never", "patch=immediate,minor=never,major=manual"),
        (" major = never , patch = manual ", "patch=manual,minor=manual,major=never"),
    ] {
        assert_eq!(text.parse::<Policy>().unwrap_or_else(|error| panic!("{error}")).to_string(), printed);
    }
    for (text, said) in [
        ("", "`` is not a part of a policy"),
        ("all=manual", "`all` is not a part of a policy"),
        ("patch", "`patch` is not a part of a policy; write `patch`, `minor` or `major`, like `patch=immediate`"),
        ("patch=sometimes", "`sometimes` is not a time for upgrades"),
        ("patch=never,patch=manual", "`patch` is there twice"),
    ] {
        let error = text.parse::<Policy>().expect_err(text).to_string();
        assert!(error.starts_with(said), "{error}");
    }
    let json = r#"{"patch":"immediate","minor":"window","major":"manual"}"#;
    let policy: Policy = serde_json::from_str(json).expect("a policy");
    assert_eq!(serde_json::to_string(&policy).expect("json"), json);
    assert_eq!(policy.check(&Windows::none()), Err(PolicyError::NoWindows(Step::Minor)));
    assert_eq!(policy.check(&Windows::new("UTC", &["sun"], &[]).expect("windows")), Ok(()));
}

#[test]
fn a_step_is_determined_by_the_first_differing_number() {
    for (from, to, step) in [
        ("1.2.3", "1.2.4", Step::Patch),
        ("1.2.3", "1.3.0", Step::Minor),
        ("1.2.3", "1.3.7", Step::Minor),
        ("1.2.3", "2.0.0", Step::Major),
        ("0.1.2", "0.1.3", Step::Patch),
        ("0.1.2", "0.2.0", Step::Major),
        ("0.9.0", "1.0.0", Step::Major),
        ("0.0.1", "0.0.2", Step::Patch),
        ("1.2.3-beta.1", "1.2.3-beta.2", Step::Patch),
        ("1.2.3-beta+1", "1.2.3-beta+2", Step::Patch),
        ("1.2.3-beta.1", "1.2.3", Step::Patch),
        ("1.2.3-beta", "1.3.0-beta", Step::Minor),
        ("18446744073709551615.0.0", "18446744073709551616.0.0", Step::Major),
    ] {
        assert_eq!(Step::between(&version(from), &version(to)), step, "{from} to {to}");
    }
}
