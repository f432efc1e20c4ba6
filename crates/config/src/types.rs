//! The tables of a configuration. The documentation of these types is the reference for users: `docs/configuration.md`
//! and the JSON schema are made from it, and every file is checked against these types.
//!
//! If a key is an `Option` and no default is stated, the target or the data determine the value of a missing key.

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
    /// The version of the file format. Older versions stay readable. A newer version is an error.
    #[schemars(range(min = 1, max = 1))]
    pub schema: u32,
    /// The float model.
    pub model: Model,
    /// Settings for a single input of the model, by its name. Quote unusual names: `[input."serving_default_x:0"]`.
    #[serde(default)]
    pub input: BTreeMap<String, Input>,
    /// How stored samples become inputs of the model. This holds for every input without a preprocessing of its own.
    ///
    /// For a float input, samples of any numeric type are read as float32. The steps follow in their order, each in float32. If
    /// the first step is `decode`, the samples are images. They stay 8-bit images until the first step that computes with
    /// numbers or moves axes.
    ///
    /// An input of integers or truth values is not converted. The file has the type of the input, or a type whose numbers all
    /// fit into it, such as int32 for int64. Only the steps `color` and `layout` are possible.
    ///
    /// After the last step, a sample with another shape but the same number of elements is reshaped to the model's shape. It is
    /// refused if its axes are those of the model in another order.
    #[serde(default)]
    pub preprocess: Preprocess,
    /// The chips to compile for. The model is observed once for all of them.
    pub target: Target,
    /// Plugins in shared libraries, each with one target. They run in processes of their own. Strait only loads plugins that
    /// are listed here: it does not search folders or environment variables. Their options are in `[target.options.ID]`, as for
    /// all targets.
    #[serde(default)]
    pub plugin: Vec<Plugin>,
    /// What happens with plugins whose digest is not given.
    #[serde(default)]
    pub trust: Trust,
    /// The samples from which the ranges of activations are measured, or a record that already has the grids. One of the two is
    /// required, unless the model is quantized and has a grid for every value that needs one.
    #[serde(default)]
    pub calibration: Calibration,
    /// Switches for the rules that rewrite the float graph.
    #[serde(default)]
    pub rewrite: Rewrite,
    /// How values are quantized, where the target leaves a choice.
    #[serde(default)]
    pub quantize: Quantize,
    /// Which differences a fused requantization may make.
    #[serde(default)]
    pub fusion: Fusion,
    /// The labelled samples on which the float and the integer model are compared.
    ///
    /// The report has each metric for both models, and the change from float to integer with a paired 95 % interval. The method
    /// for the interval depends on the metric: Agresti and Min for counted answers, Student for means over samples, and DeLong
    /// for `auc`. For `miou`, `map` and `snr`, 1000 sets of samples are drawn from a fixed seed. If there is no method for an
    /// interval, the report says so.
    pub evaluation: Option<Evaluation>,
    /// Requirements for the result. If one of them is not met, the exit code is 3. Artifact and report are written anyway.
    #[serde(default)]
    pub gate: Gate,
    /// Where the result is written.
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
    /// The model: ONNX, a frozen TensorFlow graph or TFLite. The format is recognised by the content.
    pub file: FilePath,
    /// The digest that the file must have. If it differs, that is an error.
    pub sha256: Option<Sha256>,
    /// A size for each symbolic dimension, by the name of the dimension in the model. To set a dimension of a single input,
    /// whether it has a name or not, write the input and the axis: `"x.2" = 48`. A dimension that is the first of every input
    /// and is not set here counts as the batch and is 1. Any other dimension without a size is an error. With the size 0 a
    /// tensor has no elements, for example the past of a decoder in its first step.
    #[serde(default)]
    pub bind: BTreeMap<String, u32>,
    /// Tensors or layers at which the graph begins, instead of at its inputs. Empty: at its inputs.
    #[serde(default)]
    pub inputs: Vec<Pattern>,
    /// Tensors or layers at which the graph ends, instead of at its outputs. Empty: at its outputs.
    #[serde(default)]
    pub outputs: Vec<Pattern>,
    /// What to do with TFLite layers that have quantized weights and float activations. TFLite quantizes these activations anew
    /// in each run.
    pub hybrid: Option<Hybrid>,
}

/// Reading of layers that have quantized weights and float activations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Hybrid {
    /// Run such layers in float, with the numbers that the codes of their weights stand for. Without this key they are refused.
    Float,
}

/// Properties of one input of the model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The smallest and the largest value of the input, after preprocessing. The range is then not measured.
    pub range: Option<Range>,
    /// Replaces `[preprocess]` for this input.
    pub preprocess: Option<Preprocess>,
}

/// From samples as stored to inputs of the model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Preprocess {
    /// The layout of the stored samples, before the first step.
    pub stored: Stored,
    /// The steps, in this order. Each does one thing.
    pub steps: Vec<Step>,
}

/// Type, shape and layout of stored samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stored {
    /// The meaning of the axes, with `N` (the samples) first: `"NHWC"`. It is required by `layout`, by `color`, and for numbers
    /// per channel.
    pub layout: Option<Layout>,
    /// The order of the three colour channels. It is required by `color`.
    pub color: Option<ColorOrder>,
}

