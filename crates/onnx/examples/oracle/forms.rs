//! Finds out which ops an operator becomes, and checks or writes the file `operators.txt`, from which
//! `docs/operators.md` is made.
//!
//! An operator may be read in several ways. Each line has an operator and the ops that it becomes in one of these ways.
//! The list of ops is empty if the operator is folded. If one way has all ops of another way and more, only the shorter
//! one is listed. Casts between types of the model and types of Strait are left out. Lines for operators without a node
//! test are written by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use strait_core::{Module, Term};

/// The ops of a module's nodes, as a line lists them.
pub(crate) fn of(module: &Module) -> String {
    let terms: BTreeSet<Term> = module.main().nodes().map(|(_, node)| node.op.term()).collect();
    let is_plain = |term: &&Term| matches!(term, Term::Cast | Term::Identity);
    let computing: Vec<&str> = terms.iter().filter(|term| !is_plain(term)).map(|t| t.name()).collect();
    match computing.is_empty() {
        true => terms.iter().map(|t| t.name()).collect::<Vec<_>>().join(" "),
        false => computing.join(" "),
    }
}

/// Compares the ops that were found for each operator with the file, or writes the file.
pub(crate) fn check(
    file: &Path,
    found: &BTreeMap<&str, BTreeSet<String>>,
    bless: bool,
) -> Result<Vec<String>, std::io::Error> {
    let text = std::fs::read_to_string(file)?;
    let listed: BTreeSet<String> = text.lines().map(Into::into).collect();
    let lines = found.iter().flat_map(|(operator, forms)| {
        let least = forms.iter().filter(|form| is_least(form, forms));
        least.map(move |form| format!("{operator} {form}").trim_end().to_owned())
    });
    let others = listed.iter().filter(|line| {
        let operator = line.split(' ').next().unwrap_or_default();
        !found.contains_key(operator)
    });
    let all: BTreeSet<String> = lines.chain(others.cloned()).collect();
    if bless {
        std::fs::write(file, all.iter().map(|line| format!("{line}\n")).collect::<String>())?;
        return Ok(Vec::new());
    }
    let differences = all.symmetric_difference(&listed);
    let is_new = |line: &String| if all.contains(line) { "does not say" } else { "says" };
    Ok(differences
        .map(|line| format!("FORM    operators.txt {} `{line}`", is_new(line)))
        .collect())
}

/// True if the list of ops `form` is worth a line. It is not worth a line if another list has only some of the ops of
/// this list. It is not worth a line either if it only copies the operand and there are other lists.
fn is_least(form: &str, forms: &BTreeSet<String>) -> bool {
    let terms = |form: &str| -> BTreeSet<String> { form.split(' ').map(Into::into).collect() };
    let own = terms(form);
    let is_copy = ["identity", "cast", "cast identity"].contains(&form);
    let is_part = |other: &String| other != form && !other.is_empty() && terms(other).is_subset(&own);
    !(forms.iter().any(is_part) || is_copy && forms.len() > 1)
}
