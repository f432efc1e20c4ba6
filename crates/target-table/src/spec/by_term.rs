//! An index of the op rows of a table by term, so that the rows for a node are found without a search.

use super::op::OpRow;
use std::collections::BTreeMap;
use strait_core::Term;

/// The rows of a table, by term. A row that is for several terms has a copy under each of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ByTerm {
    /// For each term, the rows that are for it, in the order of their names.
    rows: Vec<Vec<(String, OpRow)>>,
}

impl ByTerm {
    /// Makes the index of these rows.
    pub(super) fn new(rows: &BTreeMap<String, OpRow>) -> ByTerm {
        let mut by_term = vec![Vec::new(); Term::ALL.len()];
        for (name, row) in rows {
            let own = std::slice::from_ref(name);
            let words = row.ops.as_deref().unwrap_or(own);
            for term in words.iter().filter_map(|word| Term::parse(word)) {
                if let Some(rows) = by_term.get_mut(term as usize) {
                    rows.push((name.clone(), row.clone()));
                }
            }
        }
        ByTerm { rows: by_term }
    }

    /// The rows that are for the op with this term.
    pub(super) fn of(&self, term: Term) -> &[(String, OpRow)] {
        self.rows.get(term as usize).map_or(&[], Vec::as_slice)
    }
}
