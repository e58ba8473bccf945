//! Channels: semantic versions, the two documents of a channel, and the decisions of a policy.
//!
//! Everything here is a pure function: the publisher, the watcher, `upgrade --plan` and the tests
//! call the same code. `docs/decisions/009-channels.md` has the rules and the reasons for them.

pub mod artifact;
pub mod decide;
pub mod forecast;
pub mod index;
pub mod name;
pub mod opening;
pub mod order;
pub mod policy;
mod publication;
pub mod publish;
mod read;
pub mod semver;
pub mod tag;
mod time;
pub mod unpublish;
pub mod windows;

#[cfg(test)]
mod tests;

pub use artifact::Artifact;
pub use decide::{Brakes, Decision, Fate, Hold, HoldUntil, Outlook, Situation, Stay, Why, decide};
pub use forecast::{Forecast, forecast};
pub use index::{All, Entry, IndexError, Latest};
pub use name::{ArtifactId, ChannelName, PackageName};
pub use order::cmp_channel;
pub use policy::{Policy, Step, When};
pub use publication::{Publication, PublicationKind};
pub use publish::{PublishRefusal, Publishing, publish};
pub use semver::{SemVer, SemVerError};
pub use unpublish::{UnpublishRefusal, Unpublished, unpublish};
pub use windows::{Window, Windows, WindowsText};
