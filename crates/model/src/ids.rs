//! Random ids of changes (uids) and releases. The source is passed in, so that tests are
//! reproducible.

use std::sync::Mutex;

/// Consonants only: ids are read aloud and typed, and must not spell words.
const LETTERS: &[u8; 20] = b"bcdfghjklmnpqrstvwxz";
/// Six characters give 64 million ids per app; the catalog draws another when one is taken.
pub const ID_LENGTH: usize = 6;

/// The source of randomness. Called inside a change, so it must not block.
pub trait IdSource: Send + Sync + 'static {
    fn fill(&self, bytes: &mut [u8]);

    /// Returns a candidate; the caller checks that it is not taken.
    fn short_id(&self) -> String {
        let mut bytes = [0u8; ID_LENGTH];
        self.fill(&mut bytes);
        bytes.iter().map(|byte| LETTERS[usize::from(*byte) % LETTERS.len()] as char).collect()
    }
}

pub struct OsIds;

impl IdSource for OsIds {
    #[expect(clippy::expect_used, reason = "a machine without randomness cannot make names or keys; stopping is right")]
    fn fill(&self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("the operating system gives random bytes");
    }
}

/// Reproducible ids for tests (SplitMix64).
pub struct SeededIds(Mutex<u64>);

impl SeededIds {
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new(seed))
    }
}

impl IdSource for SeededIds {
    fn fill(&self, bytes: &mut [u8]) {
        let mut state = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for byte in bytes {
            *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = *state;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            *byte = ((mixed ^ (mixed >> 31)) & 0xff) as u8;
        }
    }
}
