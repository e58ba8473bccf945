use super::BUCKETS;

const WORDS: usize = BUCKETS.div_ceil(64);
/// A stored set begins with one of these.
const DENSE: u8 = 0;
const SPARSE: u8 = 1;

/// A set of buckets.
#[derive(Clone, PartialEq, Eq)]
pub struct BucketSet([u64; WORDS]);

/// Stored bytes that are not a set of buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a stored set of buckets")]
pub struct NotASet;

impl Default for BucketSet {
    fn default() -> Self {
        Self([0; WORDS])
    }
}

impl BucketSet {
    /// Ignores a number that is not a bucket.
    pub fn insert(&mut self, bucket: u16) {
        if usize::from(bucket) < BUCKETS {
            self.0[usize::from(bucket / 64)] |= 1 << (bucket % 64);
        }
    }

    pub fn contains(&self, bucket: u16) -> bool {
        usize::from(bucket) < BUCKETS && self.0[usize::from(bucket / 64)] >> (bucket % 64) & 1 == 1
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    pub fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    pub fn add(&mut self, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(other.0) {
            *word |= other;
        }
    }

    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        self.by_word(other, |word, other| word & !other)
    }

    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        self.by_word(other, |word, other| word & other)
    }

    fn by_word(&self, other: &Self, combine: impl Fn(u64, u64) -> u64) -> Self {
        let mut combined = Self::default();
        for ((word, mine), theirs) in combined.0.iter_mut().zip(self.0).zip(other.0) {
            *word = combine(mine, theirs);
        }
        combined
    }

    pub fn iter(&self) -> impl Iterator<Item = u16> + '_ {
        (0..BUCKETS as u16).filter(|bucket| self.contains(*bucket))
    }

    /// The shorter of two forms: a list of numbers, or a bit for each bucket.
    pub fn to_bytes(&self) -> Vec<u8> {
        let listed = self.len() as usize * 2;
        if listed < WORDS * 8 {
            let mut bytes = Vec::with_capacity(1 + listed);
            bytes.push(SPARSE);
            bytes.extend(self.iter().flat_map(u16::to_le_bytes));
            return bytes;
        }
        let mut bytes = Vec::with_capacity(1 + WORDS * 8);
        bytes.push(DENSE);
        bytes.extend(self.0.iter().flat_map(|word| word.to_le_bytes()));
        bytes
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Self, NotASet> {
        let (form, bytes) = bytes.split_first().ok_or(NotASet)?;
        let mut set = Self::default();
        match *form {
            SPARSE => {
                let (pairs, []) = bytes.as_chunks::<2>() else { return Err(NotASet) };
                for pair in pairs {
                    set.insert(
                        Some(u16::from_le_bytes(*pair))
                            .filter(|bucket| usize::from(*bucket) < BUCKETS)
                            .ok_or(NotASet)?,
                    );
                }
            }
            DENSE => {
                let (words, []) = bytes.as_chunks::<8>() else { return Err(NotASet) };
                let words: &[[u8; 8]; WORDS] = words.try_into().map_err(|_| NotASet)?;
                set.0 = words.map(u64::from_le_bytes);
                if set.0[WORDS - 1] >> (BUCKETS % 64) != 0 {
                    return Err(NotASet);
                }
            }
            _ => return Err(NotASet),
        }
        Ok(set)
    }
}

impl FromIterator<u16> for BucketSet {
    fn from_iter<I: IntoIterator<Item = u16>>(buckets: I) -> Self {
        let mut set = Self::default();
        for bucket in buckets {
            set.insert(bucket);
        }
        set
    }
}

impl std::fmt::Debug for BucketSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
