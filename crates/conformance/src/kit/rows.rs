//! For ops that have several rows for the same type of activations, checks which of these rows the networks use.

use super::lines::{Group, Line};
use super::network::Made;
use std::{collections::BTreeMap, sync::Arc};
use strait_core::Term;
use strait_target::{Target, TargetSpec};

/// The rows that share an op with other rows. Each of them comes with the name of the first network that used the row,
/// or with `None` if no network used it.
pub(super) struct Rows(BTreeMap<String, Option<String>>);

impl Rows {
    /// Finds the rows of a target that share an op with other rows, for every value of its options.
    pub(super) fn new(target: &Arc<dyn Target>, variants: &[(String, Arc<dyn Target>)]) -> Rows {
        let all = variants.iter().map(|(_, variant)| variant).chain([target]);
        let rows = all.flat_map(|target| shared(target.spec()));
        Rows(rows.map(|row| (row.to_owned(), None)).collect())
    }

    /// Records which rows the nodes of a network were lowered with.
    pub(super) fn add(&mut self, network: &str, made: &Made) {
        for row in made.rows.values() {
            if let Some(reached) = self.0.get_mut(row) {
                reached.get_or_insert_with(|| network.to_owned());
            }
        }
    }

    /// Makes a line of the report for each row that shares an op with another row.
    pub(super) fn lines(self) -> impl Iterator<Item = Line> {
        self.0.into_iter().map(|(row, reached)| {
            let name = format!("op {row}");
            match reached {
                Some(network) => Line::new(Group::Networks, name).checked(format!("reached in {network}")),
                None => {
                    let why = "not reached: other rows of its op took the nodes of every network, or none was within its limits";
                    Line::skipped(Group::Networks, name, why)
                }
            }
        })
    }
}

/// The rows of the accelerator that have an op and a type of activations in common with another row.
fn shared(spec: &TargetSpec) -> impl Iterator<Item = &str> {
    let activations = spec.types.pairs.iter().map(|pair| pair.activation);
    activations.flat_map(move |activation| {
        Term::ALL.iter().flat_map(move |&term| {
            let rows: Vec<&str> = spec.rows_for(term, activation).map(|(name, _)| name).collect();
            rows.into_iter()
                .filter(move |_| spec.rows_for(term, activation).nth(1).is_some())
        })
    })
}
