//! Signatures of index files in minisign's format: Ed25519 over the BLAKE2b hash of the file.
//!
//! The trusted comment is signed too. It names the file, its channel and the serial, so that a
//! signed file cannot replace another one, nor an old file a newer one.

use std::fmt;
use std::io::{Cursor, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::str::FromStr;

use milepost_model::channel::{ChannelName, PackageName};

pub use crate::files::MAX_SIGNATURE_BYTES;

const SIGNATURE_BYTES: usize = 64;

/// Verifies a channel's signatures. Written in minisign's format: a line of 56 characters that
/// begins with `RW`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey(minisign::PublicKey);

/// The author's key. It never leaves the author's machine.
pub struct SecretKey {
    secret: minisign::SecretKey,
    public: PublicKey,
}

/// The signed statement about a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    pub package: PackageName,
    pub channel: ChannelName,
    /// `latest` or `all`.
    pub file: String,
    /// Increases with every write of the channel.
    pub serial: u64,
}

/// Why a signature proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    #[error("it is signed with key {0}")]
    OtherKey(String),
    #[error("it does not match the file")]
    Wrong,
    #[error("it is not a signature of a channel's file")]
    Unreadable,
}

#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("`{0}` is not a public key; use the line that begins with `RW`, or the `.pub` file")]
    NotPublic(String),
    #[error("`{0}` is not a secret key of Milepost or minisign; give the right file")]
    NotSecret(String),
    #[error("the key in `{0}` has a password; set `MILEPOST_KEY_PASSWORD`, or type it when asked")]
    NeedsPassword(String),
    #[error("wrong password for the key in `{0}`; try again")]
    WrongPassword(String),
    #[error("`{0}` already exists, and a lost key cannot be restored; choose another name")]
    Exists(String),
    #[error(
        "all users of this machine can read `{0}`; run `chmod 600` on it, and create a new key if others \
        may have read it"
    )]
    TooOpen(String),
    #[error("could not use the key file `{path}` ({source}); check its path and permissions")]
    File { path: String, source: std::io::Error },
    #[error("could not create a key: {0}")]
    Failed(String),
}

impl PublicKey {
    /// The key id that people compare: sixteen hex digits, as minisign shows them.
    pub fn id(&self) -> String {
        key_id(self.0.keynum())
    }

    /// Returns the statement of a signature, after verifying that this key signed exactly these
    /// bytes.
    pub fn verify(&self, bytes: &[u8], signature: &[u8]) -> Result<Statement, SignatureError> {
        let signature = read(signature)?;
        if signature.keynum() != self.0.keynum() {
            return Err(SignatureError::OtherKey(key_id(signature.keynum())));
        }
        let (quiet, output, allow_legacy) = (true, false, false);
        minisign::verify(&self.0, &signature, Cursor::new(bytes), quiet, output, allow_legacy)
            .map_err(|_| SignatureError::Wrong)?;
        statement(&signature).ok_or(SignatureError::Unreadable)
    }

    /// The text of the `.pub` file for readers of the channel.
    pub fn to_file(&self) -> String {
        format!("untrusted comment: milepost public key {}\n{self}\n", self.id())
    }
}

/// What a signature claims, without verification. Only for choosing the next serial.
pub(crate) fn claimed(signature: &[u8]) -> Option<Statement> {
    statement(&read(signature).ok()?)
}

fn read(signature: &[u8]) -> Result<minisign::SignatureBox, SignatureError> {
    if signature.len() as u64 > MAX_SIGNATURE_BYTES {
        return Err(SignatureError::Unreadable);
    }
    let text = std::str::from_utf8(signature).map_err(|_| SignatureError::Unreadable)?;
    // The crate (0.10) panics if the signature of the comment is too short.
    let comment = text.lines().nth(3).and_then(|line| data_encoding::BASE64.decode(line.trim().as_bytes()).ok());
    if comment.is_none_or(|bytes| bytes.len() != SIGNATURE_BYTES) {
        return Err(SignatureError::Unreadable);
    }
    minisign::SignatureBox::from_string(text).map_err(|_| SignatureError::Unreadable)
}

fn statement(signature: &minisign::SignatureBox) -> Option<Statement> {
    let comment = signature.trusted_comment().ok()?;
    let mut words = comment.split(' ');
    let mut word = |key: &str| words.next()?.strip_prefix(key)?.strip_prefix(':').map(str::to_owned);
    let package = word("package")?.parse().ok()?;
    let channel = word("channel")?.parse().ok()?;
    let file = word("file")?;
    let serial = word("serial")?.parse().ok()?;
    words.next().is_none().then_some(Statement { package, channel, file, serial })
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { package, channel, file, serial } = self;
        write!(f, "package:{package} channel:{channel} file:{file} serial:{serial}")
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.to_base64())
    }
}

/// Accepts the line itself, or the whole text of a `.pub` file.
impl FromStr for PublicKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
        let wrong = || KeyError::NotPublic(line.chars().take(60).collect());
        minisign::PublicKey::from_base64(line).map(Self).map_err(|_| wrong())
    }
}

