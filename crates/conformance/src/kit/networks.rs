//! Compiles small networks from float to integers and runs them on the target's kernels.

use super::network::{Choices, integers};
use super::{
    ExaminationProgress,
    emit::Emitted,
    fusions::{self, Fusions},
    lines::{Group, Line},
    rows::Rows,
    witness::{Nodes, Witness},
};
use std::sync::Arc;
use strait_target::{Target, spec::Format};

/// The test networks in text form, by name.
const NETWORKS: [(&str, &str); 6] = [
    ("pooled", include_str!("../../networks/pooled.strait")),
    ("residual", include_str!("../../networks/residual.strait")),
    ("separable", include_str!("../../networks/separable.strait")),
    ("classifier", include_str!("../../networks/classifier.strait")),
    ("gated", include_str!("../../networks/gated.strait")),
    ("joined", include_str!("../../networks/joined.strait")),
];

/// What the target's code did while the networks were compiled: the answers that it gave and the files that it wrote.
#[derive(Default)]
pub(super) struct Seen {
    /// The nodes that the target was asked about, for each network.
    pub(super) nodes: Vec<Nodes>,
    /// The files that the target wrote.
    pub(super) emitted: Emitted,
}

/// Returns a line for each network, the lines about rows of one op ([`Rows`]) and the lines about fusions
/// ([`Fusions`]). Also returns what the target's code answered and wrote.
pub(super) fn lines(
    witness: &Arc<Witness>,
    variants: &[(String, Arc<dyn Target>)],
    progress: &dyn ExaminationProgress,
) -> (Vec<Line>, Seen) {
    let target = &(witness.clone() as Arc<dyn Target>);
    let writes = target.spec().emit.contains(&Format::Package);
    let mut seen = Seen::default();
    let mut fusions = Fusions::new(target, variants);
    let mut rows = Rows::new(target, variants);
    let others = fusions::others(target, variants);
    progress.begin("small networks", NETWORKS.len() + others.len());
    let mut networks = Vec::new();
    for (at, (name, text)) in NETWORKS.into_iter().enumerate() {
        let mut line = Line::new(Group::Networks, name);
        witness.take_nodes();
        let made = integers(target, text, &Choices::default());
        let nodes = witness.take_nodes();
        match made {
            Err(fault) => line.find(fault),
            Ok(made) => {
                fusions.add(name, &made);
                rows.add(name, &made);
                if writes {
                    seen.emitted.add(witness, name, &made.module);
                }
                let refused: Vec<(&str, &str)> = nodes.refused().collect();
                let count = refused.len();
                let refused_text = match count {
                    0 => String::new(),
                    count => format!(" ({count} refused by the target's code)"),
                };
                line.checked = format!(
                    "{} nodes on the accelerator, {} on the host{refused_text}, {} fusions",
                    made.accelerator,
                    made.host,
                    made.fusion.fired.len()
                );
                if let (true, Some((node, why))) = (nodes.refuses_all(), refused.first()) {
                    line.find(format!(
                        "the target's code refuses all {count} nodes that the table takes: `{node}`: {why}"
                    ));
                }
                made.fault.into_iter().for_each(|fault| line.find(fault));
            }
        }
        seen.nodes.push(nodes);
        networks.push(line);
        progress.advance(at + 1);
    }
    for (at, other) in others.iter().enumerate() {
        fusions.run(other, &mut rows);
        progress.advance(NETWORKS.len() + at + 1);
    }
    networks.extend(rows.lines());
    networks.extend(fusions.lines());
    (networks, seen)
}
