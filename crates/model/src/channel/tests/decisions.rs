//! Decisions of an install, case by case, and the text of the forecast.

use super::super::index::Entry;
use super::super::{
    All, ArtifactId, Brakes, Decision, Fate, Policy, Situation, Stay, Windows, decide, forecast, unpublish,
};
use super::{at, entry, published, version};

/// A Monday in Berlin, with a window on Sunday night and a freeze over Christmas.
const MONDAY: &str = "2026-11-16T12:00:00Z";
/// Before the versions in these tests were published.
const ROLLED_BACK: &str = "2025-12-31T00:00:00Z";

fn windows() -> Windows {
    Windows::new("Europe/Berlin", &["sun 02:00-04:00"], &["2026-12-20..2027-01-06"]).expect("windows")
}

struct Case {
    installed: Entry,
    all: All,
    policy: Policy,
    brakes: Brakes,
    now: &'static str,
}

impl Case {
    fn new(installed: &str, versions: &[&str], policy: &str) -> Self {
        let policy = policy.parse().unwrap_or_else(|error| panic!("{error}"));
        let brakes = Brakes::default();
        Self { installed: entry(installed), all: published("stable", versions), policy, brakes, now: MONDAY }
    }

    fn at(mut self, now: &'static str) -> Self {
        self.now = now;
        self
    }

    fn unpublish(mut self, text: &str, promote: bool) -> Self {
        self.all = unpublish(&self.all, &version(text), promote, &[]).expect("unpublished").all;
        self
    }

    fn rolled_back(mut self, bad: &str, stays: bool) -> Self {
        self.brakes.roll_back(version(bad), stays, "rolled back by ada", at(ROLLED_BACK));
        self
    }

