//! Refuses keys and words of older tables. Each error names the line and says how the key or word is written now.

use super::check::{CODE, in_order};
use strait_document::{Diagnostic, Diagnostics, Entry, KeyPath, Node, Table, Value};

/// One line for each key of older tables that is written in another way now. The line has the kind of the row, the old
/// key and, after a colon, the new way. If only one value of the key has changed, the value follows the key.
const MOVED: &str = r#"
op left_shift: recipe = { lookup = { left_shift = 15 } }, and alike for the other recipes that shift left
op interpolate: recipe = { lookup = { interpolate = { entries = 17, rounding = "half_up" } } }
op fraction: recipe = { pass_through = { fraction = { bits = 10, rounding = "half_away" } } }
op weight_grid: recipe = { multiply_accumulate = { weight_grid = "shift" } }
op definition: recipe = { softmax = { definition = "litert.softmax.int8.v1" } }, and alike for the other functions
op rounding: recipe = { lookup = { rounding = "half_even" } }
op reciprocal: recipe = { average_pool_reciprocal = { bits = 16, rounding = "half_up" } }
op pad: recipe = { max_pool = { pad = "zero_point" } }, and alike for `multiply_accumulate`
form multiplier: kind = { multiply_shift = { bits = 15, normalized = true, ... } }
form shift: kind = { shift = { shift = { min = 0, max = 31 }, ... } }, and alike for the other kinds
form rounding: kind = { shift = { rounding = "half_even", ... } }; a kind with one rounding does not say it
form stages: kind = { gemmlowp = { roundings = "two", ... } }; `multiply_shift` rounds once
form zero_point: kind = { multiply_shift = { zero_point = "before_shift", ... } }; a kind with one place does not say it
form from sima: from = "correction"
form from ascend: from = "dequantize_quantize"
"#;

/// Refuses keys and words that are now written in another way.
///
/// # Errors
/// An error for each such key or word, in the order of the text.
pub(super) fn check(tree: &Node) -> Result<(), Diagnostics> {
    let mut found = Vec::new();
    for (old, spelling) in MOVED.lines().filter_map(|line| line.split_once(": ")) {
        let (table, key, word) = match old.split(' ').collect::<Vec<_>>()[..] {
            [table, key] => (table, key, None),
            [table, key, word] => (table, key, Some(word)),
            _ => continue,
        };
        let rows = tree.find(&KeyPath::of(&[table])).and_then(entries);
        for (name, row) in rows.into_iter().flat_map(Table::iter) {
            let Some(Entry { key: place, node }) = entries(&row.node).and_then(|keys| keys.get(key)) else {
                continue;
            };
            if word.is_none_or(|word| matches!(&node.value, Value::Text(text) if text == word)) {
                let message = format!("`{table}.{name}.{key}` is spelled otherwise since schema 2");
                let finding = Diagnostic::error(CODE, message).at(place.excerpt("of an older table"));
                found.push((place.order(), finding.help(format!("write: {spelling}"))));
            }
        }
    }
    in_order(found)
}

/// The entries of a value if it is a table, and no entries otherwise.
fn entries(node: &Node) -> Option<&Table> {
    match &node.value {
        Value::Table(entries) => Some(entries),
        _ => None,
    }
}
