//! Outlines, the graph of references and the map, on sample projects and on made ones.

mod folder;
mod graph;
mod hostile;
mod index;
mod samples;