    fn ask<T>(&self, question: impl FnOnce(&Situation<'_>) -> T) -> T {
        let windows = windows();
        let Self { installed, all, policy, brakes, now } = self;
        question(&Situation { installed, all, policy, windows: &windows, brakes, now: at(now) })
    }

    fn decide(&self) -> Result<Decision, Stay> {
        self.ask(decide)
    }

    #[track_caller]
    fn says(&self, expected: &str) {
        let said = self.ask(forecast).map_or_else(|stay| stay.to_string(), |forecast| forecast.to_string());
        assert_eq!(said, expected);
    }

    #[track_caller]
    fn reasons(&self, expected: &[&str]) {
        let decision = self.decide().expect("a decision");
        let reasons: Vec<String> = decision.outlook.iter().map(|outlook| outlook.reason()).collect();
        assert_eq!(reasons, expected);
    }
}

const SEED: &str = "patch=immediate,minor=window,major=manual";

#[test]
fn the_example_of_the_seed() {
    let case = Case::new("1.1.2", &["1.0.3", "1.1.2", "1.1.3", "1.2.3", "2.0.0"], SEED).unpublish("1.1.2", false);
    case.says("1.1.3 now, 1.2.3 on Sunday 2026-11-22 02:00 Europe/Berlin, 2.0.0 waits for you");
    case.reasons(&[
        "the installed version was unpublished",
        "minor updates wait for a window",
        "major updates are manual",
    ]);
    let decision = case.decide().expect("a decision");
    assert!(decision.unpublished);
    assert_eq!(decision.now().expect("now").entry.version.as_str(), "1.1.3");
    assert_eq!(decision.wake_at(), Some(at("2026-11-22T01:00:00Z")));
    assert_eq!(decision.outlook[1].warning(), None);
    assert!(decision.outlook[2].warning().expect("a warning").starts_with("2.0.0 is a major update"));
}

#[test]
fn installs_the_newest_version_allowed_now() {
    Case::new("1.1.2", &["1.1.2", "1.1.3", "1.1.4", "1.2.0", "1.2.3"], SEED)
        .at("2026-11-22T01:30:00Z")
        .says("1.2.3 now");
    Case::new(
        "1.1.2",
        &["1.1.2", "1.1.3", "1.2.0", "2.0.0", "2.1.0"],
        "patch=immediate,minor=immediate,major=immediate",
    )
    .says("2.1.0 now");
    Case::new("1.2.3", &["1.2.3", "1.1.4"], SEED).says("1.2.3 is the newest");
}

#[test]
fn leaves_out_versions_overtaken_by_a_higher_one() {
    let versions = ["1.1.2", "1.1.3", "1.2.3", "2.0.0"];
    Case::new("1.1.2", &versions, "patch=window,minor=window,major=window")
        .says("2.0.0 on Sunday 2026-11-22 02:00 Europe/Berlin");
    Case::new("1.1.2", &versions, "patch=manual,minor=manual,major=immediate").says("2.0.0 now");
    Case::new("1.1.2", &versions, "patch=manual,minor=window,major=never")
        .says("1.1.3 waits for you, 1.2.3 on Sunday 2026-11-22 02:00 Europe/Berlin, 2.0.0 is not wanted");
}

#[test]
fn a_deny_blocks_immediate_steps_too() {
    let case = Case::new("1.1.2", &["1.1.2", "1.1.3", "1.2.3"], SEED).at("2026-12-24T12:00:00Z");
    case.says("1.1.3 on Thursday 2027-01-07 00:00 Europe/Berlin, 1.2.3 on Sunday 2027-01-10 02:00 Europe/Berlin");
    case.reasons(&["upgrades are denied until then", "minor updates wait for a window"]);
    let unsafe_one = Case::new("1.1.2", &["1.1.2", "1.1.3"], SEED).unpublish("1.1.2", false).at("2026-12-24T12:00:00Z");
    unsafe_one.says("1.1.2 was unpublished; 1.1.3 on Thursday 2027-01-07 00:00 Europe/Berlin");
}

#[test]
fn an_unpublished_version_is_replaced_within_the_policy() {
    let case = |policy: &str| Case::new("1.1.2", &["1.1.2", "1.1.3", "1.2.0"], policy).unpublish("1.1.2", false);
    case("patch=window,minor=manual").says("1.1.3 now, 1.2.0 waits for you");
    let manual = case("patch=manual,minor=never");
    manual.says("1.1.2 was unpublished; 1.1.3 waits for you, 1.2.0 is not wanted");
    manual.reasons(&[
        "the installed version was unpublished, perhaps because it is not safe, and patch updates are manual",
        "minor updates are never installed",
    ]);
    case("patch=never,minor=window")
        .says("1.1.2 was unpublished; 1.1.3 is not wanted, 1.2.0 on Sunday 2026-11-22 02:00 Europe/Berlin");
    // No patch replaces it, and a minor update still waits for its window.
    let alone = Case::new("1.1.2", &["1.1.2", "1.2.0"], SEED).unpublish("1.1.2", false);
    alone.says("1.1.2 was unpublished; 1.2.0 on Sunday 2026-11-22 02:00 Europe/Berlin");
    let nothing = Case::new("1.2.0", &["1.1.2", "1.2.0"], SEED).unpublish("1.2.0", false);
    nothing.says("1.2.0 was unpublished, and nothing replaces it yet");
}

#[test]
fn rejects_a_lower_latest() {
    let lesser = Case::new("1.2.3", &["1.1.3", "1.2.3"], SEED).unpublish("1.2.3", true);
    lesser.says(
        "the release channel `stable` is of a lesser version: its latest is `1.1.3` and `1.2.3` is installed, \
        so nothing was changed; to go down, install `1.1.3` by hand",
    );
    assert!(matches!(lesser.decide(), Err(Stay::Lesser { .. })));
}

#[test]
fn rejects_a_changed_digest_of_the_installed_version() {
    let mut case = Case::new("1.1.2", &["1.1.2", "1.1.3"], SEED);
    case.installed.id = crate::Digest::of(b"what was installed").into();
    assert!(matches!(case.decide(), Err(Stay::Replaced { .. })));
    case.installed.id = ArtifactId::Short("461324714c7d".to_owned());
    case.says("1.1.3 now");
}

#[test]
fn short_ids_are_shown_but_never_fetched() {
    let text = |id: &str| {
        format!(
            r#"{{"name":"stable","type":"all","package":"acme/shop","latest":null,"versions":[
        {{"version":"1.1.4","id":"461324714c7d","createTime":"2026-01-01T00:00:00Z"}},
        {{"version":"1.1.3","id":"{id}","createTime":"2026-01-01T00:00:00Z"}}]}}"#
        )
    };
    let mut case = Case::new("1.1.2", &[], SEED);
    case.all = All::read(text("72f201c9f096").as_bytes()).expect("readable");
    case.says("1.1.2 was unpublished; 1.1.4 cannot be fetched");
    case.all = All::read(text(&entry("1.1.3").id.to_string()).as_bytes()).expect("readable");
    case.says("1.1.3 now, 1.1.4 cannot be fetched");
}

