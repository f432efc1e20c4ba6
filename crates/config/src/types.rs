//! The tables of a deployment's configuration. Their documentation is the reference: `docs/configuration.md` and the
//! JSON schema are made from these types, and so is the check of every file.
//!
//! An `Option` without a stated default means that somebody else knows better: the target, or the data.

use std::{collections::BTreeMap, num::NonZeroU32, sync::LazyLock};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use strait_compile::rules::{Activations, Alignment, Between, GivenGrids, Quantize, Rule, Run, Unfit, Weights};
use strait_document::{Any, Document, Format as TextFormat, Shape};
pub use strait_target::spec::{
    Activation, Alignment as Align, Difference as Accept, Format, Integer, Observer, ObserverOptions, ScaleSet,
    WeightPer,
};
use strait_target::{OptionValue, Options};

pub use super::evaluation::{Better, BoxFormat, Drop, Evaluation, Expected, Metric, MetricTable, OwnUnit, Score};
use super::leaf::{FORMATS, FilePath, Layout, PathByTarget, Pattern, Range, Sha256};
pub use super::plugins::{Pin, PinnedFile, Plugin, TableFile, Trust, Unpinned};
pub use super::{
    data::{Data, NotANumber, Unreadable},
    gate::{FusionGate, Gate, SanityGate},
    images::{Crop, Decode, Gray, Letterbox, Orientation, Resize},
    rewrite::Rewrite,
};

/// A deployment: which model becomes an integer model, for which targets, with which samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Configuration of Strait")]
pub struct Config {
    /// The version of this file's form. An older one stays readable, a newer one is refused by name.
    #[schemars(range(min = 1, max = 1))]
    pub schema: u32,
    /// The float model.
    pub model: Model,
    /// Inputs of the model, by name. Odd names are quoted: `[input."serving_default_x:0"]`.
    #[serde(default)]
    pub input: BTreeMap<String, Input>,
    /// From samples as stored to what the model takes, for every input without preprocessing of its own.
    ///
    /// Samples of any numeric type are read as float32 for an input of floats; the steps follow in their order, each in float32.
    /// Steps that begin with `decode` are for images: up to the first step that computes with numbers or moves axes they are done to
    /// levels of 8 bits.
    /// Those for an input of integers or truth values stay what they are: the file has the input's type, or one whose numbers
    /// all are of it, such as int32 for int64, and of the steps only `color` and `layout` are possible. At the end a
    /// sample whose shape is not the model's, but which has as many elements, is given the model's; one whose axes are
    /// the model's in another order is refused.
    #[serde(default)]
    pub preprocess: Preprocess,
    /// The chips to compile for. The model is observed once for all of them.
    pub target: Target,
    /// Plugins in shared libraries, each with one target. They run in processes of their own. No folder is searched for them, and
    /// no variable of the environment names one. Their options are `[target.options.ID]`, as for all others.
    #[serde(default)]
    pub plugin: Vec<Plugin>,
    /// Plugins that nobody has vouched for.
    #[serde(default)]
    pub trust: Trust,
    /// The samples that the ranges of the activations are measured on, or the record that has the grids already. One of the two is
    /// needed, unless the model is a quantized one that has a grid for all that is quantized.
    #[serde(default)]
    pub calibration: Calibration,
    /// Rules over the float graph that are off.
    #[serde(default)]
    pub rewrite: Rewrite,
    /// Quantization, where the target leaves a choice.
    #[serde(default)]
    pub quantize: Quantize,
    /// Which differences a fused requantization may make.
    #[serde(default)]
    pub fusion: Fusion,
    /// Labelled samples on which float and integer model are compared.
    ///
    /// The report has each metric of each model, and the change from float to integer with its paired 95 % interval: of counted
    /// answers that of Agresti and Min, of means over samples Student's, of `auc` DeLong's, and of `miou` and `map` that
    /// of 1000 sets of samples that are drawn from one seed, as is the interval of `snr`. Where there is no way to an interval, the
    /// report says so.
    pub evaluation: Option<Evaluation>,
    /// Demands on the result. Artifact and report are written even if one is missed; the exit code is then 3.
    #[serde(default)]
    pub gate: Gate,
    /// Where the result goes.
    pub output: Output,
}

impl Document for Config {
    const NAME: &'static str = "the configuration";
    const SCHEMA: u32 = super::SCHEMA;
    const FORMATS: &'static [TextFormat] = FORMATS;

    fn shape() -> &'static Shape {
        static SHAPE: LazyLock<Shape> = LazyLock::new(Shape::of::<Config>);
        &SHAPE
    }
}

