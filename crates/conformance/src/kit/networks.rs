//! Compiles small networks from float to integers and runs them on the target's kernels.

use super::{
    ExaminationProgress,
    emit::Emitted,
    fusions::{self, Fusions},
    lines::{Group, Line},
    rows::Rows,
    witness::{Nodes, Witness},
};
use std::{collections::BTreeMap, sync::Arc};
use strait_compile::{CompileError, InMemory, Means, Model, Resolved, Silent, build, fusion_policy, verify};
use strait_core::text::{parse, random::SplitMix64};
use strait_core::{Module, Placement, Switches};
use strait_execute::Tensor;
use strait_lower::{Fusion, FusionPolicy};
use strait_quantize::Settings;
use strait_target::{
    Target, TargetSpec,
    spec::{Activation, Format, Integer},
};

/// The test networks in text form, by name.
const NETWORKS: [(&str, &str); 6] = [
    ("pooled", include_str!("../../networks/pooled.strait")),
    ("residual", include_str!("../../networks/residual.strait")),
    ("separable", include_str!("../../networks/separable.strait")),
    ("classifier", include_str!("../../networks/classifier.strait")),
    ("gated", include_str!("../../networks/gated.strait")),
    ("joined", include_str!("../../networks/joined.strait")),
];

/// What the target's code answered and wrote when networks were compiled.
#[derive(Default)]
pub(super) struct Seen {
    /// The nodes that the target was asked about, for each network.
    pub(super) nodes: Vec<Nodes>,
    /// The files that the target wrote.
    pub(super) emitted: Emitted,
}

/// A line for each network, the lines about rows of one op ([`Rows`]) and those about fusions ([`Fusions`]). Also
/// returns what the target's code answered and wrote.
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

/// What a configuration would set for a network, if the table allows it.
#[derive(Clone, Debug, Default)]
pub(super) struct Choices {
    /// Types of activations and weights, for all nodes.
    pub(super) pair: Option<(Activation, Integer)>,
    /// Names of values that leave their node, or the host, with another type than the node computes with, and this
    /// type.
    pub(super) leaves: Option<(&'static [&'static str], Integer)>,
    /// The largest difference that a fusion may make. `None` for the limit in the target's table.
    pub(super) most: Option<u32>,
}

impl Choices {
    /// The settings for a module. Values are found by their names.
    fn settings(&self, module: &Module, spec: &TargetSpec) -> Settings {
        let mut settings = Settings::new(spec);
        (settings.default.activation, settings.default.weights.ty) = self.pair.unzip();
        if let Some((names, ty)) = self.leaves {
            let values = module.main().values();
            for (id, _) in values.filter(|(_, value)| names.contains(&module.name(value.name))) {
                settings.values.entry(id).or_default().ty = Some(ty);
            }
        }
        settings
    }
}

/// A network that was compiled to integers.
pub(super) struct Made {
    accelerator: usize,
    host: usize,
    /// The module that an artifact would run.
    module: Module,
    pub(super) fusion: Fusion,
    /// For each primitive, by name, the row of the table that it was made with.
    pub(super) rows: BTreeMap<String, String>,
    /// What the verification found wrong.
    pub(super) fault: Option<String>,
    /// The largest difference that a fusion may make.
    pub(super) most: u32,
}

/// Compiles a network in the way that deployments are compiled.
pub(super) fn integers(target: &Arc<dyn Target>, text: &str, choices: &Choices) -> Result<Made, String> {
    let float = parse(text).map_err(|error| error.to_string())?;
    let samples = (0..4).map(|seed| inputs(&float, seed)).collect::<Result<_, _>>()?;
    let (samples, spec) = (Arc::new(InMemory(samples)), target.spec());
    let fusion = match choices.most {
        Some(most) => FusionPolicy::Bounded(most),
        None => fusion_policy(spec, None, None),
    };
    let resolve = |module: &Module| {
        Ok::<_, CompileError>(Resolved {
            settings: choices.settings(module, spec),
            fusion,
            ..Resolved::new(spec)
        })
    };
    let model = Model::new(float, &Switches::default());
    let observed = model.and_then(|model| model.observe(samples, Means::default(), &Silent));
    let built = observed.and_then(|observed| {
        observed.with(target, resolve, &Silent, |task| {
            let built = build(task, &Silent)?;
            let fault = verify(task, &built).err();
            Ok((built, fault))
        })
    });
    let (built, fault) = built.map_err(|error| error.to_string())?;
    let nodes = || built.annotated.main().nodes();
    let host = nodes().filter(|(_, node)| node.place != Placement::Accelerator).count();
    Ok(Made {
        accelerator: nodes().count() - host,
        host,
        most: match fusion {
            FusionPolicy::Exact => 0,
            FusionPolicy::Bounded(most) => most,
            FusionPolicy::Any => u32::MAX,
        },
        fusion: built.fusion,
        rows: built.origins,
        module: built.module,
        fault: fault.map(|error| error.to_string()),
    })
}

/// Random inputs of the main graph, uniform between -1 and 1.
fn inputs(module: &Module, seed: u64) -> Result<Vec<Tensor>, String> {
    let mut random = SplitMix64::new(seed);
    let graph = module.main();
    let shapes = graph.inputs().iter().map(|&input| {
        let dims = graph.value(input).and_then(|value| value.ty.dims());
        let dims = dims.ok_or("an input has no shape")?;
        Ok(dims.iter().map(|&extent| extent as usize).collect::<Vec<usize>>())
    });
    let shapes: Vec<Vec<usize>> = shapes.collect::<Result<_, &str>>()?;
    let mut tensors = Vec::new();
    for shape in shapes {
        let real = |_| (random.next_u64() >> 40) as f32 / 8_388_608.0 - 1.0;
        let values: Vec<f32> = (0..shape.iter().product::<usize>()).map(real).collect();
        tensors.push(Tensor::from_values(&shape, &values).map_err(|error| error.to_string())?);
    }
    Ok(tensors)
}
