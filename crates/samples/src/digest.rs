//! Digests of samples.

use sha2::{Digest, Sha256};

/// Adds a text and its length to a hash.
pub(crate) fn text(hasher: &mut Sha256, text: &str) {
    hasher.update((text.len() as u64).to_le_bytes());
    hasher.update(text.as_bytes());
}
