//! Properties of every policy: never downgrades, never installs a forbidden step, always picks the
//! newest allowed version.

use jiff::Timestamp;
use proptest::prelude::*;

use super::super::index::Entry;
use super::super::{
    All, Brakes, Fate, Hold, HoldUntil, Outlook, Policy, SemVer, Situation, Stay, Step, When, Windows, decide,
    unpublish,
};
use super::{at, entry, published, version};

#[derive(Debug, Clone)]
struct World {
    installed: Entry,
    all: All,
    policy: Policy,
    windows: Windows,
    brakes: Brakes,
    now: Timestamp,
}

impl World {
    fn situation(&self) -> Situation<'_> {
        let Self { installed, all, policy, windows, brakes, now } = self;
        Situation { installed, all, policy, windows, brakes, now: *now }
    }

    /// The rule again, without any of the deciding code: may this version be installed now?
    fn may_now(&self, to: &Entry) -> bool {
        let from = &self.installed.version;
        let unpublished = self.all.versions().iter().all(|entry| entry.version != *from);
        let when = match same_numbers(from, &to.version) {
            3 => self.policy.patch,
            2 => self.policy.patch,
            1 if from.major() != "0" => self.policy.minor,
            _ => self.policy.major,
        };
        let security = unpublished && same_numbers(from, &to.version) >= 2;
        let timely = match when {
            When::Immediate => !self.windows.is_denied(self.now),
            When::Window => self.windows.is_open(self.now) || (security && !self.windows.is_denied(self.now)),
            When::Manual | When::Never => false,
        };
        let held = match self.brakes.hold.as_ref().map(|hold| &hold.until) {
            None => false,
            Some(HoldUntil::Lifted) => true,
            Some(HoldUntil::Above(bad)) => !self.all.versions().iter().any(|entry| {
                entry.version.cmp_precedence(bad).is_gt() && !self.brakes.skipped.contains(&entry.version)
            }),
        };
        timely && !held && !self.brakes.skipped.contains(&to.version) && to.version.cmp_precedence(from).is_gt()
    }
}

fn same_numbers(a: &SemVer, b: &SemVer) -> usize {
    let (a, b) = (a.core().split('.'), b.core().split('.'));
    a.zip(b).take_while(|(a, b)| a == b).count()
}

fn any_version() -> impl Strategy<Value = String> {
    (0_u8..3, 0_u8..3, 0_u8..4).prop_map(|(major, minor, patch)| format!("{major}.{minor}.{patch}"))
}

fn any_when() -> impl Strategy<Value = When> {
    prop::sample::select(vec![When::Immediate, When::Window, When::Manual, When::Never])
}

fn any_windows() -> impl Strategy<Value = Windows> {
    let all = [
        Windows::none(),
        Windows::new("Europe/Berlin", &["sun 02:00-04:00"], &[]).expect("windows"),
        Windows::new("Europe/Berlin", &["mon-fri 22:00-06:00"], &["2026-11-16..2026-11-18"]).expect("windows"),
        Windows::new("America/New_York", &["daily 12:00-13:00"], &["mon"]).expect("windows"),
        Windows::new("UTC", &["sun"], &["sun"]).expect("windows"),
    ];
    prop::sample::select(all.to_vec())
}

