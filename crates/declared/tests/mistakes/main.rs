//! Tests that no mistake hides another or is reported twice: a folder without mistakes, a list of
//! single mistakes, and random combinations of them. A combination must report exactly what its
//! mistakes report alone.

#![expect(clippy::expect_used, clippy::panic, reason = "test code: a step that fails ends the test")]

mod folder;
mod forms_of_manifests;
mod forms_of_specs;
mod of_manifests;
mod of_specs;
mod of_triggers;

use std::collections::BTreeMap;

use milepost_declared::Problem;
use proptest::prelude::*;
use proptest::sample::subsequence;

use folder::Folder;

/// The files of a folder by path.
type Texts = BTreeMap<&'static str, String>;

/// A kind of folder, and its reader.
struct Subject {
    texts: fn() -> Texts,
    /// Files that only need to exist.
    others: &'static [&'static str],
    mistakes: &'static [&'static [Mistake]],
    /// Returns the errors and the warnings.
    read: fn(&Folder) -> (Vec<Problem>, Vec<Problem>),
}

/// One mistake: the text to replace, its replacement, and the expected messages.
struct Mistake {
    file: &'static str,
    /// Occurs once in the file.
    right: &'static str,
    wrong: &'static str,
    told: &'static [Told],
    /// Two mistakes with a common topic cannot be combined.
    about: &'static [&'static str],
    /// How this mistake changes the name of its item in the messages of other mistakes.
    renames: Option<(&'static str, &'static str)>,
}

struct Told {
    /// Text that occurs once in the file, on the line that the message must have.
    at: &'static str,
    /// How the message starts.
    message: &'static str,
    warning: bool,
}

const fn error(at: &'static str, message: &'static str) -> Told {
    Told { at, message, warning: false }
}

const fn warning(at: &'static str, message: &'static str) -> Told {
    Told { at, message, warning: true }
}

impl Subject {
    fn mistakes(&self) -> Vec<&'static Mistake> {
        self.mistakes.iter().copied().flatten().collect()
    }

    /// Makes as many of these mistakes as possible: each must find its text, and keep those of the
    /// others.
    fn spoiled(&self, wanted: &[usize]) -> (Texts, Vec<&'static Mistake>) {
        let mut texts = (self.texts)();
        let mut made: Vec<&'static Mistake> = Vec::new();
        let mistakes = self.mistakes();
        for mistake in wanted.iter().map(|at| mistakes[*at]) {
            let same = |other: &Mistake| other.about.iter().any(|about| mistake.about.contains(about));
            if made.iter().any(|other| same(other)) {
                continue;
            }
            let text = &texts[mistake.file];
            if text.matches(mistake.right).count() != 1 {
                continue;
            }
            let mut tried = texts.clone();
            tried.insert(mistake.file, text.replace(mistake.right, mistake.wrong));
            let stands = |mistake: &Mistake| {
                let text = &tried[mistake.file];
                text.contains(mistake.wrong) && mistake.told.iter().all(|told| text.matches(told.at).count() == 1)
            };
            if made.iter().copied().chain([mistake]).all(stands) {
                texts = tried;
                made.push(mistake);
            }
        }
        (texts, made)
    }

    /// Reads the folder and compares the messages: each expected one once, on its line, and no
    /// others.
    fn check(&self, texts: &Texts, made: &[&Mistake]) -> Result<(), String> {
        let folder = Folder::new();
        self.others.iter().for_each(|path| folder.write(path, "some text\n"));
        texts.iter().for_each(|(path, text)| folder.write(path, text));
        let (errors, warnings) = (self.read)(&folder);
        let own = format!("{}/", folder.path().display());
        let shown = |problem: &Problem| format!("{}: {}", problem.place, problem.message).replace(&own, "");
        let mut found: Vec<(bool, String)> = errors.iter().map(|problem| (false, shown(problem))).collect();
        found.extend(warnings.iter().map(|problem| (true, shown(problem))));
        let mut missing = Vec::new();
        for (mistake, told) in made.iter().flat_map(|mistake| mistake.told.iter().map(move |told| (mistake, told))) {
            let before = texts[mistake.file].split(told.at).next().unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            let others = made.iter().filter(|other| !std::ptr::eq(**other, *mistake));
            let message = others
                .filter_map(|other| other.renames)
                .fold(told.message.to_owned(), |message, (from, to)| message.replace(from, to));
            let expected = format!("{}:{line}: {message}", mistake.file);
            match found.iter().position(|(warning, text)| *warning == told.warning && text.starts_with(&expected)) {
                Some(at) => drop(found.remove(at)),
                None => missing.push(expected),
            }
        }
        if missing.is_empty() && found.is_empty() {
            return Ok(());
        }
        let wrongs: Vec<&str> = made.iter().map(|mistake| mistake.wrong).collect();
        Err(format!("not reported: {missing:#?}\nunexpected: {found:#?}\nof {wrongs:#?}"))
    }

    /// Checks every mistake alone, which validates the list.
    fn check_each(&self) {
        self.check(&(self.texts)(), &[]).unwrap_or_else(|wrong| panic!("the folder without mistakes: {wrong}"));
        let mistakes = self.mistakes();
        let alone = (0..mistakes.len()).filter_map(|at| {
            let (texts, made) = self.spoiled(&[at]);
            if made.is_empty() {
                return Some(format!("cannot be made: {:?}", mistakes[at].wrong));
            }
            self.check(&texts, &made).err()
        });
        let wrong: Vec<String> = alone.collect();
        assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), mistakes.len(), wrong.join("\n\n"));
    }

    /// Checks all mistakes at once, as far as they can be combined.
    fn check_all(&self) {
        let all: Vec<usize> = (0..self.mistakes().len()).collect();
        let (texts, made) = self.spoiled(&all);
        assert!(made.len() * 3 > all.len() * 2, "only {} of {} can be combined", made.len(), all.len());
        self.check(&texts, &made).unwrap_or_else(|wrong| panic!("{wrong}"));
    }
}

/// A random subset in random order, because the order decides which of two conflicting mistakes is
/// made.
fn some(subject: &Subject) -> impl Strategy<Value = Vec<usize>> + use<> {
    let all: Vec<usize> = (0..subject.mistakes().len()).collect();
    let count = all.len();
    subsequence(all, 0..=count).prop_shuffle()
}

#[test]
fn reports_each_mistake_of_specs() {
    of_specs::SUBJECT.check_each();
}

#[test]
fn reports_each_mistake_of_a_manifest() {
    of_manifests::SUBJECT.check_each();
}

#[test]
fn reports_all_mistakes_at_once() {
    of_specs::SUBJECT.check_all();
    of_manifests::SUBJECT.check_all();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn combined_mistakes_of_specs_are_each_reported_once(wanted in some(&of_specs::SUBJECT)) {
        let (texts, made) = of_specs::SUBJECT.spoiled(&wanted);
        of_specs::SUBJECT.check(&texts, &made).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn combined_mistakes_of_a_manifest_are_each_reported_once(wanted in some(&of_manifests::SUBJECT)) {
        let (texts, made) = of_manifests::SUBJECT.spoiled(&wanted);
        of_manifests::SUBJECT.check(&texts, &made).map_err(TestCaseError::fail)?;
    }
}
