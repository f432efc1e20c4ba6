//! The tables of a configuration. The documentation of these types is the reference for users: `docs/configuration.md`
//! and the JSON schema are made from it, and every file is checked against these types.
//!
//! Many keys are an `Option` without a stated default. If such a key is missing, the target or the data determine its
//! value.

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
use super::leaf::{Axes, FORMATS, FilePath, Layout, Pattern, Range, Sha256};
pub use super::output::{Cache, CacheType, FileLayout, FileType, Output, OutputOfTarget, QdqActivations, ReportForm};
pub use super::plugins::{Pin, PinnedFile, Plugin, TableFile, Trust, Unpinned};
pub use super::{
    axes::{BatchAxis, NoBatch},
    data::{Data, NotANumber, Unreadable},
    device::{Device, DeviceType, Embed},
    gate::{FusionGate, Gate, SanityGate},
    images::{Crop, Decode, Gray, Letterbox, Orientation, Resize},
    optimize::{Optimize, Preset},
    precision::{AccuracyDrop, Budget, MayUse, SizeGoal},
    rewrite::Rewrite,
};

/// A deployment: the model that is compiled to an integer model, the targets, and the samples.
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
    /// How stored samples are converted to inputs of the model. These settings apply to every input that has no `preprocess` of
    /// its own.
    ///
    /// For a float input, samples of any numeric type are read as float32. The steps are then applied in their order, and each
    /// computes in float32. If the first step is `decode`, the samples are images. They stay 8-bit images until the first step
    /// that computes with numbers or moves axes.
    ///
    /// The samples for an integer or boolean input are not converted. The file has to have the type of the input, or a type
    /// whose numbers all fit into the type of the input, such as int32 for int64. Only the steps `color` and `layout` are
    /// possible.
    ///
    /// After the last step, a sample that has the number of elements of the model's input, but another shape, is reshaped to
    /// the shape of the input. Such a sample is refused if its axes are the axes of the input in another order.
    #[serde(default)]
    pub preprocess: Preprocess,
    /// The chips to compile for. The ranges of the model's values are measured once for all of them.
    pub target: Target,
    /// Plugins: shared libraries, each of which contains one target. Each plugin runs in a process of its own. Strait only
    /// loads the plugins that are listed here, and does not search folders or environment variables for others. The options of
    /// a plugin's target are in `[target.options.ID]`, as for all targets.
    #[serde(default)]
    pub plugin: Vec<Plugin>,
    /// What happens to plugins whose digest is not given.
    #[serde(default)]
    pub trust: Trust,
    /// The samples from which the ranges of activations are measured, or a record of a vendor's tool that already contains the
    /// grids. One of the two is required, unless the model is already quantized and has a grid for every value that needs one.
    #[serde(default)]
    pub calibration: Calibration,
    /// Switches for the rules that rewrite the float graph.
    #[serde(default)]
    pub rewrite: Rewrite,
    /// How values are quantized, as far as the target leaves a choice.
    #[serde(default)]
    pub quantize: Quantize,
    /// Algorithms that choose ranges, codes and biases from the calibration samples.
    #[serde(default)]
    pub optimize: Optimize,
    /// How much the result of a fusion may differ from the result of the separate operations that it replaces.
    #[serde(default)]
    pub fusion: Fusion,
    /// Samples with labels, on which the float model and the integer model are compared.
    ///
    /// For each metric, the report has the value for the float model and for the integer model, and their difference with a
    /// paired 95 % confidence interval. The method for the interval depends on the metric: Agresti and Min for metrics that
    /// count correct answers, Student for means over samples, and DeLong for `auc`. For `miou`, `map` and `snr` it is a
    /// bootstrap with 1000 resampled sets and a fixed seed. If there is no method for an interval, the report says so.
    ///
    /// The answers to one sample, such as those for the tokens of one text, depend on each other. So if samples have several
    /// answers, the error of a figure comes from the samples, and not from the answers. Let c_i be what sample i contributes to
    /// a sum over its n_i answers (right answers, for instance), p = Σ c_i / Σ n_i the figure, and m the number of samples. The
    /// variance of p is m/(m − 1) · Σ (c_i − p·n_i)² / (Σ n_i)². Percentages have Wilson's interval for as many independent
    /// answers as would have this variance; changes and `perplexity` have Student's interval with m − 1 degrees of freedom.
    pub evaluation: Option<Evaluation>,
    /// Requirements for the result. If one of them is not met, the exit code is 3. The artifact and the report are written even
    /// then.
    #[serde(default)]
    pub gate: Gate,
    /// Where the result is written.
    pub output: Output,
}

