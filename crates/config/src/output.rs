//! `[output]`: where the result is written, and in which formats.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strait_document::KeyPath;
use strait_target::spec::Format;

use super::leaf::{FilePath, PathByTarget};

/// Where the result is written, and in which formats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// The folder of the artifact. `{target}` in the path stands for the id of the target, and is required if there are several
    /// targets.
    pub dir: PathByTarget,
    /// The formats that are written in addition to the artifact. It is an error if a target does not support one of them.
    /// Absent: the formats that the target's table lists.
    pub emit: Option<Vec<Format>>,
    /// The type of 8-bit activations in the Q/DQ ONNX file. Both types represent the same real numbers, with zero points that
    /// differ by 128. 16-bit activations are always `int16`.
    #[serde(default)]
    pub qdq_activations: QdqActivations,
    /// The forms in which the report is written. `report.json` is always written. `"html"` adds `report.html`, one page with
    /// plots that needs no other file.
    #[serde(default)]
    pub report: Vec<ReportForm>,
    /// Leaves the names of layers and tensors, pictures of samples and the statistics of weights out of `report.html`, and
    /// pictures and the statistics of weights out of `report.json`. Names stay in `report.json`, because `strait verify` compares it with the model.
    #[serde(default)]
    pub redact: bool,
    /// What is written for a single target, by the target's id.
    #[serde(default)]
    pub target: BTreeMap<String, OutputOfTarget>,
}

impl Output {
    /// Returns the formats that the configuration names for a target, and the key that names them. Returns `None` if the
    /// target's table decides.
    pub fn formats_of(&self, id: &str) -> Option<(KeyPath, &[Format])> {
        let own = self.target.get(id).and_then(|of_target| of_target.emit.as_deref());
        match own {
            Some(formats) => Some((KeyPath::of(&["output", "target", id, "emit"]), formats)),
            None => Some((KeyPath::of(&["output", "emit"]), self.emit.as_deref()?)),
        }
    }
}

/// A form of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReportForm {
    /// `report.json`, for programs.
    Json,
    /// `report.html`, for people.
    Html,
}

/// The type of 8-bit activations in the Q/DQ ONNX file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum QdqActivations {
    /// ONNX Runtime and OpenVINO have fast kernels for `uint8` activations with `int8` weights on every processor.
    #[default]
    Uint8,
    /// For runtimes that only support signed activations.
    Int8,
}

/// What is written for a single target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OutputOfTarget {
    /// The formats for this target. Absent: `emit` of `[output]`.
    pub emit: Option<Vec<Format>>,
    /// The order of the axes of images at the inputs and outputs of the TFLite file. An image is a tensor with four or more
    /// axes.
    pub layout: FileLayout,
    /// The type of the inputs of the TFLite file.
    pub inputs: FileType,
    /// The type of the outputs of the TFLite file. If it is a type of codes, a softmax at an output also computes on codes.
    /// Otherwise it runs in float, which is more accurate.
    pub outputs: FileType,
    /// A text file with the name of each class in a line. It is stored in the TFLite file, as the labels of the last axis of the
    /// only output.
    pub labels: Option<FilePath>,
    /// Keys and values of a decoder's past, which are codes at the inputs and outputs of the ONNX file of quantized operators
    /// (`"qoperator-onnx"`). The past and the present of a layer have one scale for the whole tensor, so that the present of a
    /// step is the past of the next one without loss.
    pub cache: Vec<Cache>,
}

/// Inputs and outputs with keys or values of a decoder's past, which are codes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// The names of the inputs with the past. `*` stands for any text, for instance the number of the layer. Absent: the model
    /// computes the first tokens and has no past.
    pub past: Option<String>,
    /// The names of the outputs with the present. `*` stands for the text that it stands for in the name of the past of the same
    /// layer.
    pub present: String,
    /// The type of the codes.
    #[serde(rename = "type", default)]
    pub ty: CacheType,
    /// The folder of an artifact with outputs of the same names, whose scales are used. This way, the model for the first tokens
    /// and the model for the next ones have the same codes. Absent: scales are computed from the largest absolute values of past
    /// and present in the calibration samples.
    pub grids: Option<FilePath>,
}

/// The type of the codes of keys and values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CacheType {
    /// Codes of 8 bits with the zero point 0.
    #[default]
    Int8,
    /// Codes of 8 bits with the zero point 128. This is also the type of activations in the file, so a model whose activations are
    /// quantized needs no conversion.
    Uint8,
}

/// The order of the axes of images at the inputs and outputs of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum FileLayout {
    /// The channels are the second axis, as in the model. If the file's format wants them last, the file transposes the images.
    #[default]
    #[serde(rename = "NCHW")]
    ChannelsFirst,
    /// The channels are the last axis.
    #[serde(rename = "NHWC")]
    ChannelsLast,
}

/// The type of the inputs or outputs of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileType {
    /// Real numbers. The file quantizes its inputs and dequantizes its outputs.
    #[default]
    Float,
    /// Codes of 8 bits. The tensor in the file has their scale and zero point.
    Int8,
    /// Codes of 8 bits without sign. Compared with `"int8"`, code and zero point are larger by 128.
    Uint8,
    /// Codes of 16 bits, for activations of 16 bits.
    Int16,
}
