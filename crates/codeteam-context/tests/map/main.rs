//! Outlines, the graph of references and the map, on sample projects and on made ones.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod folder;
mod graph;
mod hostile;
mod index;
mod samples;