impl Document for Config {
    const NAME: &'static str = "the configuration";
    const SCHEMA: u32 = super::SCHEMA;
    const FORMATS: &'static [TextFormat] = FORMATS;
    const ADVICE: &'static [(&'static str, &'static str)] = super::advice::ADVICE;

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
    /// The SHA-256 digest that the file must have. It is an error if the file has another one.
    pub sha256: Option<Sha256>,
    /// The size of each symbolic dimension, by the name of the dimension in the model. To set a dimension of a single input,
    /// whether this dimension has a name or not, write the input and the axis: `"x.2" = 48`. A symbolic dimension that is the
    /// first one of every input is the batch. If it is not set here, its size is 1. Any other dimension without a size is an
    /// error. With the size 0 a tensor has no elements, for example the past of a decoder in its first step.
    #[serde(default)]
    pub bind: BTreeMap<String, u32>,
    /// Tensors or layers at which the compiled graph begins. If the list is empty, the graph begins at the inputs of the model.
    #[serde(default)]
    pub inputs: Vec<Pattern>,
    /// Tensors or layers at which the compiled graph ends. If the list is empty, the graph ends at the outputs of the model.
    #[serde(default)]
    pub outputs: Vec<Pattern>,
    /// What becomes of the part of the model that lies behind `outputs`.
    #[serde(default)]
    pub tail: Tail,
    /// What to do with TFLite layers that have quantized weights and float activations. TFLite quantizes these activations
    /// dynamically, anew in each run.
    pub hybrid: Option<Hybrid>,
}

/// What becomes of the part of a model that lies behind its cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tail {
    /// It is left out.
    #[default]
    Drop,
    /// The artifact has it as a float model, `tail.onnx`. `strait run` and `strait eval` run it behind the integer model, and
    /// metrics are those of the whole model.
    Onnx,
}

/// How to compile TFLite layers that have quantized weights and float activations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Hybrid {
    /// Run such layers in float, with dequantized weights. Without this key, models with such layers are refused.
    Float,
}

/// Properties of one input of the model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The smallest and the largest value of the input, after preprocessing. If they are given, the range of the input is not
    /// measured.
    pub range: Option<Range>,
    /// Replaces `[preprocess]` for this input.
    pub preprocess: Option<Preprocess>,
    /// The meaning of the axes of the model's input, one letter for each, such as `"NCHW"`. `N` stands for the batch. If the
    /// steps of the preprocessing leave the axes in another order, they are put into this one.
    pub layout: Option<Axes>,
    /// The axis of the batch in the model's input, counted from 0, or `"none"`. In files, samples are always along the first
    /// axis. Default: 0.
    pub batch_axis: Option<BatchAxis>,
    /// What the device hands over at run time. The files `manifest.json` and `deployment.json` state it.
    pub device: Option<Device>,
    /// Which steps of the preprocessing become part of the artifact.
    #[serde(default)]
    pub embed: Embed,
}

/// How stored samples are converted to inputs of the model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Preprocess {
    /// The layout of the stored samples, before the first step.
    pub stored: Stored,
    /// The steps, in the order in which they are applied. Each step has exactly one key.
    pub steps: Vec<Step>,
}

/// The layout and the order of colours of stored samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stored {
    /// The meaning of the axes, one letter for each, with `N` (the samples) first, such as `"NHWC"`. The steps `layout` and
    /// `color` need it, and so does `normalize` with a number for each channel.
    pub layout: Option<Layout>,
    /// The order of the three colour channels. The step `color` needs it.
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
    /// Multiplies every number by this number.
    Scale(f64),
    /// Adds this number to every number.
    Offset(f64),
    /// Subtracts `mean`, then divides by `std`.
    Normalize(Normalize),
    /// Puts the colour channels into this order.
    Color(ColorOrder),
    /// Puts the axes into this order, which is a permutation of the letters that the axes have before this step.
    Layout(Layout),
}

