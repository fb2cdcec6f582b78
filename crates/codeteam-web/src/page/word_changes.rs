//! Which words of a line were changed, where a removed line stands beside the one in its place.

use std::ops::Range;

/// Longer lines are not compared: their words cost more than they tell.
const LONGEST: usize = 500;

/// Returns the ranges of both lines that the other one does not have. Both are empty where too little
/// is the same for the difference to be of use.
pub(super) fn changed_words(old: &str, new: &str) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    if old.len() > LONGEST || new.len() > LONGEST || old == new {
        return (Vec::new(), Vec::new());
    }
    let (old_tokens, new_tokens) = (split_tokens(old), split_tokens(new));
    let (old_same, new_same) = common_tokens(old, &old_tokens, new, &new_tokens);
    let same: usize = old_tokens
        .iter()
        .zip(&old_same)
        .filter(|(token, same)| **same && !old[(*token).clone()].trim().is_empty())
        .map(|(token, _)| token.len())
        .sum();
    // Lines that share a bracket or two are different lines.
    if same * 4 < old.trim().len().min(new.trim().len()) {
        return (Vec::new(), Vec::new());
    }
    (
        join_changed(&old_tokens, &old_same),
        join_changed(&new_tokens, &new_same),
    )
}

/// Cuts a line into words, runs of blanks and single signs.
fn split_tokens(line: &str) -> Vec<Range<usize>> {
    let class = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => 0,
        c if c.is_whitespace() => 1,
        _ => 2,
    };
    let mut tokens: Vec<Range<usize>> = Vec::new();
    let mut last = None;
    for (at, c) in line.char_indices() {
        let (own, end) = (class(c), at + c.len_utf8());
        match tokens.last_mut() {
            Some(token) if last == Some(own) && own != 2 => token.end = end,
            _ => tokens.push(at..end),
        }
        last = Some(own);
    }
    tokens
}

/// Returns which tokens belong to a longest common sequence of both lines.
fn common_tokens(
    old: &str,
    old_tokens: &[Range<usize>],
    new: &str,
    new_tokens: &[Range<usize>],
) -> (Vec<bool>, Vec<bool>) {
    let (rows, columns) = (old_tokens.len(), new_tokens.len());
    let same =
        |row: usize, column: usize| old[old_tokens[row].clone()] == new[new_tokens[column].clone()];
    // The length of the longest common sequence of what begins at a row and a column.
    let mut lengths = vec![0_u16; (rows + 1) * (columns + 1)];
    let at = |row: usize, column: usize| row * (columns + 1) + column;
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            lengths[at(row, column)] = if same(row, column) {
                lengths[at(row + 1, column + 1)] + 1
            } else {
                lengths[at(row + 1, column)].max(lengths[at(row, column + 1)])
            };
        }
    }
    let (mut old_same, mut new_same) = (vec![false; rows], vec![false; columns]);
    let (mut row, mut column) = (0, 0);
    while row < rows && column < columns {
        if same(row, column) {
            old_same[row] = true;
            new_same[column] = true;
            row += 1;
            column += 1;
        } else if lengths[at(row + 1, column)] >= lengths[at(row, column + 1)] {
            row += 1;
        } else {
            column += 1;
        }
    }
    (old_same, new_same)
}

/// Joins the tokens that are not common into ranges.
fn join_changed(tokens: &[Range<usize>], same: &[bool]) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for (token, _) in tokens.iter().zip(same).filter(|(_, same)| !**same) {
        match ranges.last_mut() {
            Some(last) if last.end == token.start => last.end = token.end,
            _ => ranges.push(token.clone()),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(old: &str, new: &str, expected: (&[&str], &[&str])) {
        let (in_old, in_new) = changed_words(old, new);
        let texts = |line: &str, ranges: Vec<Range<usize>>| -> Vec<String> {
            ranges
                .into_iter()
                .map(|range| line[range].to_owned())
                .collect()
        };
        assert_eq!(texts(old, in_old), expected.0);
        assert_eq!(texts(new, in_new), expected.1);
    }

    #[test]
    fn the_words_that_differ_are_found() {
        check("let x = one(a);", "let x = two(a);", (&["one"], &["two"]));
        check("f(a)", "f(a, b)", (&[], &[", b"]));
        check("größe = 1", "größe = 22", (&["1"], &["22"]));
    }

    #[test]
    fn lines_with_little_in_common_are_not_marked() {
        check("import json", "text = open(path).read()", (&[], &[]));
        let long = "a ".repeat(400);
        check(&long, &format!("{long}b"), (&[], &[]));
    }
}
