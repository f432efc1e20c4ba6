//! `[passes]`: terms that exist, each once, and functions that can be clipped in front of.

use super::{Findings, terms};
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
        for (index, name) in list.iter().enumerate() {
            let path = path.clone().index(index);
            findings.ensure(!list[..index].contains(name), &path, || {
                format!("`{name}` stands here twice")
            });
        }
    }
    for (index, name) in passes.activation.iter().enumerate() {
        let path = KeyPath::of(&["passes", "activation"]).index(index);
        let clips = [Term::Relu, Term::Clip].iter().any(|term| term.name() == name);
        findings.ensure(clips || !known.contains(&name.as_str()), &path, || {
            format!("`{name}` reads more than codes on the grid of its result can say; only relu and clip are clipped in front of")
        });
    }
}
