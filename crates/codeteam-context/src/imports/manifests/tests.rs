//! Manifests as people write them.