/// The float model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The model: ONNX, a frozen TensorFlow graph or TFLite, which its bytes tell apart.
    pub file: FilePath,
    /// The digest that the file must have; another is an error.
    pub sha256: Option<Sha256>,
    /// A size for each symbolic dimension, by its name in the model, or by the name of an input and an axis for that one alone, with
    /// a name or without: `"x.2" = 48`. A free dimension that is the first of every input is the batch, and 1; any other that is
    /// left free is an error. With 0 a tensor has no elements, as the past of a decoder in its first step.
    #[serde(default)]
    pub bind: BTreeMap<String, u32>,
    /// Tensors or layers at which the graph begins instead of at its inputs. Empty: at its inputs.
    #[serde(default)]
    pub inputs: Vec<Pattern>,
    /// Tensors or layers at which the graph ends instead of at its outputs. Empty: at its outputs.
    #[serde(default)]
    pub outputs: Vec<Pattern>,
    /// Layers of TFLite that have weights of codes beside real activations, which its runtime quantizes anew in each run.
    pub hybrid: Option<Hybrid>,
}

/// Reading of layers that have weights of codes beside real activations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Hybrid {
    /// Their weights are the numbers that the codes stand for, and the layers those of floats. Without this they are refused.
    Float,
}

/// Properties of one input of the model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The values that the input takes, after preprocessing. It is then not measured.
    pub range: Option<Range>,
    /// The same as `[preprocess]`, which it replaces for this input.
    pub preprocess: Option<Preprocess>,
}

/// From samples as stored to what the model takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Preprocess {
    /// Stored samples, before the first step.
    #[serde(default)]
    pub stored: Stored,
    /// One thing each, in this order.
    #[serde(default)]
    pub steps: Vec<Step>,
}

/// Type, shape and layout of stored samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stored {
    /// The meaning of the axes, `N` (the samples) first: `"NHWC"`. Needed by `layout`, `color` and numbers per channel.
    pub layout: Option<Layout>,
    /// The order of three colour channels. Needed by `color`.
    pub color: Option<ColorOrder>,
}

/// One step of the preprocessing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Reads a PNG or a JPEG, as the first bytes of the file tell; the first step of all. `stored` is then not given: behind it there
    /// are `"NHWC"` and `"RGB"`.
    Decode(Decode),
    /// Brings the pixels of images to another size.
    Resize(Resize),
    /// Scales images onto a field of one size.
    Letterbox(Letterbox),
    /// Takes a part of images.
    Crop(Crop),
    /// Makes one channel of the three of images.
    Gray(Gray),
    /// Multiplies every number by this.
    Scale(f64),
    /// Adds this to every number.
    Offset(f64),
    /// Subtracts `mean`, then divides by `std`.
    Normalize(Normalize),
    /// Brings the colour channels into this order.
    Color(ColorOrder),
    /// Brings the axes into this order: a permutation of the letters so far.
    Layout(Layout),
}

/// `(x - mean) / std`: one number for all channels, or one for each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Normalize {
    /// Subtracted.
    #[schemars(length(min = 1))]
    pub mean: Vec<f64>,
    /// Divided by; none is 0.
    #[schemars(length(min = 1))]
    pub std: Vec<f64>,
}

impl Default for Normalize {
    fn default() -> Self {
        Normalize {
            mean: vec![0.0],
            std: vec![1.0],
        }
    }
}

/// The order of the colour channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ColorOrder {
    /// Red first.
    #[serde(rename = "RGB")]
    Rgb,
    /// Blue first.
    #[serde(rename = "BGR")]
    Bgr,
}

/// The chips to compile for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Ids of registered targets, or of targets of `file`. `strait targets` lists them.
    #[serde(rename = "use")]
    #[schemars(length(min = 1))]
    pub ids: Vec<String>,
    /// Tables of further targets: `"targets/mine.toml"`, or `{ path = "targets/mine.toml", sha256 = "..." }`.
    #[serde(default)]
    pub file: Vec<TableFile>,
    /// Options of each target, by its id: those of its table, and the words of its vendor's own tool, where it knows them.
    /// `strait targets ID` lists what it has.
    #[serde(default)]
    pub options: BTreeMap<String, BTreeMap<String, Any>>,
}

