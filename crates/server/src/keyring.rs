//! The server's key: seals the values of secrets and gives them a digest that says nothing without it.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use chacha20poly1305::aead::{Aead, KeyInit};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use hmac::{Hmac, Mac};
use milepost_catalog::SealedSecret;
use milepost_model::{Digest, IdSource};
use sha2::Sha256;

const KEY_BYTES: usize = 32;
const NONCE_BYTES: usize = 24;

pub(crate) struct Keyring {
    cipher: XChaCha20Poly1305,
    /// Derived from the key, so that a fingerprint never shares a key with the cipher.
    fingerprint_key: [u8; KEY_BYTES],
    call_key: [u8; KEY_BYTES],
}

#[derive(Debug, thiserror::Error)]
pub enum KeyringError {
    #[error("could not read or make the key file `{path}`")]
    File { path: String, source: std::io::Error },
    #[error("the key file `{path}` is not 32 bytes long; put the right one back, secrets cannot be read without it")]
    Length { path: String },
    #[error("the key file `{path}` can be read by others; run `chmod 600 {path}`")]
    Open { path: String },
}

impl Keyring {
    /// Reads the key, or makes one that only its owner can read.
    pub(crate) fn open(path: &Path, ids: &dyn IdSource) -> Result<Self, KeyringError> {
        let name = || path.display().to_string();
        let failed = |source| KeyringError::File { path: name(), source };
        let bytes = match fs::read(path) {
            Ok(bytes) => {
                let mode = fs::metadata(path).map_err(failed)?.permissions().mode();
                if mode & 0o077 != 0 {
                    return Err(KeyringError::Open { path: name() });
                }
                bytes
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => make(path, ids).map_err(failed)?,
            Err(error) => return Err(failed(error)),
        };
        let key: [u8; KEY_BYTES] = bytes.try_into().map_err(|_| KeyringError::Length { path: name() })?;
        Ok(Self {
            cipher: XChaCha20Poly1305::new(&Key::from(key)),
            fingerprint_key: keyed(&key, b"milepost secret fingerprint"),
            call_key: keyed(&key, b"milepost call token"),
        })
    }

    /// A name for the key that says nothing about it.
    pub(crate) fn name(&self) -> String {
        Digest::from_bytes(keyed(&self.fingerprint_key, b"milepost key name")).short()
    }

    pub(crate) fn seal(&self, value: &str, ids: &dyn IdSource) -> Option<SealedSecret> {
        let mut nonce = [0u8; NONCE_BYTES];
        ids.fill(&mut nonce);
        let sealed = self.cipher.encrypt(&XNonce::from(nonce), value.as_bytes()).ok()?;
        let fingerprint = Digest::from_bytes(keyed(&self.fingerprint_key, value.as_bytes()));
        Some(SealedSecret { fingerprint, sealed: [nonce.as_slice(), &sealed].concat() })
    }

    /// The value of a secret, for the function that it is bound to. `None`: it was sealed under another key, or damaged.
    pub(crate) fn open_sealed(&self, sealed: &[u8]) -> Option<String> {
        let (nonce, sealed) = sealed.split_at_checked(NONCE_BYTES)?;
        let nonce: [u8; NONCE_BYTES] = nonce.try_into().ok()?;
        String::from_utf8(self.cipher.decrypt(&XNonce::from(nonce), sealed).ok()?).ok()
    }

    /// Proves that this server, or one that shares its key, wrote a call token.
    pub(crate) fn sign_call(&self, message: &str) -> Digest {
        Digest::from_bytes(keyed(&self.call_key, message.as_bytes()))
    }
}

#[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
fn keyed(key: &[u8], message: &[u8]) -> [u8; KEY_BYTES] {
    let mut mac = <Hmac<Sha256> as hmac::KeyInit>::new_from_slice(key).expect("any key length fits");
    mac.update(message);
    mac.finalize().into_bytes().into()
}

fn make(path: &Path, ids: &dyn IdSource) -> std::io::Result<Vec<u8>> {
    let mut key = vec![0u8; KEY_BYTES];
    ids.fill(&mut key);
    write_owner_only(path, &key)?;
    Ok(key)
}

/// Writes a file that only its owner can read, whole or not at all.
pub(crate) fn write_owner_only(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let staged = path.with_extension("new");
    // What a crash left behind may have another mode, which opening it would keep.
    match fs::remove_file(&staged) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&staged)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&staged, path)?;
    if let Some(folder) = path.parent() {
        fs::File::open(folder)?.sync_all()?;
    }
    Ok(())
}
