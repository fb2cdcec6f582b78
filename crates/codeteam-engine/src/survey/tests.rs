//! Surveys of small trees.
