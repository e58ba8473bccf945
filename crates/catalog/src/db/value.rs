//! The four value types that both engines share. Times are milliseconds, flags are 0 and 1, JSON is
//! text.

use std::error::Error;
use std::fmt::Write;

use milepost_model::clock::from_millis;
use milepost_model::{Digest, Timestamp};
use tokio_postgres::types::{IsNull, ToSql, Type, private::BytesMut, to_sql_checked};

use crate::error::{CatalogError, Result};
use crate::words::Word;

#[derive(Debug, Clone, PartialEq)]
pub enum Val {
    Null,
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
}

impl From<i64> for Val {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<bool> for Val {
    fn from(value: bool) -> Self {
        Self::Int(i64::from(value))
    }
}

impl From<&str> for Val {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Val {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<Vec<u8>> for Val {
    fn from(value: Vec<u8>) -> Self {
        Self::Bytes(value)
    }
}

impl From<&Digest> for Val {
    fn from(value: &Digest) -> Self {
        Self::Bytes(value.as_bytes().to_vec())
    }
}

impl From<Timestamp> for Val {
    fn from(value: Timestamp) -> Self {
        Self::Int(value.as_millisecond())
    }
}

impl<T: Into<Val>> From<Option<T>> for Val {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl ToSql for Val {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> std::result::Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(value) if *ty == Type::INT4 => i32::try_from(*value)?.to_sql(ty, out),
            Self::Int(value) => value.to_sql(ty, out),
            Self::Text(value) => value.to_sql(ty, out),
            Self::Bytes(value) => value.to_sql(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// One result row, read by position.
#[derive(Debug, Clone)]
pub struct Row(pub(super) Vec<Val>);

impl Row {
    fn at(&self, index: usize) -> Result<&Val> {
        self.0.get(index).ok_or_else(|| CatalogError::inconsistent(format!("a row has no column {index}")))
    }

    pub fn int(&self, index: usize) -> Result<i64> {
        self.opt_int(index)?.ok_or_else(|| CatalogError::inconsistent(format!("column {index} is empty")))
    }

    pub fn opt_int(&self, index: usize) -> Result<Option<i64>> {
        match self.at(index)? {
            Val::Null => Ok(None),
            Val::Int(value) => Ok(Some(*value)),
            other => Err(wrong(index, "a number", other)),
        }
    }

    pub fn bool(&self, index: usize) -> Result<bool> {
        Ok(self.int(index)? != 0)
    }

    pub fn time(&self, index: usize) -> Result<Timestamp> {
        Ok(from_millis(self.int(index)?))
    }

    pub fn opt_time(&self, index: usize) -> Result<Option<Timestamp>> {
        Ok(self.opt_int(index)?.map(from_millis))
    }

    pub fn text(&self, index: usize) -> Result<String> {
        self.opt_text(index)?.ok_or_else(|| CatalogError::inconsistent(format!("column {index} is empty")))
    }

    pub fn opt_text(&self, index: usize) -> Result<Option<String>> {
        match self.at(index)? {
            Val::Null => Ok(None),
            Val::Text(value) => Ok(Some(value.clone())),
            other => Err(wrong(index, "text", other)),
        }
    }

    pub fn opt_bytes(&self, index: usize) -> Result<Option<Vec<u8>>> {
        match self.at(index)? {
            Val::Null => Ok(None),
            Val::Bytes(value) => Ok(Some(value.clone())),
            other => Err(wrong(index, "bytes", other)),
        }
    }

    pub fn digest(&self, index: usize) -> Result<Digest> {
        let bytes = self.opt_bytes(index)?.unwrap_or_default();
        Digest::try_from(bytes.as_slice()).map_err(|error| CatalogError::inconsistent(error.to_string()))
    }

    pub fn opt_digest(&self, index: usize) -> Result<Option<Digest>> {
        if self.opt_bytes(index)?.is_none() { Ok(None) } else { self.digest(index).map(Some) }
    }

    /// Parses a text column into one of our own types.
    pub fn parse<T: std::str::FromStr<Err: std::fmt::Display>>(&self, index: usize) -> Result<T> {
        let text = self.text(index)?;
        text.parse().map_err(|error| CatalogError::inconsistent(format!("column {index} holds `{text}`: {error}")))
    }

    pub fn opt_parse<T: std::str::FromStr<Err: std::fmt::Display>>(&self, index: usize) -> Result<Option<T>> {
        if self.opt_text(index)?.is_none() { Ok(None) } else { self.parse(index).map(Some) }
    }

    /// Reads a column that holds one word of a fixed set. `column` is its table and name, for the
    /// error about any other word.
    pub(crate) fn word<T: Word>(&self, index: usize, column: &'static str) -> Result<T> {
        let value = self.text(index)?;
        T::from_word(&value).ok_or(CatalogError::UnknownWord { column, value })
    }

    pub fn opt_json<T: serde::de::DeserializeOwned>(&self, index: usize) -> Result<Option<T>> {
        let Some(text) = self.opt_text(index)? else { return Ok(None) };
        serde_json::from_str(&text)
            .map(Some)
            .map_err(|error| CatalogError::inconsistent(format!("column {index}: {error}")))
    }
}

fn wrong(index: usize, expected: &str, found: &Val) -> CatalogError {
    let kind = match found {
        Val::Null => "nothing",
        Val::Int(_) => "a number",
        Val::Text(_) => "text",
        Val::Bytes(_) => "bytes",
    };
    CatalogError::inconsistent(format!("column {index} holds {kind}, expected {expected}"))
}

/// Parameters of a statement with many rows: `($1, $2), ($3, $4)`. Without brackets for one column.
pub fn placeholders(rows: usize, columns: usize) -> String {
    let mut text = String::new();
    for row in 0..rows {
        text.push_str(if row == 0 { "" } else { ", " });
        if columns > 1 {
            text.push('(');
        }
        for column in 0..columns {
            let _ = write!(text, "{}${}", if column == 0 { "" } else { ", " }, row * columns + column + 1);
        }
        if columns > 1 {
            text.push(')');
        }
    }
    text
}

/// Rows of a `VALUES` list whose types PostgreSQL cannot infer:
/// `(CAST($1 AS TEXT), CAST($2 AS BIGINT)), …`. The columns are called `column1`, `column2` on both
/// engines.
pub fn typed_placeholders(rows: usize, types: &[&str]) -> String {
    let mut text = String::new();
    for row in 0..rows {
        text.push_str(if row == 0 { "(" } else { "), (" });
        for (column, name) in types.iter().enumerate() {
            let comma = if column == 0 { "" } else { ", " };
            let _ = write!(text, "{comma}CAST(${} AS {name})", row * types.len() + column + 1);
        }
    }
    text.push(')');
    text
}
