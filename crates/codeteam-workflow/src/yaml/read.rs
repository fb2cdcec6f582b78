//! Parses a text into a tree. All sizes are bounded, because files that people write are small.

use std::collections::BTreeMap;

use granit_parser::{Event, Options, Parser, ScalarStyle, Span, options};

use super::node::{YamlKey, YamlNode, YamlScalar, YamlValue};
use super::source::{Diagnostic, SourceFiles, SourcePosition};

/// The largest number of values in a file.
const MAX_NODES: usize = 200_000;
/// The largest number of values, and of bytes of text, that anchors and aliases may add to a file.
const MAX_REPEATED: usize = 20_000;
const MAX_REPEATED_BYTES: usize = 1 << 20;
/// The deepest nesting of values.
const MAX_DEPTH: usize = 64;
/// The largest size of a file.
const MAX_BYTES: usize = 4 << 20;

/// Reads the single document of a file. An empty file gives an empty mapping.
pub fn read(sources: &mut SourceFiles, file: &str, text: &str) -> Result<YamlNode, Diagnostic> {
    let too_long = text.len() > MAX_BYTES;
    let source = sources.add(file, if too_long { "" } else { text });
    let whole = SourcePosition {
        source,
        ..SourcePosition::NONE
    };
    if too_long {
        let message = format!("the file is longer than {} MiB", MAX_BYTES >> 20);
        return Err(Diagnostic::at(whole, message));
    }
    let limits: Options = options! {
        emit_comments: false,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    let mut reader = YamlReader {
        parser: Parser::new_from_str_with_options(text.trim_start_matches('\u{feff}'), limits),
        source,
        nodes: 0,
        repeated: TreeSize::default(),
        anchors: BTreeMap::new(),
        depth: 0,
    };
    let mut document = None;
    while let Some((event, span)) = reader.next()? {
        match event {
            Event::StreamEnd => break,
            Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd => {}
            _ if document.is_some() => {
                let place = reader.place(span);
                return Err(Diagnostic::at(place, "a second document begins here")
                    .with_hint("one file holds one document"));
            }
            event => document = Some(reader.node(event, span)?),
        }
    }
    let document = document.filter(|node| !node.is_null());
    Ok(document.unwrap_or_else(|| YamlNode::empty(whole)))
}

struct YamlReader<'a> {
    parser: Parser<'a, granit_parser::StrInput<'a>>,
    source: u32,
    nodes: usize,
    repeated: TreeSize,
    anchors: BTreeMap<usize, YamlNode>,
    depth: usize,
}

impl<'a> YamlReader<'a> {
    fn next(&mut self) -> Result<Option<(Event<'a>, Span)>, Diagnostic> {
        match self.parser.next_event() {
            None => Ok(None),
            Some(Ok(found)) => Ok(Some(found)),
            Some(Err(error)) => {
                let marker = error.marker();
                let place = self.at(marker.line(), marker.col());
                Err(Diagnostic::at(
                    place,
                    format!("invalid YAML: {}", error.info()),
                ))
            }
        }
    }

    fn at(&self, line: usize, column: usize) -> SourcePosition {
        SourcePosition {
            source: self.source,
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(column + 1).unwrap_or(u32::MAX),
        }
    }

    fn place(&self, span: Span) -> SourcePosition {
        self.at(span.start.line(), span.start.col())
    }

