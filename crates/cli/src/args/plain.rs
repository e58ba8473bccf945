//! Values that are plain arguments or options: `function get hello` and `function get --name
//! hello` are the same. The seeds write the options, users of other tools the arguments.

use std::fmt;
use std::marker::PhantomData;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};

/// One value of a command.
#[derive(Debug, Clone, Copy)]
pub struct Slot {
    /// The option, which is also its id.
    pub option: &'static str,
    /// The id of the plain argument.
    pub plain: &'static str,
    pub value_name: &'static str,
    pub help: &'static str,
    pub presence: Presence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    Needed,
    Optional,
    Default(&'static str),
}

/// Marks plain arguments that must be given unless their option is. clap cannot require them: which
/// value an argument is for depends on the options.
#[derive(Debug, Clone, Copy)]
pub struct Needed;

impl clap::builder::ArgExt for Needed {}

/// The values of a command, in the order of its plain arguments.
pub trait Slots {
    const SLOTS: &'static [Slot];
}

/// The values that were given for the slots, in either way.
pub struct Plain<S> {
    values: Vec<Option<String>>,
    slots: PhantomData<fn() -> S>,
}

impl<S: Slots> Plain<S> {
    /// The value of an option or its argument, or the default. Empty if it was not given.
    pub fn get(&self, option: &str) -> &str {
        self.find(option).unwrap_or_default()
    }

    pub fn find(&self, option: &str) -> Option<&str> {
        let (slot, value) = S::SLOTS.iter().zip(&self.values).find(|(slot, _)| slot.option == option)?;
        match (value, slot.presence) {
            (Some(value), _) => Some(value),
            (None, Presence::Default(value)) => Some(value),
            (None, _) => None,
        }
    }
}

impl<S: Slots> Clone for Plain<S> {
    fn clone(&self) -> Self {
        Self { values: self.values.clone(), slots: PhantomData }
    }
}

impl<S: Slots> fmt::Debug for Plain<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.values).finish()
    }
}

impl<S: Slots> Args for Plain<S> {
    fn augment_args(mut command: Command) -> Command {
        for slot in S::SLOTS {
            let mut plain = Arg::new(slot.plain).value_name(slot.value_name).help(described(slot));
            if slot.presence == Presence::Needed {
                plain = plain.add(Needed);
            }
            let option = Arg::new(slot.option)
                .long(slot.option)
                .value_name(slot.value_name)
                .help(format!("{} as an option", slot.value_name))
                .hide_short_help(true);
            command = command.arg(plain).arg(option);
        }
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn described(slot: &Slot) -> String {
    match slot.presence {
        Presence::Default(value) => format!("{} [default: {value}]", slot.help),
        Presence::Needed | Presence::Optional => slot.help.to_owned(),
    }
}

impl<S: Slots> FromArgMatches for Plain<S> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let all = |id: fn(&Slot) -> &'static str| S::SLOTS.iter().map(move |slot| matches.get_one::<String>(id(slot)));
        let plain: Vec<&str> = all(|slot| slot.plain).flatten().map(String::as_str).collect();
        let options: Vec<Option<&str>> = all(|slot| slot.option).map(|value| value.map(String::as_str)).collect();
        let values = fill(S::SLOTS, &plain, &options)?;
        Ok(Self { values: values.into_iter().map(|value| value.map(str::to_owned)).collect(), slots: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Gives each slot its value. Plain arguments fill the slots in order, and those without an option
/// if they do not agree with the options.
fn fill<'a>(slots: &[Slot], plain: &[&'a str], options: &[Option<&'a str>]) -> Result<Vec<Option<&'a str>>, Error> {
    let mut values = options.to_vec();
    let disagrees = |(value, option): (&&str, &Option<&str>)| option.is_some_and(|option| option != *value);
    match plain.iter().zip(options).position(disagrees) {
        None => {
            for (slot, value) in values.iter_mut().zip(plain) {
                *slot = Some(value);
            }
        }
        Some(first) => {
            let mut open = values.iter_mut().filter(|value| value.is_none());
            for value in plain {
                match open.next() {
                    Some(slot) => *slot = Some(value),
                    None => return Err(conflict(&slots[first], plain[first], options[first].unwrap_or_default())),
                }
            }
        }
    }
    let missing: Vec<String> = slots
        .iter()
        .zip(&values)
        .filter(|(slot, value)| slot.presence == Presence::Needed && value.is_none())
        .map(|(slot, _)| format!("<{}>", slot.value_name))
        .collect();
    if missing.is_empty() {
        return Ok(values);
    }
    let mut error = Error::new(ErrorKind::MissingRequiredArgument);
    error.insert(ContextKind::InvalidArg, ContextValue::Strings(missing));
    Err(error)
}

fn conflict(slot: &Slot, plain: &str, option: &str) -> Error {
    let message = format!("`{plain}` and `--{} {option}` differ; give one of them", slot.option);
    Error::raw(ErrorKind::ArgumentConflict, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: Slot =
        Slot { option: "name", plain: "plain-name", value_name: "NAME", help: "", presence: Presence::Needed };
    const VERSION: Slot = Slot {
        option: "version",
        plain: "plain-version",
        value_name: "VERSION",
        help: "",
        presence: Presence::Default("latest"),
    };

    #[test]
    fn plain_arguments_fill_what_options_leave_open() {
        for (plain, name, version, filled) in [
            (&["hello"][..], None, None, [Some("hello"), None]),
            (&["hello", "v1"], None, None, [Some("hello"), Some("v1")]),
            (&["hello"], None, Some("v1"), [Some("hello"), Some("v1")]),
            (&["v1"], Some("hello"), None, [Some("hello"), Some("v1")]),
            (&["hello"], Some("hello"), None, [Some("hello"), None]),
            (&["hello", "v1"], Some("hello"), Some("v1"), [Some("hello"), Some("v1")]),
            (&["hello", "v1"], Some("hello"), None, [Some("hello"), Some("v1")]),
            (&[], Some("hello"), Some("v1"), [Some("hello"), Some("v1")]),
        ] {
            let values = fill(&[NAME, VERSION], plain, &[name, version]);
            assert_eq!(values.ok(), Some(filled.to_vec()), "{plain:?} {name:?} {version:?}");
        }
    }

    #[test]
    fn rejects_an_argument_and_an_option_that_differ() {
        for (plain, name, version) in [
            (&["hello", "v1"][..], Some("other"), None),
            (&["hello", "v2"], None, Some("v1")),
            (&["hello"], Some("other"), Some("v1")),
        ] {
            let error = fill(&[NAME, VERSION], plain, &[name, version]).expect_err("they differ");
            assert_eq!(error.kind(), ErrorKind::ArgumentConflict, "{plain:?} {name:?} {version:?}");
        }
        let error = fill(&[NAME], &["hello"], &[Some("other")]).expect_err("they differ");
        assert!(error.to_string().contains("`hello` and `--name other` differ"), "{error}");
    }

    #[test]
    fn requires_needed_values() {
        let error = fill(&[NAME, VERSION], &[], &[None, Some("v1")]).expect_err("no name");
        assert_eq!(error.kind(), ErrorKind::MissingRequiredArgument);
        assert_eq!(error.get(ContextKind::InvalidArg), Some(&ContextValue::Strings(vec!["<NAME>".to_owned()])));
    }
}