fn any_world() -> impl Strategy<Value = World> {
    let versions = prop::collection::btree_set(any_version(), 1..10);
    let policy = (any_when(), any_when(), any_when()).prop_map(|(patch, minor, major)| Policy { patch, minor, major });
    let skipped = prop::collection::vec(any_version(), 0..3);
    let hold = prop_oneof![
        5 => Just(None),
        1 => Just(Some(HoldUntil::Lifted)),
        2 => any_version().prop_map(|text| Some(HoldUntil::Above(version(&text)))),
    ];
    let minutes = 0_i64..20_000;
    (
        any_version(),
        versions,
        any::<prop::sample::Index>(),
        any::<[bool; 2]>(),
        policy,
        any_windows(),
        skipped,
        hold,
        minutes,
    )
        .prop_map(|(installed, versions, gone, [take_back, promote], policy, windows, skipped, hold, minutes)| {
            let texts: Vec<&str> = versions.iter().map(String::as_str).collect();
            let mut all = published("stable", &texts);
            if take_back {
                all = unpublish(&all, &version(texts[gone.index(texts.len())]), promote, &[]).expect("unpublished").all;
            }
            let hold = hold.map(|until| Hold { until, reason: String::new(), since: None });
            let brakes = Brakes { hold, skipped: skipped.iter().map(|text| version(text)).collect() };
            let now = at("2026-11-10T00:00:00Z") + jiff::SignedDuration::from_mins(minutes);
            World { installed: entry(&installed), all, policy, windows, brakes, now }
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn installs_exactly_the_newest_version_allowed_now(world in any_world()) {
        let installed = &world.installed.version;
        let lesser = world.all.latest().is_some_and(|latest| latest.version.cmp_precedence(installed).is_lt());
        let decision = match decide(&world.situation()) {
            Err(Stay::Lesser { .. }) => {
                prop_assert!(lesser);
                return Ok(());
            }
            Err(other) => return Err(TestCaseError::fail(other.to_string())),
            Ok(decision) => decision,
        };
        prop_assert!(!lesser);
        let newest = world.all.versions().iter().find(|entry| world.may_now(entry));
        prop_assert_eq!(decision.now().map(|now| &now.entry), newest);
    }

    #[test]
    fn every_outlook_is_higher_and_follows_the_policy(world in any_world()) {
        let Ok(decision) = decide(&world.situation()) else { return Ok(()) };
        for outlook in &decision.outlook {
            let to = &outlook.entry.version;
            prop_assert!(to.cmp_precedence(&world.installed.version).is_gt());
            prop_assert_eq!(Some(&outlook.entry), world.all.get(to));
            let when = world.policy.when(outlook.step);
            match &outlook.fate {
                Fate::Now => prop_assert!(matches!(when, When::Immediate | When::Window)),
                Fate::At { at } => {
                    prop_assert!(matches!(when, When::Immediate | When::Window));
                    prop_assert!(at.timestamp() > world.now);
                }
                Fate::NoWindow => prop_assert!(matches!(when, When::Immediate | When::Window)),
                Fate::Waits => prop_assert_eq!(when, When::Manual),
                Fate::Forbidden => prop_assert_eq!(when, When::Never),
                Fate::Held => prop_assert!(world.brakes.hold.is_some() && when != When::Never),
                Fate::Skipped => prop_assert!(world.brakes.skipped.contains(to)),
                Fate::Unfetchable => prop_assert!(false, "all have digests"),
            }
            prop_assert!(!outlook.reason().is_empty() && !outlook.to_string().is_empty());
        }
        let newest = world.all.versions().first().filter(|entry| entry.is_above(&world.installed));
        prop_assert_eq!(decision.outlook.last().map(|outlook| &outlook.entry), newest, "the newest is always in the outlook");
        prop_assert!(decision.outlook.iter().filter(|outlook| outlook.fate == Fate::Now).count() <= 1);
    }

    /// After installing what is due now, nothing else is due now, and later steps are unchanged.
    #[test]
    fn one_step_suffices_and_the_forecast_comes_true(mut world in any_world()) {
        let Ok(mut decision) = decide(&world.situation()) else { return Ok(()) };
        for _ in 0..8 {
            if let Some(now) = decision.now().cloned() {
                world.installed = now.entry;
                let later = decide(&world.situation()).map_err(|stay| TestCaseError::fail(stay.to_string()))?;
                prop_assert!(later.now().is_none());
                // A skipped version may be a smaller step from the new version.
                let plans = |outlook: &[Outlook]| -> Vec<Outlook> {
                    outlook.iter().filter(|outlook| outlook.fate != Fate::Skipped).cloned().collect()
                };
                prop_assert_eq!(plans(&later.outlook), plans(&decision.outlook[1..]));
                decision = later;
            }
            let Some(wake) = decision.wake_at() else { return Ok(()) };
            let is_due = |outlook: &&Outlook| matches!(&outlook.fate, Fate::At { at } if at.timestamp() == wake);
            let due = decision.outlook.iter().rfind(is_due);
            let promised = due.expect("what it wakes for").entry.clone();
            world.now = wake;
            decision = decide(&world.situation()).map_err(|stay| TestCaseError::fail(stay.to_string()))?;
            prop_assert_eq!(decision.now().map(|now| &now.entry), Some(&promised));
        }
        prop_assert!(false, "this never ends");
    }

    #[test]
    fn a_path_of_steps_is_as_large_as_its_largest_step(mut texts in prop::collection::vec(any_version(), 3)) {
        texts.sort_by(|a, b| version(a).cmp_precedence(&version(b)));
        let [a, b, c] = [&texts[0], &texts[1], &texts[2]].map(|text| version(text));
        prop_assert_eq!(Step::between(&a, &c), Step::between(&a, &b).max(Step::between(&b, &c)));
        if a.major() == "0" && a.minor() != b.minor() {
            prop_assert_eq!(Step::between(&a, &b), Step::Major, "0.y breaks with y");
        }
    }
}
