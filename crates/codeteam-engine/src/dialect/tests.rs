//! What real CLIs have printed, folded: the recordings of each version are in `recorded/`.
