//! Which releases expire to make room for a new one.

/// An active release as retention sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    pub id: i64,
    /// Tagged, or the release that live points at once the new release exists.
    pub protected: bool,
}

/// Too many active releases are protected: expiring the others does not make enough room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoRoom {
    pub bound: u32,
}

/// Returns the releases that expire when one more is created under `bound`, oldest unprotected
/// first.
///
/// `active` are the releases before the new one, oldest first. The new one itself never expires. A
/// plan that became smaller takes effect here, so more than one release may expire.
pub fn expiring(active: &[Candidate], bound: Option<u32>) -> Result<Vec<i64>, NoRoom> {
    let Some(bound) = bound else { return Ok(Vec::new()) };
    let excess = (active.len() + 1).saturating_sub(bound as usize);
    let expired: Vec<i64> =
        active.iter().filter(|release| !release.protected).take(excess).map(|release| release.id).collect();
    if expired.len() < excess && active.len() + 1 - expired.len() > bound as usize {
        Err(NoRoom { bound })
    } else {
        Ok(expired)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(active: &[(i64, bool)], bound: u32, expected: Result<Vec<i64>, NoRoom>) {
        let active: Vec<Candidate> = active.iter().map(|&(id, protected)| Candidate { id, protected }).collect();
        assert_eq!(expiring(&active, Some(bound)), expected);
    }

    #[test]
    fn the_oldest_unprotected_release_expires() {
        check(&[(1, false), (2, false)], 3, Ok(vec![]));
        check(&[(1, false), (2, false), (3, false)], 3, Ok(vec![1]));
        check(&[(1, true), (2, false), (3, false)], 3, Ok(vec![2]));
        check(&[(1, false), (2, false), (3, false), (4, false)], 3, Ok(vec![1, 2]));
    }

    #[test]
    fn fails_when_too_many_releases_are_protected() {
        check(&[(1, true), (2, true), (3, true)], 3, Err(NoRoom { bound: 3 }));
        check(&[(1, true), (2, true), (3, false), (4, true)], 3, Err(NoRoom { bound: 3 }));
    }
}