/// One step of the preprocessing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Reads PNG and JPEG images, which are recognised by their first bytes. It has to be the first step. Leave out `stored`:
    /// the result has the layout `"NHWC"` and the colours `"RGB"`.
    Decode(Decode),
    /// Resizes images.
    Resize(Resize),
    /// Scales images to fit into a field of a fixed size, and fills the rest of the field.
    Letterbox(Letterbox),
    /// Cuts a part out of images.
    Crop(Crop),
    /// Converts images with three channels to one channel.
    Gray(Gray),
    /// Multiplies every number by this.
    Scale(f64),
    /// Adds this to every number.
    Offset(f64),
    /// Subtracts `mean`, then divides by `std`.
    Normalize(Normalize),
    /// Brings the colour channels into this order.
    Color(ColorOrder),
    /// Brings the axes into this order, which is a permutation of the current letters.
    Layout(Layout),
}

/// `(x - mean) / std`: one number for all channels, or one for each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Normalize {
    /// The numbers to subtract.
    #[schemars(length(min = 1))]
    pub mean: Vec<f64>,
    /// The numbers to divide by. None of them may be 0.
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
    /// The ids of targets, registered or from `file`. `strait targets` lists them.
    #[serde(rename = "use")]
    #[schemars(length(min = 1))]
    pub ids: Vec<String>,
    /// Files with tables of further targets: `"targets/mine.toml"`, or `{ path = "targets/mine.toml", sha256 = "..." }`.
    #[serde(default)]
    pub file: Vec<TableFile>,
    /// The options of each target, by its id. They include the options of its table, and the settings of its vendor's own tool
    /// if the target supports that. `strait targets ID` lists them.
    #[serde(default)]
    pub options: BTreeMap<String, BTreeMap<String, Any>>,
}

impl Target {
    /// Those of the given options that are options of the target's table.
    ///
    /// # Errors
    /// The name of an option whose value is a float, a list or a table. No option of a target's table has such a value.
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
#[serde(deny_unknown_fields, default)]
pub struct Calibration {
    /// Arrays or images, or a number of random samples.
    ///
    /// Arrays: an `.npy` for a model with one input, an `.npz` with an array for each input by its name, or a folder of
    /// `NAME.npy`. The samples are along the first axis. Several `.npy` or `.npz` can be batches of one set. Give them as a
    /// folder, as a pattern such as `"batches/*.npy"`, or as a list of paths, here or in a `.txt` with one path in each line.
    ///
    /// Images, if the preprocessing begins with `decode`: a folder with `.png` and `.jpg` files, including its subfolders, in
    /// the order of their paths; a pattern such as `"images/**/*.jpg"`; or a list of paths. For several inputs, a folder that
    /// has a folder of images or an array for each input, by its name. Their samples belong together in the order of the files.
    ///
    /// `"random:64"`: this many samples of random numbers, for a first look without data. The artifact is then marked as not
    /// for deployment.
    pub data: Option<Data>,
    /// What to do with images that cannot be decoded.
    pub unreadable: Unreadable,
    /// What to do if numbers are NaN in a run on the samples. Infinite numbers never have a range: the nodes that compute them
    /// stay on the host.
    pub nan: NotANumber,
    /// A record of the vendor's own tool, for targets that can read one: AMCT's `record.txt` for `ascend`. The layers in the
    /// record get its grids, all other layers stay in float, and nothing is measured.
    pub record: Option<FilePath>,
    /// Use only the first samples, this many. It is an error if the set has fewer. Absent: all.
    pub samples: Option<NonZeroU32>,
    /// The observer that determines a range from the measurements. Absent: the one of the target's reference.
    pub observer: Option<Observer>,
    /// Settings of the observer.
    pub observer_options: ObserverOptions,
    /// A file for the vendor's own tool that says how to quantize, for targets that can read it: AMCT's simple configuration
    /// (`.cfg`) for `ascend`. Its content becomes rules. The rules of `[target.options]` and of `[quantize]` come later and
    /// win.
    pub config: Option<FilePath>,
    /// The folder where measurements are stored. They are reused if model, data and preprocessing are the same.
    pub cache: FilePath,
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
            cache: FilePath::new(".strait/cache"),
        }
    }
}

/// Which differences a fused requantization may make.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Fusion {
    /// The differences that a fusion may make. Absent: the target's default.
    pub accept: Option<Accept>,
    /// With `accept = "bounded"`: the largest difference, in units of the last place of the output. Absent: 1.
    #[schemars(range(min = 1, max = 255))]
    pub max_lsb: Option<u32>,
    /// What to do if a fusion row of the target's table matches but does not fuse the requantization, because the row accepts
    /// no suitable form, because there is no proof, or because the difference is not accepted.
    pub refused: Refused,
}

/// Consequence where a row of the target's table matches a requantization and does not fuse it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Refused {
    /// The requantization stays an operation of its own.
    #[default]
    Keep,
    /// The compilation fails. The message names each layer and the reason. A requantization for which there is no row is not a
    /// failure: the target computes it by itself.
    Error,
}

/// Where the result goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// The folder of the artifact. `{target}` stands for the id of the target. It is required if there are several targets.
    pub dir: PathByTarget,
    /// Further formats to write. It is an error if a target does not have one of them. Absent: all that the target asks for.
    pub emit: Option<Vec<Format>>,
    /// The type of 8-bit activations in the Q/DQ ONNX file. Both types represent the same numbers, with zero points that differ
    /// by 128. 16-bit activations are always `int16`.
    #[serde(default)]
    pub qdq_activations: QdqActivations,
}

/// Types of activations in the Q/DQ ONNX.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum QdqActivations {
    /// ONNX Runtime and OpenVINO have fast kernels for this type together with `int8` weights on every processor.
    #[default]
    Uint8,
    /// For runtimes that only support signed activations.
    Int8,
}
