//! Aliases in the model, and where a rollback moves them.

use milepost_model::Code;

use crate::common::*;
use crate::world::{World, pick};

impl World<'_> {
    pub async fn alias(&mut self, function: &str, name: &str, version: u8) {
        let numbers = self.numbers(&format!("function {function}"));
        if let Some(number) = pick(&numbers, version).copied() {
            self.t.alias(function, name, &number.to_string()).await;
            if self.aliases.get(&(function.to_owned(), name.to_owned())) != Some(&number) {
                self.moved(function, name, number, false);
            }
        }
    }

    pub async fn alias_back(&mut self, function: &str, name: &str) {
        let (function_name, alias_name) = (function.parse().unwrap(), name.parse().unwrap());
        let catalog = &self.t.catalog;
        let result = catalog.alias_rollback(&self.t.app, "al", function_name, alias_name, String::new()).await;
        match (result, self.alias_back_answer(function, name)) {
            (Ok(alias), Ok(number)) => {
                assert_eq!(alias.number, number);
                self.moved(function, name, number, true);
            }
            (result, expected) => assert_eq!(refused(result).code, expected.unwrap_err(), "{function} {name}"),
        }
    }

    pub async fn alias_delete(&mut self, function: &str, name: &str) {
        let (function_name, alias_name) = (function.parse().unwrap(), name.parse().unwrap());
        let result = self.t.catalog.alias_delete(&self.t.app, "al", function_name, alias_name).await;
        match (result, self.known_alias(function, name)) {
            (Ok(()), Ok(())) => {
                let at = (function.to_owned(), name.to_owned());
                self.aliases.remove(&at);
                self.alias_moves.remove(&at);
            }
            (result, expected) => assert_eq!(refused(result).code, expected.unwrap_err(), "{function} {name}"),
        }
    }

    fn moved(&mut self, function: &str, name: &str, number: i64, back: bool) {
        let at = (function.to_owned(), name.to_owned());
        self.alias_moves.entry(at.clone()).or_default().push((number, back));
        self.aliases.insert(at, number);
    }

    fn known_alias(&self, function: &str, name: &str) -> Result<(), Code> {
        if !self.manifest.contains_key(&format!("function {function}")) {
            return Err(Code::UnitNotFound);
        }
        let is_known = self.aliases.contains_key(&(function.to_owned(), name.to_owned()));
        if is_known { Ok(()) } else { Err(Code::AliasNotFound) }
    }

    /// The version that a rollback must move the alias to, or the refusal. A rollback forgets what
    /// came after its target. Deleted versions are skipped.
    fn alias_back_answer(&self, function: &str, name: &str) -> Result<i64, Code> {
        self.known_alias(function, name)?;
        let listed = self.numbers(&format!("function {function}"));
        let mut path: Vec<i64> = Vec::new();
        for (number, back) in &self.alias_moves[&(function.to_owned(), name.to_owned())] {
            match path.iter().rposition(|earlier| earlier == number) {
                _ if !listed.contains(number) => {}
                Some(at) if *back => path.truncate(at + 1),
                _ if path.last() == Some(number) => {}
                _ => path.push(*number),
            }
        }
        path.iter().rev().nth(1).copied().ok_or(Code::NothingToRollBackTo)
    }
}
