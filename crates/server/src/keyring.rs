//! The server's key. Seals secret values and derives fingerprints that reveal nothing without the
//! key.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use chacha20poly1305::aead::{Aead, KeyInit};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use hmac::{Hmac, Mac};
use milepost_catalog::SealedSecret;
use milepost_model::{AppName, Digest, IdSource, UnitName};
use sha2::Sha256;

const KEY_BYTES: usize = 32;
const NONCE_BYTES: usize = 24;

pub(crate) struct Keyring {
    cipher: XChaCha20Poly1305,
    /// Derived from the key, so that fingerprints and the cipher never share a key.
    fingerprint_key: [u8; KEY_BYTES],
    /// For fingerprints of earlier releases, which cover the value alone. See docs/decisions/013.
    former_fingerprint_key: [u8; KEY_BYTES],
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
    /// Reads the key, or creates one that only its owner can read.
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
            fingerprint_key: keyed(&key, b"milepost secret fingerprint of app, name and value"),
            former_fingerprint_key: keyed(&key, b"milepost secret fingerprint"),
            call_key: keyed(&key, b"milepost call token"),
        })
    }

    /// A name for the key that reveals nothing about it.
    pub(crate) fn name(&self) -> String {
        Digest::from_bytes(keyed(&self.former_fingerprint_key, b"milepost key name")).short()
    }

    pub(crate) fn seal_secret(
        &self,
        app: &AppName,
        name: &UnitName,
        value: &str,
        ids: &dyn IdSource,
    ) -> Option<SealedSecret> {
        Some(SealedSecret {
            fingerprint: self.fingerprint(app, name, value),
            former_fingerprint: Digest::from_bytes(keyed(&self.former_fingerprint_key, value.as_bytes())),
            sealed: self.seal(value, ids)?,
        })
    }

    pub(crate) fn seal(&self, value: &str, ids: &dyn IdSource) -> Option<Vec<u8>> {
        let mut nonce = [0u8; NONCE_BYTES];
        ids.fill(&mut nonce);
        let sealed = self.cipher.encrypt(&XNonce::from(nonce), value.as_bytes()).ok()?;
        Some([nonce.as_slice(), &sealed].concat())
    }

    /// Equal for equal values of the same secret of the same app, unrelated otherwise.
    pub(crate) fn fingerprint(&self, app: &AppName, name: &UnitName, value: &str) -> Digest {
        self.bound(b"value", app, name, value.as_bytes())
    }

    /// The fingerprint of a version whose value is gone. Bound to app and name like any other, but
    /// derived from the former fingerprint.
    pub(crate) fn fingerprint_without_value(&self, app: &AppName, name: &UnitName, former: &Digest) -> Digest {
        self.bound(b"former digest", app, name, former.as_bytes())
    }

    /// Prefixes every part but the last with its length, so that different parts never give the
    /// same message.
    fn bound(&self, of: &[u8], app: &AppName, name: &UnitName, last: &[u8]) -> Digest {
        let mut message = Vec::with_capacity(last.len() + 256);
        for part in [of, app.as_str().as_bytes(), name.as_str().as_bytes()] {
            message.extend_from_slice(&(part.len() as u64).to_le_bytes());
            message.extend_from_slice(part);
        }
        message.extend_from_slice(last);
        Digest::from_bytes(keyed(&self.fingerprint_key, &message))
    }

    /// Unseals the value of a secret for the function it is bound to. Returns `None` if it was
    /// sealed with another key or is corrupt.
    pub(crate) fn open_sealed(&self, sealed: &[u8]) -> Option<String> {
        let (nonce, sealed) = sealed.split_at_checked(NONCE_BYTES)?;
        let nonce: [u8; NONCE_BYTES] = nonce.try_into().ok()?;
        String::from_utf8(self.cipher.decrypt(&XNonce::from(nonce), sealed).ok()?).ok()
    }

    /// Signs a call token. Proves that this server, or one that shares its key, wrote it.
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

/// Atomically writes a file that only its owner can read.
pub(crate) fn write_owner_only(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let staged = path.with_extension("new");
    // A file left by a crash may have another mode, which opening it would keep.
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

#[cfg(test)]
mod tests {
    use milepost_model::SeededIds;

    use super::*;

    #[test]
    fn fingerprints_match_only_within_one_secret() {
        let folder = tempfile::tempdir().expect("a folder");
        let ring = Keyring::open(&folder.path().join("secret.key"), &SeededIds::new(1)).expect("a key");
        let of = |app: &str, name: &str, value: &str| {
            let (app, name) = (app.parse().expect("an app"), name.parse().expect("a name"));
            ring.fingerprint(&app, &name, value)
        };
        assert_eq!(of("shop", "PIN", "0137"), of("shop", "PIN", "0137"));
        // Parts that concatenate to the same bytes give different fingerprints.
        for other in [of("shop", "PIN", "0138"), of("evil", "PIN", "0137"), of("shop", "PIM", "0137")] {
            assert_ne!(of("shop", "PIN", "0137"), other);
        }
        assert_ne!(of("shop", "PIN", "0137"), of("shop", "PIN0", "137"));
        assert_ne!(of("shopp", "IN", "0137"), of("shop", "pIN", "0137"));
    }
}
