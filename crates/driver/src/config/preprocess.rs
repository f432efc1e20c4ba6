//! The preprocessing of a configuration, resolved: every step of a [`Plan`] knows the axis that it acts on, so that
//! whoever applies the plan needs neither letters nor colours.

use strait_samples::{Operation, Plan};

use super::{
    leaf::Layout,
    types::{Preprocess, Step},
};

/// Reason why a preprocessing is not possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PlanError {
    /// The position of the step in the list.
    pub step: usize,
    /// The fault, for the caret.
    pub message: &'static str,
    /// Advice to the user.
    pub help: &'static str,
}

const NEEDS_LAYOUT: &str = "say what the axes of the samples are: stored = { layout = \"NHWC\" }";

/// Resolves the steps.
///
/// # Errors
/// The first step that is not possible: it needs to know what was not said about the samples as stored, or does
/// not fit it.
pub fn plan(preprocess: &Preprocess) -> Result<Plan, PlanError> {
    let mut layout = preprocess.stored.layout.as_ref().map(Layout::as_str);
    let mut color = preprocess.stored.color;
    let stored = layout.map(str::to_owned);
    let mut operations = Vec::new();
    for (position, step) in preprocess.steps.iter().enumerate() {
        let refused = |message, help| PlanError {
            step: position,
            message,
            help,
        };
        let channel_axis = || {
            let layout = layout.ok_or_else(|| refused("the axis of the channels is not known", NEEDS_LAYOUT))?;
            layout
                .find('C')
                .ok_or_else(|| refused("the samples have no axis C", NEEDS_LAYOUT))
        };
        match step {
            Step::Scale(factor) => operations.push(Operation::Scale(*factor as f32)),
            Step::Offset(offset) => operations.push(Operation::Offset(*offset as f32)),
            Step::Normalize(normalize) => {
                let mean: Vec<f32> = normalize.mean.iter().map(|&mean| mean as f32).collect();
                let std: Vec<f32> = normalize.std.iter().map(|&std| std as f32).collect();
                if std.contains(&0.0) {
                    return Err(refused("`std` is 0", "divide by something"));
                }
                operations.push(match (mean.as_slice(), std.as_slice()) {
                    (&[mean], &[std]) => Operation::NormalizeAll { mean, std },
                    _ => {
                        let channels = mean.len().max(std.len());
                        let (Some(mean), Some(std)) = (spread(&mean, channels), spread(&std, channels)) else {
                            let help = "give one number for all channels, or one for each";
                            return Err(refused("`mean` and `std` differ in length", help));
                        };
                        Operation::NormalizeChannels {
                            axis: channel_axis()?,
                            mean,
                            std,
                        }
                    }
                });
            }
            Step::Color(wanted) => {
                let known = color.ok_or_else(|| {
                    let help =
                        "say what the colors of the samples are: stored = { layout = \"NHWC\", color = \"RGB\" }";
                    refused("the order of the stored colors is not known", help)
                })?;
                let axis = channel_axis()?;
                if known != *wanted {
                    operations.push(Operation::SwapColors { axis });
                }
                color = Some(*wanted);
            }
            Step::Layout(wanted) => {
                let known = layout.ok_or_else(|| refused("the stored axes are not known", NEEDS_LAYOUT))?;
                let axes: Option<Vec<usize>> = wanted.as_str().chars().map(|axis| known.find(axis)).collect();
                // Letters are distinct, so as many and all found is a permutation.
                let axes = axes.filter(|axes| axes.len() == known.len()).ok_or_else(|| {
                    refused(
                        "not a permutation of the axes so far",
                        "a layout step keeps every axis and adds none",
                    )
                })?;
                if !axes.is_sorted() {
                    operations.push(Operation::Permute { axes });
                }
                layout = Some(wanted.as_str());
            }
        }
    }
    Ok(Plan {
        stored,
        operations,
        layout: layout.map(str::to_owned),
    })
}

/// One number stands for all channels.
fn spread(numbers: &[f32], channels: usize) -> Option<Vec<f32>> {
    match numbers {
        [only] => Some(vec![*only; channels]),
        _ => (numbers.len() == channels).then(|| numbers.to_vec()),
    }
}
