//! The stored form. The table is part of it: a split that followed others cannot be made again from
//! its weights.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::table::Table;
use super::{Arm, Salt, Split, SplitError, buckets_of, check};

/// Incremented when the meaning of a stored split changes.
const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    format: u32,
    arms: Vec<Arm>,
    salt: Salt,
    /// Runs of an arm and a length, in the salt's order.
    table: Vec<(u8, u16)>,
}

impl Serialize for Split {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let table = self.table.runs(&self.salt);
        Stored { format: FORMAT, arms: self.arms.clone(), salt: self.salt, table }.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Split {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let stored = Stored::deserialize(from)?;
        if stored.format != FORMAT {
            return Err(serde::de::Error::custom(format!(
                "a split of format {} is newer than this server",
                stored.format
            )));
        }
        stored.into_split().map_err(serde::de::Error::custom)
    }
}

impl Stored {
    fn into_split(self) -> Result<Split, SplitError> {
        check(&self.arms)?;
        let table = Table::from_runs(&self.salt, &self.table, &buckets_of(&self.arms))?;
        Ok(Split { arms: self.arms, salt: self.salt, table })
    }
}
