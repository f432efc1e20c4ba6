//! Converts the preprocessing in a configuration to a [`Plan`]. In the plan, every step has the indices of its axes. So the
//! plan can be applied without knowing the letters of the axes or the order of the colours.

use strait_images::{self as images, Pipeline};
use strait_samples::{Operation, Plan};

use super::{
    leaf::Layout,
    types::{ColorOrder, Decode, Gray, Normalize, Orientation, Preprocess, Step},
};

/// Why a preprocessing is not possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PlanError {
    /// The position of the step in the list.
    pub step: usize,
    /// What is wrong with the step. The error shows this text next to the caret.
    pub message: &'static str,
    /// Advice to the user.
    pub help: &'static str,
}

/// The text of an error, and advice.
type Refused = (&'static str, &'static str);

const NEEDS_PIXELS: Refused = (
    "there are no pixels here",
    "steps on pixels stand behind { decode = {} }, the first step, and in front of those that compute with numbers or move axes",
);

const NEEDS_LAYOUT: &str = "say what the axes of the samples are: stored = { layout = \"NHWC\" }";

/// Converts the steps to a plan.
///
/// # Errors
/// A step is not possible: it needs information about the stored samples that the configuration does not have, or it
/// does not fit the samples. The first such step is reported.
pub fn plan(preprocess: &Preprocess) -> Result<Plan, PlanError> {
    let layout = preprocess.stored.layout.as_ref().map(Layout::as_str);
    let mut draft = Draft {
        stored: layout,
        layout,
        color: preprocess.stored.color,
        pixels: None,
        operations: Vec::new(),
    };
    for (step, position) in preprocess.steps.iter().zip(0..) {
        draft.add(step, position).map_err(|(message, help)| PlanError {
            step: position,
            message,
            help,
        })?;
    }
    Ok(Plan {
        stored: draft.stored.map(str::to_owned),
        pixels: draft.pixels,
        operations: draft.operations,
        layout: draft.layout.map(str::to_owned),
    })
}

/// A plan to which steps are being added, and what is known about the samples after its last step so far.
struct Draft<'a> {
    stored: Option<&'a str>,
    layout: Option<&'a str>,
    color: Option<ColorOrder>,
    pixels: Option<Pipeline>,
    operations: Vec<Operation>,
}

impl<'a> Draft<'a> {
    fn add(&mut self, step: &'a Step, position: usize) -> Result<(), Refused> {
        match step {
            Step::Decode(decode) => self.decode(decode, position),
            Step::Resize(resize) => self.on_pixels(resize.step()?),
            Step::Letterbox(letterbox) => self.on_pixels(letterbox.step()?),
            Step::Crop(crop) => self.on_pixels(crop.step()),
            Step::Gray(gray) => self.gray(gray),
            Step::Scale(factor) => self.compute(Operation::Scale(*factor as f32)),
            Step::Offset(offset) => self.compute(Operation::Offset(*offset as f32)),
            Step::Normalize(normalize) => {
                let operation = self.normalize(normalize)?;
                self.compute(operation)
            }
            Step::Color(wanted) => self.color(*wanted),
            Step::Layout(wanted) => self.layout(wanted.as_str()),
        }
    }

    fn compute(&mut self, operation: Operation) -> Result<(), Refused> {
        self.operations.push(operation);
        Ok(())
    }

    fn decode(&mut self, decode: &Decode, position: usize) -> Result<(), Refused> {
        if position > 0 {
            return Err(("it is not the first step", NEEDS_PIXELS.1));
        }
        if self.layout.is_some() || self.color.is_some() {
            let help = "leave `stored` out: decoded images are NHWC and RGB";
            return Err(("`stored` is for arrays", help));
        }
        self.pixels = Some(Pipeline {
            turn: decode.orientation == Orientation::Upright,
            steps: Vec::new(),
        });
        (self.stored, self.layout, self.color) = (Some("NHWC"), Some("NHWC"), Some(ColorOrder::Rgb));
        Ok(())
    }

