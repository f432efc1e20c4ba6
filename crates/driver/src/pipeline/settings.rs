//! The digest of the settings that an artifact was made with.

use strait_container::{Digest, sha256};

use crate::{config::Loaded, stop::Stop};

use super::given;

/// Computes the digest of all settings that affect a target's artifact. These are all keys except those for paths, and
/// also the scales and zero points that a calling program sets.
pub(super) fn settings_digest(loaded: &Loaded, target: &str) -> Result<Digest, Stop> {
    let mut settings = loaded.settings_for(target);
    if let (false, Some(keys)) = (loaded.given.is_empty(), settings.as_object_mut()) {
        keys.insert("given".into(), loaded.given.iter().map(given::settings).collect());
    }
    let settings = serde_json::to_vec(&settings).map_err(|error| Stop::Defect(error.to_string()))?;
    Ok(sha256(&settings))
}
