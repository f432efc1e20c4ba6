//! What the network sees, as small pictures, and the samples that it answers otherwise than in float.
//!
//! The pictures of all samples of one list have at most [`MOST_BYTES`] as PNG together, so that a report stays small. They
//! are made smaller until they fit.

use serde::{Deserialize, Serialize};

/// A list has at most this many samples.
pub const MOST_SAMPLES: usize = 12;

/// The pictures of one list have at most this many bytes together, before they are written as text.
pub const MOST_BYTES: usize = 160 << 10;

/// The longer side of a picture has at most this many pixels.
pub const MOST_SIDE: usize = 112;

/// The curve of a sample that is no picture has at most this many points.
pub const MOST_POINTS: usize = 64;

/// What the network sees at one input: the first calibration samples after their preprocessing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SeenInput {
    /// Name of the input.
    pub input: String,
    /// Shape of the input.
    pub shape: Vec<u64>,
    /// The number of calibration samples, of which the first are shown.
    pub of: u64,
    /// True if pictures show the levels from before the preprocessing. False if the smallest number of a sample is black, and
    /// the largest one is white.
    pub undone: bool,
    /// The level that is white in the pictures: 255, or the largest one of all samples if these are dark.
    pub white: u8,
    /// The samples.
    pub samples: Vec<SeenSample>,
    /// Why there are no samples; absent if there are some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}

/// A sample of a data set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SeenSample {
    /// Index of the sample, counted from 0.
    pub sample: u64,
    /// Path of the image below the folder of the set, if samples are images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How the sample looks; absent if it cannot be shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub look: Option<Look>,
}

/// How the numbers of a sample look.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Look {
    /// An image.
    Picture {
        /// Width and height of the picture.
        size: [u32; 2],
        /// Each pixel of the picture is the mean of a square of so many pixels wide and high.
        each: u32,
        /// The PNG file in base64.
        png: String,
    },
    /// Other numbers, in their order: the smallest and the largest one of neighbouring numbers.
    Curve(Vec<[f32; 2]>),
}

/// The samples of `[evaluation]` that the integer model answers otherwise than the float model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ChangedAnswers {
    /// Name of the output that has the answers.
    pub output: String,
    /// The number of samples whose answers were compared.
    pub compared: u64,
    /// The number of samples whose answer changed.
    pub changed: u64,
    /// The number of samples that only the float model answers right. Absent without labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
    /// The number of samples that only the integer model answers right. Absent without labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub won: Option<u64>,
    /// Some of the samples whose answer changed: those of which the float model was surest come first.
    pub samples: Vec<ChangedSample>,
}

/// A sample whose answer changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ChangedSample {
    /// The sample, with its first input that can be shown.
    pub seen: SeenSample,
    /// The right class, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<i64>,
    /// What the float model answers.
    pub float: GivenAnswer,
    /// What the integer model answers.
    pub integer: GivenAnswer,
}

/// What a model answers to a sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GivenAnswer {
    /// The class.
    pub class: i64,
    /// The model's score of this class. Absent if the output has no scores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// How much larger the score is than the next largest one. Absent if the output has no scores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
}
