//! Checks `op.NAME.symmetric`, which lists operands whose zero point must be 0.

use super::Findings;
use crate::spec::{OpRow, Recipe};
use strait_core::Term;
use strait_document::KeyPath;

/// Checks that only rows of convolutions and matrix products have this key, and that ranks are only stated for
/// convolutions.
pub(super) fn symmetric(findings: &mut Findings<'_>, name: &str, row: &OpRow, ops: &[&str], path: &KeyPath) {
    let Some(symmetric) = &row.symmetric else { return };
    let reads = matches!(
        row.recipe,
        Some(Recipe::MultiplyAccumulate { .. } | Recipe::MatmulAccumulate)
    );
    findings.ensure(reads, path, || {
        format!("`op.{name}` is no product of codes, whose operands alone may be without a zero point")
    });
    let Some(ranks) = &symmetric.rank else { return };
    let fits = ops.contains(&Term::Conv.name()) && ranks.iter().all(|rank| (3..=5).contains(rank));
    findings.ensure(fits && !ranks.is_empty(), &path.clone().key("rank"), || {
        "`rank` is of convolutions, whose operands have 3 to 5 axes".to_owned()
    });
}
