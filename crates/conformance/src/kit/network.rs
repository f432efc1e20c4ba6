//! Compiles one small network from float to integers, in the same way as a deployment is compiled.

use std::{collections::BTreeMap, sync::Arc};
use strait_compile::{CompileError, InMemory, Means, Model, Resolved, Silent, build, fusion_policy, verify};
use strait_core::text::{parse, random::SplitMix64};
use strait_core::{Module, Placement, Switches};
use strait_execute::Tensor;
use strait_lower::{Fusion, FusionPolicy};
use strait_quantize::Settings;
use strait_target::{
    Target, TargetSpec,
    spec::{Activation, Integer},
};

/// Settings that a configuration could have for a network, if the table allows them.
#[derive(Clone, Debug, Default)]
pub(super) struct Choices {
    /// Types of activations and weights, for all nodes.
    pub(super) pair: Option<(Activation, Integer)>,
    /// The names of values, and a type that these values have instead of the type with which their nodes compute. The
    /// values may also come from the host.
    pub(super) leaves: Option<(&'static [&'static str], Integer)>,
    /// The largest difference that a fusion may make. `None` for the limit in the target's table.
    pub(super) most: Option<u32>,
}

impl Choices {
    /// The settings for a module. Values are found by their names.
    pub(super) fn settings(&self, module: &Module, spec: &TargetSpec) -> Settings {
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
    pub(super) accelerator: usize,
    pub(super) host: usize,
    /// The module that an artifact would run.
    pub(super) module: Module,
    pub(super) fusion: Fusion,
    /// For each primitive, by name, the row of the table from which it was made.
    pub(super) rows: BTreeMap<String, String>,
    /// The fault that the verification found; `None` if it found none.
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
pub(super) fn inputs(module: &Module, seed: u64) -> Result<Vec<Tensor>, String> {
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
