//! The chain of an app's events: each digest covers the one before, so that two histories with the
//! same digest at a number are the same up to that number. See `docs/decisions/016-one-history.md`.

use crate::clock::Timestamp;
use crate::digest::Digest;

/// Begins what is hashed. Another form needs another word.
const FORM: &[u8] = b"milepost event 1\n";

/// One event as it is stored.
#[derive(Debug, Clone, Copy)]
pub struct Link<'a> {
    pub app_id: i64,
    pub number: i64,
    pub at: Timestamp,
    pub actor: &'a str,
    pub kind: &'a str,
    pub subject: &'a str,
    /// JSON, as text.
    pub before: Option<&'a str>,
    pub after: Option<&'a str>,
}

/// The digest of an event that follows the one with digest `previous`.
pub fn extend(previous: Option<&Digest>, link: &Link<'_>) -> Digest {
    let mut bytes = Vec::with_capacity(512);
    bytes.extend_from_slice(FORM);
    bytes.extend_from_slice(previous.map_or(&[0; 32][..], |digest| digest.as_bytes()));
    for number in [link.app_id, link.number, link.at.as_millisecond()] {
        bytes.extend_from_slice(&number.to_be_bytes());
    }
    for text in [Some(link.actor), Some(link.kind), Some(link.subject), link.before, link.after] {
        // With lengths, so that no text can run into the next.
        bytes.push(u8::from(text.is_some()));
        bytes.extend_from_slice(&(text.map_or(0, str::len) as u64).to_be_bytes());
        bytes.extend_from_slice(text.unwrap_or_default().as_bytes());
    }
    Digest::of(&bytes)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::clock::from_millis;

    const LINK: Link<'static> = Link {
        app_id: 1,
        number: 2,
        at: Timestamp::UNIX_EPOCH,
        actor: "ann",
        kind: "live.moved",
        subject: "live",
        before: None,
        after: Some("{}"),
    };

    #[test]
    fn every_part_and_everything_before_counts() {
        let first = Digest::of(b"first");
        let others = [
            Link { app_id: 2, ..LINK },
            Link { number: 3, ..LINK },
            Link { at: from_millis(1), ..LINK },
            Link { actor: "annl", kind: "ive.moved", ..LINK },
            Link { subject: "", ..LINK },
            Link { before: Some(""), ..LINK },
            Link { before: Some("{}"), after: None, ..LINK },
        ];
        let mut seen: HashSet<Digest> = others.iter().map(|link| extend(None, link)).collect();
        seen.extend([extend(None, &LINK), extend(Some(&first), &LINK), extend(Some(&extend(None, &LINK)), &LINK)]);
        assert_eq!(seen.len(), others.len() + 3);
    }

    /// Digests are stored, so they must never change.
    #[test]
    fn the_form_stays() {
        assert_eq!(extend(None, &LINK).hex(), "dc900b2c596ac6324b382a1fb4d28de87ed626c8d31088ca29ea1fde3a1a5763");
    }
}
