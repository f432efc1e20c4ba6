//! Checks `[passes]`: the terms must exist and be listed only once; passive ops must be able to keep the scale and zero
//! point of their operand; and activation functions must be such that they can become a clamp.

use super::{Findings, terms};
use crate::spec::Recipe;
use std::collections::BTreeSet;
use strait_core::Term;
use strait_document::KeyPath;

pub(super) fn check(findings: &mut Findings<'_>) {
    let passes = &findings.spec.passes;
    let lists = [
        ("computing", &passes.computing),
        ("passive", &passes.passive),
        ("activation", &passes.activation),
    ];
    let known = terms();
    for (key, list) in lists {
        let path = KeyPath::of(&["passes", key]);
        findings.names("op", &path, list, &known);
        findings.once(&path, list);
    }
    let recipes = || Recipe::ALL.iter().filter(|recipe| recipe.keeps_grid());
    let kept: BTreeSet<&str> = recipes().flat_map(|recipe| recipe.lowers()).map(Term::name).collect();
    for (index, name) in passes.passive.iter().enumerate() {
        let path = KeyPath::of(&["passes", "passive"]).index(index);
        let keeps = kept.contains(name.as_str()) || !known.contains(&name.as_str());
        findings.ensure(keeps, &path, || {
            format!("`{name}` makes other numbers than it reads, so its result has a grid of its own")
        });
    }
    for (index, name) in passes.activation.iter().enumerate() {
        let path = KeyPath::of(&["passes", "activation"]).index(index);
        let clips = [Term::Relu, Term::Clip].iter().any(|term| term.name() == name);
        findings.ensure(clips || !known.contains(&name.as_str()), &path, || {
            format!("`{name}` reads more than codes on the grid of its result can say; only relu and clip are clipped in front of")
        });
    }
}
