//! What keeps an OpenStack client from deleting or changing a function.

use std::fmt;

use crate::error::Result;

/// Something that is not deleted or changed because it is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum V1Kept {
    Function,
    FunctionVersion,
}

/// What uses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum V1Holder {
    /// An unfinished job.
    Job,
    Webhook,
    Alias,
    /// An execution that has not ended.
    Execution,
}

/// A rejected delete or change, with everything that blocks it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct V1Held {
    pub kept: V1Kept,
    /// Each holder with its name, in the order in which the interface checks their kinds.
    pub by: Vec<(V1Holder, String)>,
}

impl V1Held {
    pub(super) fn of(kept: V1Kept) -> Self {
        Self { kept, by: Vec::new() }
    }

    pub(super) fn by(&mut self, holder: V1Holder, names: impl IntoIterator<Item = String>) {
        self.by.extend(names.into_iter().map(|name| (holder, name)));
    }

    /// Rejects the request unless nothing was found.
    pub(super) fn refuse(self) -> Result<()> {
        if self.by.is_empty() { Ok(()) } else { Err(Box::new(self).into()) }
    }
}

/// For logs. The interface has its own phrases.
impl fmt::Display for V1Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is in use by {:?}", self.kept, self.by)
    }
}

impl std::error::Error for V1Held {}