impl serde::Serialize for PublicKey {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for PublicKey {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

impl SecretKey {
    /// Generates a key pair. Without a password the file contains the secret in the clear.
    pub fn generate(password: Option<&str>) -> Result<(Self, String), KeyError> {
        let failed = |error: minisign::PError| KeyError::Failed(error.to_string());
        let pair = match password {
            None => minisign::KeyPair::generate_unencrypted_keypair(),
            Some(password) => minisign::KeyPair::generate_encrypted_keypair(Some(password.to_owned())),
        };
        let pair = pair.map_err(failed)?;
        let public = PublicKey(pair.pk);
        let comment = format!("milepost secret key {}", public.id());
        let text = pair.sk.to_box(Some(&comment)).map_err(failed)?.into_string();
        let text = if text.ends_with('\n') { text } else { format!("{text}\n") };
        let key = Self::parse(&text, password, "the new key")?;
        Ok((key, text))
    }

    /// Generates a key pair and writes it: the secret readable only by its owner, and `{path}.pub`
    /// readable by all users. Files are never overwritten.
    pub fn create(path: &Path, password: Option<&str>) -> Result<Self, KeyError> {
        let (key, text) = Self::generate(password)?;
        let public = path.with_added_extension("pub");
        write_new(&public, 0o644, &key.public.to_file())?;
        if let Err(error) = write_new(path, 0o600, &text) {
            // Written just now by us, and useless without its secret.
            let _ = std::fs::remove_file(&public);
            return Err(error);
        }
        Ok(key)
    }

    /// Reads a key file. Rejects one that other users can read.
    pub fn load(path: &Path, password: Option<&str>) -> Result<Self, KeyError> {
        use std::os::unix::fs::PermissionsExt as _;
        let shown = path.display().to_string();
        let failed = |source| KeyError::File { path: shown.clone(), source };
        let meta = std::fs::metadata(path).map_err(failed)?;
        if meta.permissions().mode() & 0o077 != 0 {
            return Err(KeyError::TooOpen(shown));
        }
        if meta.len() > MAX_SIGNATURE_BYTES {
            return Err(KeyError::NotSecret(shown));
        }
        let text = std::fs::read_to_string(path).map_err(failed)?;
        Self::parse(&text, password, &shown)
    }

    fn parse(text: &str, password: Option<&str>, shown: &str) -> Result<Self, KeyError> {
        let not_secret = || KeyError::NotSecret(shown.to_owned());
        let boxed = || minisign::SecretKeyBox::from_string(text).map_err(|_| not_secret());
        let bytes = key_bytes(text);
        let secret = match bytes.get(KDF) {
            Some(b"Sc") => {
                let password = password.ok_or_else(|| KeyError::NeedsPassword(shown.to_owned()))?;
                // Always pass a password: without one, the crate would prompt on the terminal.
                let opened = boxed()?.into_secret_key(Some(password.to_owned()));
                opened.map_err(|_| KeyError::WrongPassword(shown.to_owned()))?
            }
            // `minisign -W` writes no checksum, which the crate does not support.
            Some([0, 0]) if bytes.get(CHECKSUM).is_some_and(|sum| sum.iter().all(|byte| *byte == 0)) => {
                minisign::SecretKey::from_bytes(&bytes).map_err(|_| not_secret())?
            }
            _ => boxed()?.into_unencrypted_secret_key().map_err(|_| not_secret())?,
        };
        let public = minisign::PublicKey::from_secret_key(&secret).map_err(|_| not_secret())?;
        let key = Self { secret, public: PublicKey(public) };
        // Checks that the two halves belong together. Otherwise its signatures could never be
        // verified.
        minisign::sign(Some(&key.public.0), &key.secret, Cursor::new(b""), None, None).map_err(|_| not_secret())?;
        Ok(key)
    }

    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// The text of a `.minisig` file.
    pub fn sign(&self, bytes: &[u8], statement: &Statement) -> Result<String, KeyError> {
        let comment = statement.to_string();
        let untrusted = format!("signature from milepost key {}", self.public.id());
        let signed =
            minisign::sign(Some(&self.public.0), &self.secret, Cursor::new(bytes), Some(&comment), Some(&untrusted));
        Ok(signed.map_err(|error| KeyError::Failed(error.to_string()))?.into_string())
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretKey").field("public", &self.public).finish_non_exhaustive()
    }
}

/// Offsets in a secret key of how it is protected and of its checksum. The layout: algorithm,
/// protection, kind of checksum, 48 bytes of salt and limits, key id, both halves, checksum.
const KDF: std::ops::Range<usize> = 2..4;
const CHECKSUM: std::ops::Range<usize> = 126..158;

fn key_bytes(text: &str) -> Vec<u8> {
    let line = text.lines().nth(1).unwrap_or_default().trim();
    data_encoding::BASE64.decode(line.as_bytes()).unwrap_or_default()
}

fn key_id(keynum: &[u8]) -> String {
    keynum.iter().rev().map(|byte| format!("{byte:02X}")).collect()
}

fn write_new(path: &Path, mode: u32, text: &str) -> Result<(), KeyError> {
    let opened = std::fs::File::options().write(true).create_new(true).mode(mode).open(path);
    let mut file = opened.map_err(|source| match source.kind() {
        std::io::ErrorKind::AlreadyExists => KeyError::Exists(path.display().to_string()),
        _ => KeyError::File { path: path.display().to_string(), source },
    })?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    written.map_err(|source| KeyError::File { path: path.display().to_string(), source })
}
