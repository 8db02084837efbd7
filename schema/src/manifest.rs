//! The `_manifest.json` of a dataset.
