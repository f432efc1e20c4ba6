//! Tests of deployments as users make them. All are in one program, so that it is linked once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod frozen;

mod acme;
mod amct;
mod analysis;
mod deploy;
mod device_inputs;
#[path = "end_to_end/main.rs"]
mod end_to_end;
mod images;
mod kernels;
#[path = "keys/main.rs"]
mod keys;
#[path = "metrics/main.rs"]
mod metrics;
mod mixed;
mod nhwc;
mod params;
#[path = "quantized/main.rs"]
mod quantized;
mod record;
mod report;
#[path = "sanity/main.rs"]
mod sanity;
mod tails;
mod tflite_files;
mod tflite_models;
