//! The built-in worker.
