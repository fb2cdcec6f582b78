//! The commands that can be typed on the screen, as far as their completion needs to know them.

/// A command of codeteam, or a part of one, with the options that it takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandVerb {
    /// Its name.
    pub name: String,
    /// Its long options, such as `--task`.
    pub options: Vec<String>,
    /// The commands below it.
    pub verbs: Vec<CommandVerb>,
}