impl Target {
    /// The options of a target's table, of those that are given.
    ///
    /// # Errors
    /// The name of one that is a float, a list or a table, which no table's option is.
    pub fn plain(&self, id: &str, is_option: impl Fn(&str) -> bool) -> Result<Options, String> {
        let given = self
            .options
            .get(id)
            .into_iter()
            .flatten()
            .filter(|(name, _)| is_option(name));
        let plain = given.map(|(name, value)| match &value.0 {
            toml::Value::Boolean(value) => Ok((name.clone(), OptionValue::Bool(*value))),
            toml::Value::Integer(value) => Ok((name.clone(), OptionValue::Integer(*value))),
            toml::Value::String(value) => Ok((name.clone(), OptionValue::String(value.clone()))),
            _ => Err(name.clone()),
        });
        plain.collect()
    }
}

/// The samples that the ranges of the activations are measured on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Arrays: `.npy` for the one input; `.npz` by input name; or a folder of `NAME.npy`. Samples lie along the first axis. Several
    /// `.npy` or `.npz` are batches of one set: those of a folder, of a pattern such as `"batches/*.npy"`, or of a list of paths,
    /// here or in a `.txt` with one in each line.
    ///
    /// Or images, for a preprocessing that begins with `decode`: a folder of `.png` and `.jpg` with the folders below it, in the order of
    /// their paths; a pattern such as `"images/**/*.jpg"`; a list of paths; of
    /// several inputs a folder with a folder of images or an array for each, by its name, which belong together by their order.
    ///
    /// Or `"random:64"`: so many samples of random numbers, for a first look without data. What is made of them is marked as not
    /// for deployment.
    pub data: Option<Data>,
    /// Images that cannot be decoded.
    #[serde(default)]
    pub unreadable: Unreadable,
    /// Numbers that are NaN in a run on the samples. Infinite ones have no range either way: what makes them stays on the host.
    #[serde(default)]
    pub nan: NotANumber,
    /// A record of the vendor's own tool, for those targets that read one: AMCT's `record.txt` for `ascend`. The layers that it
    /// names have its grids, all others stay in float, and nothing is measured.
    pub record: Option<FilePath>,
    /// Only the first so many. Fewer in the set is an error. Absent: all.
    pub samples: Option<NonZeroU32>,
    /// Observer that makes a range from what was measured. Absent: that of the target's reference.
    pub observer: Option<Observer>,
    /// Settings of the observer.
    #[serde(default)]
    pub observer_options: ObserverOptions,
    /// A file for the vendor's own tool that says what is quantized and how, for those targets that know its words: AMCT's simple
    /// configuration (`.cfg`) for `ascend`. What it says becomes rules in front of those of `[target.options]` and of
    /// `[quantize]`, which therefore win.
    pub config: Option<FilePath>,
    /// Where measurements are kept, to be reused when model, data and preprocessing are the same.
    #[serde(default = "default_cache")]
    pub cache: FilePath,
}

fn default_cache() -> FilePath {
    FilePath::new(".strait/cache")
}

impl Default for Calibration {
    fn default() -> Calibration {
        Calibration {
            data: None,
            unreadable: Unreadable::default(),
            nan: NotANumber::default(),
            record: None,
            samples: None,
            observer: None,
            observer_options: ObserverOptions::default(),
            config: None,
            cache: default_cache(),
        }
    }
}

/// Which differences a fused requantization may make.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fusion {
    /// Differences that a fusion may make. Absent: the target's default.
    pub accept: Option<Accept>,
    /// With `accept = "bounded"`: the largest difference, in units of the last place of the output. Absent: 1.
    #[schemars(range(min = 1, max = 255))]
    pub max_lsb: Option<u32>,
    /// Consequence where the ops and the conditions of a row of the target's table match a requantization and the row
    /// does not fuse it: the row accepts no such form, nothing is proved, or the difference is not accepted.
    #[serde(default)]
    pub refused: Refused,
}

/// Consequence where a row of the target's table matches a requantization and does not fuse it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Refused {
    /// The requantization stays an operation of its own.
    #[default]
    Keep,
    /// The compilation fails; it names each layer, and why. A requantization that no row is for is no failure: the
    /// target computes it by itself.
    Error,
}

/// Where the result goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// The folder of the artifact. `{target}` stands for the target's id; with several targets it is needed.
    pub dir: PathByTarget,
    /// Formats written beside the container; one that a target does not have is an error. Absent: all that the target
    /// asks for.
    pub emit: Option<Vec<Format>>,
    /// The type of the activations of 8 bits in the Q/DQ ONNX. With zero points 128 apart both types stand for the same numbers;
    /// those of 16 bits stay `int16`.
    #[serde(default)]
    pub qdq_activations: QdqActivations,
}

/// Types of activations in the Q/DQ ONNX.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum QdqActivations {
    /// ONNX Runtime and OpenVINO have fast kernels for activations of this type beside weights of `int8` on every processor.
    #[default]
    Uint8,
    /// For runtimes that take no other.
    Int8,
}