    fn count(&mut self, place: SourcePosition) -> Result<(), Diagnostic> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            let message = format!("the file has more than {MAX_NODES} values");
            return Err(Diagnostic::at(place, message).with_hint("divide it into several"));
        }
        Ok(())
    }

    /// Counts a tree that is about to be stored for an anchor or repeated by an alias.
    fn repeat(&mut self, node: &YamlNode, place: SourcePosition) -> Result<(), Diagnostic> {
        self.repeated.add(node);
        let TreeSize { nodes, bytes } = self.repeated;
        if nodes > MAX_REPEATED || bytes > MAX_REPEATED_BYTES {
            let message = "anchors (`&name`) and aliases (`*name`) repeat too much";
            let hint = format!(
                "together at most {MAX_REPEATED} values and {} MiB; say it in full, or less often",
                MAX_REPEATED_BYTES >> 20
            );
            return Err(Diagnostic::at(place, message).with_hint(hint));
        }
        Ok(())
    }

    fn node(&mut self, event: Event<'a>, span: Span) -> Result<YamlNode, Diagnostic> {
        let place = self.place(span);
        self.count(place)?;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Diagnostic::at(place, "this is nested too deeply"));
        }
        let (anchor, value) = match event {
            Event::Alias(id) => {
                let Some(known) = self.anchors.remove(&id) else {
                    return Err(Diagnostic::at(
                        place,
                        "an alias cannot be part of what it names",
                    ));
                };
                self.repeat(&known, place)?;
                let value = known.value.clone();
                self.anchors.insert(id, known);
                self.depth -= 1;
                return Ok(YamlNode::at(place, value));
            }
            Event::Scalar(text, style, anchor, tag) => {
                let is_text = tag.is_some_and(|tag| tag.is_yaml_core_schema_tag("str"));
                let scalar = YamlScalar {
                    text: text.into_owned(),
                    plain: style == ScalarStyle::Plain && !is_text,
                };
                (anchor, YamlValue::Scalar(scalar))
            }
            Event::SequenceStart(_, anchor, _) => (anchor, YamlValue::List(self.list()?)),
            Event::MappingStart(_, anchor, _) => (anchor, YamlValue::Map(self.map()?)),
            _ => return Err(Diagnostic::at(place, "invalid YAML")),
        };
        self.depth -= 1;
        let node = YamlNode::at(place, value);
        if anchor != 0 {
            self.repeat(&node, place)?;
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn list(&mut self) -> Result<Vec<YamlNode>, Diagnostic> {
        let mut list = Vec::new();
        while let Some((event, span)) = self.next()? {
            if event == Event::SequenceEnd {
                break;
            }
            list.push(self.node(event, span)?);
        }
        Ok(list)
    }

    fn map(&mut self) -> Result<Vec<(YamlKey, YamlNode)>, Diagnostic> {
        let mut entries: Vec<(YamlKey, YamlNode)> = Vec::new();
        let mut inherited: Vec<(YamlKey, YamlNode)> = Vec::new();
        let mut names = std::collections::BTreeSet::new();
        while let Some((event, span)) = self.next()? {
            if event == Event::MappingEnd {
                break;
            }
            let place = self.place(span);
            let key = self.node(event, span)?;
            let YamlValue::Scalar(scalar) = key.value else {
                return Err(Diagnostic::at(place, "a key must be a single word or text"));
            };
            let Some((event, span)) = self.next()? else {
                return Err(Diagnostic::at(place, "the value of this key is missing"));
            };
            let node = self.node(event, span)?;
            let name = scalar.text;
            if name == "<<" && scalar.plain {
                inherited.extend(merged(&node)?);
                continue;
            }
            if !names.insert(name.clone()) {
                return Err(Diagnostic::at(place, format!("`{name}` occurs here twice")));
            }
            entries.push((YamlKey { name, place }, node));
        }
        // The mapping's own entries take precedence over those that `<<` brings in.
        for (key, node) in inherited {
            if names.insert(key.name.clone()) {
                entries.push((key, node));
            }
        }
        Ok(entries)
    }
}

/// Returns what `<<` brings in: one mapping, or several, of which the first takes precedence.
fn merged(node: &YamlNode) -> Result<Vec<(YamlKey, YamlNode)>, Diagnostic> {
    match &node.value {
        YamlValue::Map(entries) => Ok(entries.clone()),
        YamlValue::List(list) => {
            let maps = list.iter().map(|node| match &node.value {
                YamlValue::Map(entries) => Ok(entries.clone()),
                _ => Err(Diagnostic::at(node.place, "`<<` needs mappings")),
            });
            Ok(maps.collect::<Result<Vec<_>, _>>()?.concat())
        }
        YamlValue::Scalar(_) => Err(Diagnostic::at(node.place, "`<<` needs a mapping")),
    }
}

/// The size of a tree.
#[derive(Clone, Copy, Default)]
struct TreeSize {
    nodes: usize,
    bytes: usize,
}

impl TreeSize {
    fn add(&mut self, node: &YamlNode) {
        self.nodes += 1;
        match &node.value {
            YamlValue::Scalar(scalar) => self.bytes += scalar.text.len(),
            YamlValue::List(list) => list.iter().for_each(|inner| self.add(inner)),
            YamlValue::Map(entries) => {
                for (key, inner) in entries {
                    self.bytes += key.name.len();
                    self.add(inner);
                }
            }
        }
    }
}