    /// Returns the list of the steps on pixels, to which a step can be added. Returns `None` if there is already
    /// another step, because steps on pixels come before all other steps.
    fn pixels(&mut self) -> Option<&mut Vec<images::Step>> {
        let pixels = self.pixels.as_mut().filter(|_| self.operations.is_empty());
        pixels.map(|pixels| &mut pixels.steps)
    }

    fn on_pixels(&mut self, step: images::Step) -> Result<(), Refused> {
        self.pixels().ok_or(NEEDS_PIXELS)?.push(step);
        Ok(())
    }

    fn gray(&mut self, gray: &Gray) -> Result<(), Refused> {
        let first_is_blue = self.color == Some(ColorOrder::Bgr);
        self.on_pixels(images::Step::Gray {
            like: gray.like,
            first_is_blue,
        })?;
        // A single channel has no order of colours. A second `gray` step finds no order and is refused.
        match self.color.take() {
            Some(_) => Ok(()),
            None => Err(("there is one channel already", "leave it out")),
        }
    }

    fn color(&mut self, wanted: ColorOrder) -> Result<(), Refused> {
        let Some(known) = self.color.replace(wanted) else {
            return Err(match self.pixels {
                Some(_) => ("one channel of gray has no order", "leave it out"),
                None => (
                    "the order of the stored colors is not known",
                    "say what the colors of the samples are: stored = { layout = \"NHWC\", color = \"RGB\" }",
                ),
            });
        };
        let axis = self.channel_axis()?;
        if known == wanted {
            return Ok(());
        }
        match self.pixels() {
            Some(steps) => steps.push(images::Step::SwapColors),
            None => self.operations.push(Operation::SwapColors { axis }),
        }
        Ok(())
    }

    fn channel_axis(&self) -> Result<usize, Refused> {
        let layout = self
            .layout
            .ok_or(("the axis of the channels is not known", NEEDS_LAYOUT))?;
        layout.find('C').ok_or(("the samples have no axis C", NEEDS_LAYOUT))
    }

    fn normalize(&self, normalize: &Normalize) -> Result<Operation, Refused> {
        let mean: Vec<f32> = normalize.mean.iter().map(|&mean| mean as f32).collect();
        let std: Vec<f32> = normalize.std.iter().map(|&std| std as f32).collect();
        if std.contains(&0.0) {
            return Err(("`std` is 0", "divide by something"));
        }
        if let (&[mean], &[std]) = (mean.as_slice(), std.as_slice()) {
            return Ok(Operation::NormalizeAll { mean, std });
        }
        let channels = mean.len().max(std.len());
        let (Some(mean), Some(std)) = (spread(&mean, channels), spread(&std, channels)) else {
            let help = "give one number for all channels, or one for each";
            return Err(("`mean` and `std` differ in length", help));
        };
        let axis = self.channel_axis()?;
        Ok(Operation::NormalizeChannels { axis, mean, std })
    }

    fn layout(&mut self, wanted: &'a str) -> Result<(), Refused> {
        let known = self.layout.ok_or(("the stored axes are not known", NEEDS_LAYOUT))?;
        let axes: Option<Vec<usize>> = wanted.chars().map(|axis| known.find(axis)).collect();
        // The letters are distinct. So if all of them were found among the letters of the axes, and there are as many
        // letters as axes, they are a permutation of the axes.
        let axes = axes.filter(|axes| axes.len() == known.len()).ok_or((
            "not a permutation of the axes so far",
            "a layout step keeps every axis and adds none",
        ))?;
        if !axes.is_sorted() {
            self.operations.push(Operation::Permute { axes });
        }
        self.layout = Some(wanted);
        Ok(())
    }
}

/// One number for each channel. A single number is repeated for all channels.
fn spread(numbers: &[f32], channels: usize) -> Option<Vec<f32>> {
    match numbers {
        [only] => Some(vec![*only; channels]),
        _ => (numbers.len() == channels).then(|| numbers.to_vec()),
    }
}
