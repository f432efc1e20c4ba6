//! The inputs of the model, and the samples for them.

use std::num::NonZeroU32;

use strait_core::{Bodies, Elem, Module};
use strait_document::nearest;

use strait_samples::{InputSpec, Kind, NumberType, Samples};
use strait_verify::Ranges;

use crate::{
    config::{
        KeyPath, Loaded,
        data::NotANumber,
        preprocess,
        types::{Data, Preprocess, Step, Unreadable},
    },
    diagnostic::{Diagnostic, Diagnostics},
    failure::{self, codes},
    stop::Stop,
};

/// An input of the main graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Input {
    /// Name of the input.
    pub(crate) name: String,
    /// Element type of the input.
    pub(crate) elem: Elem,
    /// Shape of the input.
    pub(crate) shape: Vec<usize>,
}

/// Returns the inputs of the main graph, whose shapes must be fixed. Some inputs belong to bodies of control flow that
/// are inlined in the graph; these are left out.
pub(crate) fn inputs(module: &Module, bodies: &Bodies) -> Vec<Input> {
    let graph = module.main();
    let input = |&id| {
        let value = graph.value(id)?;
        let extents = value.ty.dims()?;
        let extents = extents.iter().map(|&extent| usize::try_from(extent).ok());
        Some(Input {
            name: module.name(value.name).to_owned(),
            elem: value.ty.elem,
            shape: extents.collect::<Option<_>>()?,
        })
    };
    bodies.own_inputs(graph).iter().filter_map(input).collect()
}

/// Returns how samples are preprocessed for each input. If the configuration has a table for an input, this table
/// determines the preprocessing; otherwise the table for all inputs does.
///
/// # Errors
/// If a table `[input.NAME]` is for an input that does not exist, or if a step does arithmetic on an input that does
/// not hold floats.
pub(super) fn specs(module: &Module, bodies: &Bodies, loaded: &Loaded) -> Result<Vec<InputSpec>, Diagnostics> {
    let found = inputs(module, bodies);
    let names = || found.iter().map(|input| input.name.as_str());
    let strangers = loaded
        .config
        .input
        .keys()
        .filter(|&key| !names().any(|name| name == key));
    let findings = strangers.map(|stranger| {
        let path = KeyPath::of(&["input", stranger]);
        let all = names().collect::<Vec<_>>().join(", ");
        let finding = loaded.error(codes::RULE, &path, format!("the model has no input {stranger:?}"), "");
        let finding = finding.note(format!("its inputs are {all}"));
        match nearest::did_you_mean(stranger, names()).first() {
            Some(near) => finding.help(format!("did you mean {near:?}?")),
            None => finding,
        }
    });
    let computed = found.iter().filter_map(|input| computed(input, loaded));
    Diagnostics(findings.chain(computed).collect()).or(())?;
    let spec = |input: &Input| {
        let spec = spec(input, &preprocessing(loaded, &input.name))?;
        let config = &loaded.config;
        let stated = config.input.get(&input.name).and_then(|input| input.range);
        // What a device hands over can be any of its codes.
        let codes = || {
            let (low, high) = input.elem.integers()?;
            let is_device = config.embedded().iter().any(|embedded| embedded.name == input.name);
            is_device.then_some([low as f64, high as f64])
        };
        Ok(InputSpec {
            range: stated.map(|range| range.0).or_else(codes),
            is_shared: config.batch_axes().get(&input.name) == Some(&None),
            ..spec
        })
    };
    found.iter().map(spec).collect()
}

/// The error for a step that does arithmetic on an input of integers or truth values.
fn computed(input: &Input, loaded: &Loaded) -> Option<Diagnostic> {
    if input.elem.is_float() {
        return None;
    }
    let (steps, table) = match own(loaded, &input.name) {
        Some(own) => (&own.steps, KeyPath::of(&["input", &input.name, "preprocess"])),
        None => (&loaded.config.preprocess.steps, KeyPath::of(&["preprocess"])),
    };
    // A byte less 128 is a number of the type i8. If the samples are other numbers, opening them says so.
    let signs = |step: &Step| input.elem == Elem::I8 && *step == Step::Offset(-128.0);
    let computes = |step: &Step| matches!(step, Step::Scale(_) | Step::Offset(_) | Step::Normalize(_)) && !signs(step);
    let at = steps.iter().position(computes)?;
    // Steps that are part of the model do not compute with the samples.
    preprocessing(loaded, &input.name)
        .steps
        .iter()
        .any(computes)
        .then_some(())?;
    let path = table.key("steps").index(at);
    let message = format!(
        "the input {:?} takes {}, which no step of the preprocessing computes with",
        input.name,
        NumberType::from(input.elem).name()
    );
    let finding = loaded.error(crate::config::codes::PREPROCESS, &path, message, "computes with floats");
    Some(finding.help(match own(loaded, &input.name) {
        Some(_) => "leave the step out: only `color`, `layout` and steps on pixels are for such an input".to_owned(),
        None => format!(
            "give the input a preprocessing of its own, which may be empty: [input.{:?}.preprocess]",
            input.name
        ),
    }))
}