#[test]
fn a_rollback_holds_upgrades() {
    let versions = ["1.1.3", "1.1.4", "1.2.0"];
    let everything = "patch=immediate,minor=immediate,major=immediate";
    let held = Case::new("1.1.3", &versions, everything).rolled_back("1.2.0", false);
    held.says("1.1.4 is held, 1.2.0 is skipped");
    held.reasons(&[
        "upgrades are held until there is a version above 1.2.0 (rolled back by ada)",
        "it was rolled back",
    ]);

    let newer = [versions.as_slice(), &["1.2.1"]].concat();
    Case::new("1.1.3", &newer, everything).rolled_back("1.2.0", false).says("1.2.1 now");
    let stays = Case::new("1.1.3", &newer, everything).rolled_back("1.2.0", true);
    stays.says("1.1.4 is held, 1.2.1 is held");

    // The newer version ends the hold although the policy does not allow it; the bad one stays
    // skipped.
    let major = [versions.as_slice(), &["2.0.0"]].concat();
    Case::new("1.1.3", &major, "minor=immediate")
        .rolled_back("1.2.0", false)
        .says("1.1.4 now, 1.2.0 is skipped, 2.0.0 waits for you");

    // A version that existed at the time of the rollback does not end the hold, however high it is.
    let mut later = Case::new("1.1.3", &newer, everything);
    later.brakes.roll_back(version("1.2.0"), false, "rolled back by ada", at("2026-06-01T00:00:00Z"));
    assert!(later.decide().expect("a decision").now().is_none());
    let mut lifted = Case::new("1.1.3", &versions, everything).rolled_back("1.2.0", true);
    lifted.brakes = Brakes::default();
    lifted.says("1.2.0 now");
}

#[test]
fn a_channel_without_a_latest_still_upgrades() {
    Case::new("1.1.2", &["1.1.2", "1.1.3", "1.2.0"], SEED).unpublish("1.2.0", false).says("1.1.3 now");
}

#[test]
fn beta_steps_follow_their_numbers_and_stable_supersedes_them() {
    let mut beta = Case::new("1.2.3-beta.1", &[], SEED);
    beta.all = published("beta", &["1.2.3-beta.1", "1.2.3-beta.2", "1.3.0-beta"]);
    beta.says("1.2.3-beta.2 now, 1.3.0-beta on Sunday 2026-11-22 02:00 Europe/Berlin");
    // An install that moves to `stable` does not count as unpublished.
    let moved = Case::new("1.2.3-beta.1", &["1.2.3", "1.2.4"], "patch=window");
    moved.says("1.2.4 on Sunday 2026-11-22 02:00 Europe/Berlin");
    assert!(!moved.decide().expect("a decision").unpublished);
    assert!(matches!(Case::new("1.3.0-beta.1", &["1.2.3"], SEED).decide(), Err(Stay::Lesser { .. })));
}

#[test]
fn a_minor_step_of_a_zero_version_is_major() {
    Case::new("0.4.1", &["0.4.2", "0.5.0"], "patch=immediate,minor=immediate,major=manual")
        .says("0.4.2 now, 0.5.0 waits for you");
}

#[test]
fn a_repeated_hour_is_shown_with_its_offset() {
    Case::new("1.1.2", &["1.1.2", "1.2.0"], SEED)
        .at("2026-10-20T00:00:00Z")
        .says("1.2.0 on Sunday 2026-10-25 02:00 Europe/Berlin (+02)");
}

#[test]
fn decisions_round_trip_through_json() {
    let decision = Case::new("1.1.2", &["1.1.3", "1.2.3", "2.0.0"], SEED)
        .rolled_back("1.1.3", false)
        .decide()
        .expect("a decision");
    let json = serde_json::to_string(&decision).expect("json");
    assert_eq!(serde_json::from_str::<Decision>(&json).expect("a decision"), decision);
    assert!(decision.outlook.iter().any(|outlook| matches!(outlook.fate, Fate::At { .. })), "{json}");
    let brakes = Case::new("1.1.2", &[], SEED).rolled_back("1.2.0", false).brakes;
    let json = serde_json::to_string(&brakes).expect("json");
    let expected = r#"{"hold":{"until":{"above":"1.2.0"},"reason":"rolled back by ada","since":"2025-12-31T00:00:00Z"},"skipped":["1.2.0"]}"#;
    assert_eq!(json, expected);
    // A manual hold has no `since`, so all versions count.
    let by_hand = r#"{"hold":{"until":{"above":"1.2.0"},"reason":""},"skipped":[]}"#;
    assert_eq!(serde_json::from_str::<Brakes>(by_hand).expect("brakes").hold.and_then(|hold| hold.since), None);
    assert_eq!(serde_json::from_str::<Brakes>(&json).expect("brakes"), brakes);
}
