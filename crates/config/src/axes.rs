//! The axes of the model's inputs, and of the samples for them.
//!
//! In files, samples are along the first axis, `N`. In an input of the model, the batch can be another axis, or there is none:
//!
//! ```text
//! samples  NTC    input  TNC  batch_axis = 1
//! samples  NAC    input  AC   batch_axis = "none"
//! ```

use std::{borrow::Cow, collections::BTreeMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    leaf::{Axes, Layout},
    refused::{Refused, refused},
    types::{Config, Input},
};

/// The letter of the batch.
const BATCH: char = 'N';

/// The axis of the batch in an input of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum BatchAxis {
    /// No axis.
    None(NoBatch),
    /// The axis, counted from 0.
    Axis(u32),
}

/// The word for an input without a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum NoBatch {
    /// The input has no batch, such as a table of anchors. A file with an array of exactly the shape of the input is the same
    /// sample each time. Other files have a tensor for each sample.
    #[serde(rename = "none")]
    None,
}

impl Input {
    /// The axis of the batch in the model's input. `None` if it has none.
    pub(super) fn batch(&self) -> Option<usize> {
        match self.batch_axis {
            None => Some(0),
            Some(BatchAxis::Axis(axis)) => Some(axis as usize),
            Some(BatchAxis::None(NoBatch::None)) => None,
        }
    }

    /// The letters of the axes of the model's input, for samples with these axes.
    pub(super) fn of_samples(&self, layout: &Layout) -> String {
        let mut letters = layout.as_str().replace(BATCH, "");
        if let Some(axis) = self.batch() {
            letters.insert(axis.min(letters.len()), BATCH);
        }
        letters
    }

    /// Checks that the layouts of the input and of its device have the batch where `batch_axis` says.
    pub(super) fn check_axes(&self) -> Result<(), Refused> {
        let message = |what: &str, letters: &str, found: Option<usize>| match (found, self.batch()) {
            (found, wanted) if found == wanted => None,
            (Some(at), None) => Some(format!(
                "{what} {letters:?} has an axis N for the batch, axis {at}, and `batch_axis` says that there is none"
            )),
            (None, _) => Some(format!("{what} {letters:?} has no axis N, which stands for the batch")),
            (Some(at), Some(wanted)) => Some(format!(
                "in {what} {letters:?}, N, the batch, is axis {at}, and `batch_axis` is {wanted}"
            )),
        };
        let help = |found: Option<usize>| match found {
            Some(0) => "leave `batch_axis` out, or leave N out of the layout".to_owned(),
            Some(at) => format!("say batch_axis = {at}, or give the axes in the order of the model"),
            None => "add N where the batch is, or say batch_axis = \"none\"".to_owned(),
        };
        if let Some(layout) = &self.layout {
            let found = layout.as_str().find(BATCH);
            if let Some(message) = message("the layout", layout.as_str(), found) {
                return Err(refused("layout", message, help(found)));
            }
        }
        // The device may have the batch elsewhere than the model, as it may have any axis.
        let device = self.device.as_ref().and_then(|device| device.layout.as_ref());
        match device.filter(|layout| layout.as_str().contains(BATCH) != self.batch().is_some()) {
            None => Ok(()),
            Some(layout) => {
                let found = layout.as_str().find(BATCH);
                let message = message("its layout", layout.as_str(), found).unwrap_or_default();
                Err(refused("device", message, help(found)))
            }
        }
    }
}

/// The layout of samples for a tensor with these axes.
pub(super) fn samples_of(axes: &Axes) -> Layout {
    let letters: Cow<'_, str> = match axes.as_str().starts_with(BATCH) {
        true => axes.as_str().into(),
        false => format!("{BATCH}{}", axes.as_str().replace(BATCH, "")).into(),
    };
    Layout::new(&letters)
}

impl Config {
    /// The axis of the batch in inputs in which it is not the first axis; `None` for an input without a batch.
    pub fn batch_axes(&self) -> BTreeMap<String, Option<usize>> {
        let axes = self.input.iter().map(|(name, input)| (name.clone(), input.batch()));
        axes.filter(|(_, axis)| *axis != Some(0)).collect()
    }
}
