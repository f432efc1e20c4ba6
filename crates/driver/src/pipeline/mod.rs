//! The steps from a configuration to artifacts.
//!
//! ```text
//! read ─▶ canonicalise ─▶ observe ─┬▶ rewrite ─▶ quantize ─▶ fuse ─▶ verify ─▶ sanity ─▶ evaluate ─▶ write     for one target
//!                                  └▶ …                                                                         for the next one
//! ```

mod accuracy;
mod analyze;
mod before;
mod bytes;
mod cache;
mod calibrate;
mod check;
mod compile;
mod denied;
mod effects;
mod emit;
mod files;
mod first;
mod gates;
mod given;
pub(crate) mod inputs;
mod job;
mod keeping;
mod lowered;
mod merge;
mod mixed;
mod model_grids;
mod nan;
mod observe;
mod operators;
mod outputs;
mod params;
mod pictures;
pub mod read;
mod ready;
mod record;
mod revised;
mod seen;
mod settings;
mod simulated;
mod single;
mod switches;
mod tflite;

pub use analyze::{AnalysisRequest, analyze};
pub use calibrate::{Calibrated, calibrate};
pub use check::check;
pub use compile::{Compiled, compile};
pub(crate) use emit::QDQ_ONNX_FILE;
pub use merge::merge;
pub(crate) use observe::Adapter;
pub use revised::{Changes, LayerChange, MetricChange, OutputChange, Revised, revised};
pub(crate) use seen::float_outputs;
pub use seen::{Seen, SeenInput, SeenSamples, input_names, seen};
pub(crate) use simulated::simulated;