impl Step {
    /// The key of the step.
    pub fn name(&self) -> &'static str {
        match self {
            Step::Decode(_) => "decode",
            Step::Resize(_) => "resize",
            Step::Letterbox(_) => "letterbox",
            Step::Crop(_) => "crop",
            Step::Gray(_) => "gray",
            Step::Scale(_) => "scale",
            Step::Offset(_) => "offset",
            Step::Normalize(_) => "normalize",
            Step::Color(_) => "color",
            Step::Layout(_) => "layout",
        }
    }
}

/// Computes `(x - mean) / std`. Each of the two lists has one number for all channels, or one for each channel.
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

impl ColorOrder {
    /// The letters of the channels, in their order.
    pub fn letters(self) -> &'static str {
        match self {
            ColorOrder::Rgb => "RGB",
            ColorOrder::Bgr => "BGR",
        }
    }
}

/// The chips to compile for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The ids of the targets to compile for. A target is registered, or comes from `file`. `strait targets` lists them.
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
    /// Returns those options in the configuration that are options of the target's table.
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

/// The samples from which the ranges of activations are measured, or a record that already has the grids.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Calibration {
    /// Arrays or images, or a number of random samples.
    ///
    /// Arrays: an `.npy` for a model with one input, an `.npz` with an array for each input by its name, or a folder with a
    /// file `NAME.npy` for each input. The samples are along the first axis. Several `.npy` or `.npz` can be batches of one
    /// set. Give them as a folder, as a pattern such as `"batches/*.npy"`, or as a list of paths, here or in a `.txt` with one
    /// path in each line.
    ///
    /// Images, if the preprocessing begins with `decode`: a folder with `.png` and `.jpg` files, including its subfolders, in
    /// the order of their paths; a pattern such as `"images/**/*.jpg"`; or a list of paths. A model with several inputs needs a
    /// folder that contains a folder of images or an array for each input, named after the input. The first file or element for
    /// each input belongs to the first sample, the second to the second sample, and so on.
    ///
    /// `"random:64"`: this many samples with random numbers, to try the compiler without data. The artifact is then marked as
    /// not for deployment.
    pub data: Option<Data>,
    /// What to do with images that cannot be decoded.
    pub unreadable: Unreadable,
    /// What to do if the model computes NaN on the samples, or a sample contains NaN. There is no choice for infinite numbers,
    /// which cannot be part of a range: the nodes that compute them stay on the host.
    pub nan: NotANumber,
    /// A record in which a vendor's tool has written grids, for targets that can read one: AMCT's `record.txt` for `ascend`.
    /// The layers in the record get these grids, all other layers stay in float, and no ranges are measured.
    pub record: Option<FilePath>,
    /// The number of samples to use. These are the first samples of the set. It is an error if the set has fewer. Absent: all.
    pub samples: Option<NonZeroU32>,
    /// The observer, which determines a range from the measurements. Absent: the one that the target's table names.
    pub observer: Option<Observer>,
    /// Settings of the observer.
    pub observer_options: ObserverOptions,
    /// A quantization configuration in the format of a vendor's tool, for targets that can read it: AMCT's simple configuration
    /// (`.cfg`) for `ascend`. The settings in this file become rules. Rules of `[target.options]` and of `[quantize]` override
    /// them.
    pub config: Option<FilePath>,
    /// The folder where measurements are stored. They are reused if the model, the data and the preprocessing are the same.
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

/// How much the result of a fusion may differ from the result of the separate operations that it replaces.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Fusion {
    /// How much the result of a fusion may differ. Absent: the target's default.
    pub accept: Option<Accept>,
    /// With `accept = "bounded"`: the largest difference, in steps of the output's codes (LSB). Absent: 1.
    #[schemars(range(min = 1, max = 255))]
    pub max_lsb: Option<u32>,
    /// What to do if a fusion row of the target's table matches, but the requantization cannot be fused. This is the
    /// case if the row accepts no suitable form, if there is no proof, or if the difference is not accepted.
    pub refused: Refused,
}

/// What to do if a fusion row of the target's table matches a requantization but does not fuse it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Refused {
    /// The requantization stays a separate operation.
    #[default]
    Keep,
    /// The compilation fails. The message names each layer and the reason. A requantization for which the table has no fusion
    /// row is not a failure, because the target computes it as a separate operation.
    Error,
}
