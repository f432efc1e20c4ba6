//! An index of the op rows of a table by term, so that the rows for a node are found without a search.

use super::op::OpRow;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use strait_core::Term;

/// The rows of a table, by term. The index is made when it is first used: a table that is only checked or shown does
/// without it. A row that is for several terms has a copy under each of them.
#[derive(Debug, Default)]
pub(super) struct ByTerm(OnceLock<Vec<Vec<(String, OpRow)>>>);

/// The index follows from the rows, which are compared where they are.
impl PartialEq for ByTerm {
    fn eq(&self, _: &ByTerm) -> bool {
        true
    }
}

/// A copy of a table makes an index of its own, since its rows may be changed before they are used.
impl Clone for ByTerm {
    fn clone(&self) -> ByTerm {
        ByTerm::default()
    }
}

impl ByTerm {
    /// Those of `rows` that are for the op with this term, in the order of their names. All calls must have the same rows.
    pub(super) fn of(&self, rows: &BTreeMap<String, OpRow>, term: Term) -> &[(String, OpRow)] {
        let index = self.0.get_or_init(|| index(rows));
        index.get(term as usize).map_or(&[], Vec::as_slice)
    }
}

/// The terms that a row is for: those that it names, or the one that it is named after.
fn terms<'a>(name: &'a String, row: &'a OpRow) -> impl Iterator<Item = Term> + 'a {
    let words = row.ops.as_deref().unwrap_or(std::slice::from_ref(name));
    words.iter().filter_map(|word| Term::parse(word))
}

/// True if a row is for this term.
pub(super) fn is_for(name: &String, row: &OpRow, term: Term) -> bool {
    terms(name, row).any(|own| own == term)
}

fn index(rows: &BTreeMap<String, OpRow>) -> Vec<Vec<(String, OpRow)>> {
    let mut by_term = vec![Vec::new(); Term::ALL.len()];
    for (name, row) in rows {
        for term in terms(name, row) {
            if let Some(rows) = by_term.get_mut(term as usize) {
                rows.push((name.clone(), row.clone()));
            }
        }
    }
    by_term
}