/// Describes one input and how samples are preprocessed for it.
///
/// # Errors
/// If the preprocessing is not possible.
pub(crate) fn spec(input: &Input, steps: &Preprocess) -> Result<InputSpec, Diagnostics> {
    let Input { name, elem, shape } = input;
    let plan = preprocess::plan(steps).map_err(|error| {
        let message = format!(
            "preprocessing of the input {name:?}, step {}: {}",
            error.step, error.message
        );
        Diagnostic::error(crate::config::codes::PREPROCESS, message).help(error.help)
    })?;
    Ok(InputSpec {
        name: name.clone(),
        elem: *elem,
        shape: shape.clone(),
        preprocess: plan,
        range: None,
        is_shared: false,
    })
}

/// The preprocessing that applies to the samples of an input: without the steps that are part of the model.
pub(super) fn preprocessing(loaded: &Loaded, input: &str) -> Preprocess {
    loaded.config.preprocess_of(input)
}

/// The preprocessing that is set for this input only.
fn own<'a>(loaded: &'a Loaded, input: &str) -> Option<&'a Preprocess> {
    let input = loaded.config.input.get(input)?;
    input.preprocess.as_ref()
}

/// Returns the range of the numbers in these samples for each input of integers or truth values. The keys are the names
/// of the inputs. Verification draws random inputs from these ranges.
pub(super) fn ranges(specs: &[InputSpec], samples: &Samples) -> Ranges {
    let ranges = specs.iter().zip(samples.whole_ranges());
    Ranges(
        ranges
            .filter_map(|(spec, range)| Some((spec.name.clone(), range?)))
            .collect(),
    )
}

/// Opens the calibration samples, at most `most`, with the data of all inputs. Returns `None` if the configuration
/// names no samples.
///
/// # Errors
/// As for [`Samples::open`].
pub(super) fn calibration(
    loaded: &Loaded,
    most: Option<NonZeroU32>,
    inputs: &[InputSpec],
) -> Result<Option<Samples>, Diagnostics> {
    let calibration = &loaded.config.calibration;
    let Some(data) = &calibration.data else { return Ok(None) };
    let samples = open_samples(loaded, "calibration", (data, calibration.unreadable), most, inputs)?;
    Ok(Some(match calibration.nan {
        NotANumber::Skip => samples.with_nan(),
        NotANumber::Error => samples,
    }))
}

/// Opens the samples that a table of the configuration names. Findings without a place in the file get the place of the
/// table's key.
///
/// # Errors
/// As for [`Samples::open`].
pub(super) fn open_samples(
    loaded: &Loaded,
    table: &str,
    (data, unreadable): (&Data, Unreadable),
    most: Option<NonZeroU32>,
    inputs: &[InputSpec],
) -> Result<Samples, Diagnostics> {
    Samples::open(&data.set(most, unreadable), inputs).map_err(|error| {
        let (shape, wanted) = (error.kind == Kind::Shape, error.kind == Kind::Wanted);
        let mut found = failure::data(error);
        if shape {
            found
                .0
                .iter_mut()
                .for_each(|finding| blame_batch(loaded, inputs, finding));
        }
        let key = if wanted { "samples" } else { "data" };
        at(loaded, &[table, key], found)
    })
}

/// Corrects a finding about shapes. Each entry of a file of samples is a single sample. If an input takes several
/// samples at once because the configuration sets its first dimension, the cause is this key of the configuration, and
/// the finding names the key instead of the samples.
fn blame_batch(loaded: &Loaded, inputs: &[InputSpec], finding: &mut Diagnostic) {
    let several = |size: u32| size > 1 && inputs.iter().any(|input| input.shape.first() == Some(&(size as usize)));
    let mut bound = loaded.config.model.bind.iter();
    if let Some((name, _)) = bound.find(|&(_, &size)| several(size)) {
        let path = KeyPath::of(&["model", "bind", name]);
        finding.excerpt = loaded.error("", &path, "", "one sample at a time needs 1").excerpt;
        finding.help = vec![format!("samples are given to the model one by one: set `{path}` to 1")];
    }
}

/// If a finding names a key of the configuration but no place in it, adds the place of that key.
pub(crate) fn placed(loaded: &Loaded, stop: Stop) -> Stop {
    let Stop::Found(mut found) = stop else { return stop };
    for finding in found.0.iter_mut().filter(|finding| finding.excerpt.is_none()) {
        if let Some(key) = &finding.key {
            finding.excerpt = loaded.error("", key, "", "").excerpt;
        }
    }
    Stop::Found(found)
}

/// Adds the place of a key in the configuration to findings that have no place.
pub(super) fn at(loaded: &Loaded, keys: &[&str], mut found: Diagnostics) -> Diagnostics {
    for finding in found.0.iter_mut().filter(|finding| finding.excerpt.is_none()) {
        finding.excerpt = loaded.error("", &KeyPath::of(keys), "", "").excerpt;
    }
    found
}
