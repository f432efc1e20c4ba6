//! What the device hands over at an input, and which steps of the preprocessing become part of the model.
//!
//! The steps on pixels, and all steps before the last of them, stay outside of the model. The steps behind them compute
//! with numbers or move axes. With `embed = "normalize"` they are left out of the preprocessing and put into the graph,
//! so that samples for such an input are what the device hands over:
//!
//! ```text
//! decode · letterbox ┊ color · scale · normalize · layout ─▶ the model's input
//!                    ┊
//!                    └─▶ color and layout of the device: the artifact's input
//! ```

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strait_compile::EmbeddedInput;

use super::{
    axes::samples_of,
    leaf::{Axes, Layout},
    refused::{Refused, refused},
    types::{ColorOrder, Config, Input, Normalize, Preprocess, Step},
};

/// What the device hands over at run time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// The type of the numbers.
    #[serde(rename = "type")]
    pub ty: DeviceType,
    /// The meaning of the axes, one letter for each, such as `"NHWC"`. `N` stands for the batch. Absent: the axes of the samples in front of the steps
    /// that compute with numbers.
    pub layout: Option<Axes>,
    /// The order of the three colour channels. Absent: the order of the samples in front of the steps that compute with
    /// numbers.
    pub color: Option<ColorOrder>,
    /// If the type is one of codes: the number behind a code q is scale · (q − zero_point). Default: 1.
    pub scale: Option<f64>,
    /// If the type is one of codes: the code of the number 0. Default: 0. A device that hands over bytes less 128 has the type
    /// `"int8"` and the zero point -128.
    pub zero_point: Option<i32>,
}

/// The type of the numbers that a device hands over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DeviceType {
    /// Bytes, as cameras have them.
    Uint8,
    /// Bytes with a sign.
    Int8,
    /// Real numbers.
    Float32,
}

/// Which steps of the preprocessing become part of the artifact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Embed {
    /// None: the device does all of them.
    #[default]
    None,
    /// The steps behind the last step on pixels: `color`, `scale`, `offset`, `normalize` and `layout`. `device` has to say
    /// what the artifact takes, with the type `"uint8"` or `"int8"`.
    Normalize,
    /// All steps, apart from `decode`, which reads a file. It is an error if there is a step on pixels, which cannot become
    /// part of the model.
    All,
}

impl DeviceType {
    /// The name of the type.
    pub fn name(self) -> &'static str {
        match self {
            DeviceType::Uint8 => "uint8",
            DeviceType::Int8 => "int8",
            DeviceType::Float32 => "float32",
        }
    }

    /// The name of the type in a graph, and the smallest and the largest code. `None` for real numbers.
    fn codes(self) -> Option<(&'static str, [i32; 2])> {
        match self {
            DeviceType::Uint8 => Some(("u8", [0, 255])),
            DeviceType::Int8 => Some(("i8", [-128, 127])),
            DeviceType::Float32 => None,
        }
    }
}

/// The layout and the order of colours of an input of the artifact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputForm {
    /// The letters of the axes.
    pub layout: Option<String>,
    /// The order of the three colour channels.
    pub color: Option<ColorOrder>,
}

/// An input whose steps become part of the model.
pub(super) struct OnDevice {
    /// The steps that stay outside.
    pub(super) preprocess: Preprocess,
    pub(super) embedded: EmbeddedInput,
}

impl Device {
    /// The name of the type in a graph, and the smallest and the largest code. `None` for real numbers.
    fn checked(&self) -> Result<Option<(&'static str, [i32; 2])>, Refused> {
        let found = self.ty.codes();
        if found.is_none() {
            let has_codes = self.scale.is_some() || self.zero_point.is_some();
            return match has_codes {
                false => Ok(None),
                true => Err(refused(
                    "device",
                    "real numbers have no scale and no zero point",
                    "leave `scale` and `zero_point` out, or give a type of codes",
                )),
            };
        }
        if self.scale.is_some_and(|scale| !(scale.is_finite() && scale > 0.0)) {
            return Err(refused(
                "device",
                "its scale is not above 0",
                "leave `scale` out if it is 1",
            ));
        }
        Ok(found)
    }
}

impl Config {
    /// How stored samples are converted to the numbers of an input. If steps become part of the model, these are the numbers
    /// that the device hands over.
    pub fn preprocess_of(&self, name: &str) -> Preprocess {
        let input = self.input.get(name);
        let steps = input
            .and_then(|input| input.preprocess.as_ref())
            .unwrap_or(&self.preprocess);
        let Some(input) = input else { return steps.clone() };
        match on_device(name, input, steps) {
            Ok(Some(found)) => found.preprocess,
            _ => in_layout(input, steps),
        }
    }

    /// The layout and the order of colours of the artifact's input, as far as the configuration states them.
    pub fn form_of(&self, name: &str) -> InputForm {
        let steps = self.preprocess_of(name);
        let mut form = Form {
            layout: steps.stored.layout.clone(),
            color: steps.stored.color,
        };
        steps.steps.iter().for_each(|step| form.behind(step));
        let input = self.input.get(name);
        let stated = input.and_then(|input| match (input.embed, &input.device) {
            (Embed::None, _) => input.layout.as_ref(),
            (_, device) => device.as_ref()?.layout.as_ref(),
        });
        let of_samples = |layout: &Layout| match input {
            Some(input) => input.of_samples(layout),
            None => layout.as_str().to_owned(),
        };
        InputForm {
            layout: stated
                .map(|axes| axes.as_str().to_owned())
                .or(form.layout.as_ref().map(of_samples)),
            color: form.color,
        }
    }

    /// What the device hands over at an input, if this is not the artifact's input itself.
    pub fn device_of(&self, name: &str) -> Option<&Device> {
        let input = self.input.get(name).filter(|input| input.embed == Embed::None)?;
        input.device.as_ref()
    }

    /// The inputs whose steps become part of the model.
    pub fn embedded(&self) -> Vec<EmbeddedInput> {
        let inputs = self.input.iter().filter_map(|(name, input)| {
            let steps = input.preprocess.as_ref().unwrap_or(&self.preprocess);
            Some(on_device(name, input, steps).ok()??.embedded)
        });
        inputs.collect()
    }
}

/// The layout and the order of colours of samples at a place between the steps.
#[derive(Clone)]
struct Form {
    layout: Option<Layout>,
    color: Option<ColorOrder>,
}

impl Form {
    fn behind(&mut self, step: &Step) {
        match step {
            Step::Decode(_) => {
                (self.layout, self.color) = (Some(Layout::new("NHWC")), Some(ColorOrder::Rgb));
            }
            Step::Gray(_) => self.color = None,
            Step::Color(color) => self.color = Some(*color),
            Step::Layout(layout) => self.layout = Some(layout.clone()),
            _ => {}
        }
    }
}

fn is_on_pixels(step: &Step) -> bool {
    matches!(
        step,
        Step::Decode(_) | Step::Resize(_) | Step::Letterbox(_) | Step::Crop(_) | Step::Gray(_)
    )
}

/// The steps, with what is known of stored arrays: they are what the device hands over, unless the configuration says
/// otherwise.
pub(super) fn with_stored(input: &Input, steps: &Preprocess) -> Preprocess {
    let mut steps = steps.clone();
    let is_image = matches!(steps.steps.first(), Some(Step::Decode(_)));
    if let (Some(device), false, Embed::Normalize | Embed::All) = (&input.device, is_image, input.embed) {
        steps.stored.layout = steps.stored.layout.or(device.layout.as_ref().map(samples_of));
        steps.stored.color = steps.stored.color.or(device.color);
    }
    steps
}

/// The steps, and the change to the axes of the model that `layout` of the input asks for.
fn in_layout(input: &Input, steps: &Preprocess) -> Preprocess {
    let mut form = Form {
        layout: steps.stored.layout.clone(),
        color: None,
    };
    steps.steps.iter().for_each(|step| form.behind(step));
    let mut steps = steps.clone();
    if let (Some(wanted), Some(own)) = (input.layout.as_ref().map(samples_of), form.layout)
        && own != wanted
    {
        steps.steps.push(Step::Layout(wanted));
    }
    steps
}

/// Splits the steps of an input into those that stay outside and those that become part of the model. `None` if all of them
/// stay outside.
pub(super) fn on_device(name: &str, input: &Input, steps: &Preprocess) -> Result<Option<OnDevice>, Refused> {
    input.check_axes()?;
    let Some(device) = &input.device else {
        if input.embed == Embed::None {
            return Ok(None);
        }
        let help = "for a camera, device = { type = \"uint8\", layout = \"NHWC\", color = \"RGB\" }";
        return Err(refused("embed", "it is not said what the device hands over", help));
    };
    let codes = device.checked()?;
    if input.embed == Embed::None {
        return Ok(None);
    }
    let Some((elem, codes)) = codes else {
        let message = "only numbers of the types uint8 and int8 are normalized in the model";
        let help = "say embed = \"none\", or hand over \"uint8\" or \"int8\"";
        return Err(refused("embed", message, help));
    };
    let split = steps.steps.iter().rposition(is_on_pixels).map_or(0, |last| last + 1);
    let (outside, inside) = steps.steps.split_at(split);
    let is_image = matches!(outside.first(), Some(Step::Decode(_)));
    if input.embed == Embed::All
        && let Some(step) = outside
            .iter()
            .skip(usize::from(is_image))
            .find(|step| is_on_pixels(step))
    {
        let message = format!("the step `{}` cannot become part of the model", step.name());
        let help = "leave the step out and give samples of the size that the device hands over, or say embed = \"normalize\": \
                    the device then does the steps on pixels";
        return Err(refused("embed", message, help));
    }
    let mut preprocess = Preprocess {
        steps: outside.to_vec(),
        ..with_stored(input, steps)
    };
    let mut form = Form {
        layout: preprocess.stored.layout.clone(),
        color: preprocess.stored.color,
    };
    outside.iter().for_each(|step| form.behind(step));
    let handed = Form {
        layout: device.layout.as_ref().map(samples_of).or(form.layout.clone()),
        color: device.color.or(form.color),
    };
    if handed.color != form.color {
        if form.color.is_none() {
            let help = "leave `color` out";
            return Err(refused("device", "one channel of gray has no order of colours", help));
        }
        preprocess.steps.extend(handed.color.map(Step::Color));
    }
    if handed.layout != form.layout {
        preprocess.steps.extend(handed.layout.clone().map(Step::Layout));
    }
    let zero_point = device.zero_point.unwrap_or(0);
    if is_image {
        // The levels 0 to 255 have to be the codes, apart from a difference.
        let levels = [zero_point, zero_point.saturating_add(255)];
        if device.scale.is_some_and(|scale| scale != 1.0) || levels != codes {
            let message = "its codes are not the levels of images, from 0 to 255, for each of which a code is needed";
            let help = format!("leave `scale` out, and say zero_point = {}", codes[0]);
            return Err(refused("device", message, help));
        }
        if zero_point != 0 {
            preprocess.steps.push(Step::Offset(zero_point.into()));
        }
    }
    let mut affine = Affine {
        offset: vec![zero_point.into()],
        factor: vec![device.scale.unwrap_or(1.0)],
    };
    for step in inside {
        let zero = || {
            refused(
                "preprocess",
                "a factor of 0 makes the input constant",
                "leave the step out",
            )
        };
        affine.add(step, form.color).ok_or_else(zero)?;
        form.behind(step);
    }
    let letters = |stated: &Option<Axes>, samples: &Option<Layout>| match stated {
        Some(axes) => Some(axes.as_str().to_owned()),
        None => samples.as_ref().map(|layout| input.of_samples(layout)),
    };
    let (axes, channel) = match (
        letters(&input.layout, &form.layout),
        letters(&device.layout, &handed.layout),
    ) {
        (Some(model), Some(device)) => {
            let axes: Option<Vec<usize>> = model.chars().map(|axis| device.find(axis)).collect();
            let axes = axes.filter(|axes| axes.len() == device.len()).ok_or_else(|| {
                let help = "both have the same letters, in another order";
                refused("device", "its layout has other axes than the model's input", help)
            })?;
            let moves = !axes.iter().copied().eq(0..axes.len());
            (if moves { axes } else { Vec::new() }, model.find('C'))
        }
        (None, None) => (Vec::new(), None),
        _ => {
            let help = "say what the axes of the model's input are: layout = \"NCHW\"";
            return Err(refused("device", "the axes of the model's input are not known", help));
        }
    };
    let reversed = handed.color.is_some() && form.color.is_some() && handed.color != form.color;
    let channel = match channel {
        Some(channel) => channel,
        None if affine.offset.len() == 1 && !reversed => 1,
        None => {
            let help = "say what the axes of the model's input are: layout = \"NCHW\"";
            return Err(refused("device", "the axis of the channels is not known", help));
        }
    };
    if reversed {
        affine.reverse();
    }
    let embedded = EmbeddedInput {
        name: name.to_owned(),
        elem: elem.to_owned(),
        axes,
        channel,
        offset: affine.offset,
        factor: affine.factor,
        reversed,
    };
    Ok(Some(OnDevice { preprocess, embedded }))
}

/// (x − offset\[c\]) · factor\[c\], with one number for all channels or one for each.
struct Affine {
    offset: Vec<f64>,
    factor: Vec<f64>,
}

impl Affine {
    /// Adds a step in front of which the channels have the order `color`. `None` if a factor is 0 or not finite.
    fn add(&mut self, step: &Step, color: Option<ColorOrder>) -> Option<()> {
        match step {
            Step::Scale(scale) => self.each(&[0.0], &[1.0 / scale]),
            Step::Offset(offset) => self.each(&[-offset], &[1.0]),
            Step::Normalize(Normalize { mean, std }) => self.each(mean, std),
            Step::Color(wanted) if color.is_some_and(|color| color != *wanted) => {
                self.reverse();
                Some(())
            }
            _ => Some(()),
        }
    }

    /// Adds (y − mean) / std.
    fn each(&mut self, mean: &[f64], std: &[f64]) -> Option<()> {
        let count = self.offset.len().max(mean.len()).max(std.len());
        let at = |list: &[f64], index: usize| list.get(index).or(list.first()).copied();
        let (mut offsets, mut factors) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for index in 0..count {
            let (offset, factor) = (at(&self.offset, index)?, at(&self.factor, index)?);
            offsets.push(offset + at(mean, index)? / factor);
            factors.push(factor / at(std, index)?);
        }
        let fine = (offsets.iter().chain(&factors)).all(|number| number.is_finite());
        (fine && factors.iter().all(|&factor| factor != 0.0)).then_some(())?;
        (self.offset, self.factor) = (offsets, factors);
        Some(())
    }

    fn reverse(&mut self) {
        self.offset.reverse();
        self.factor.reverse();
    }
}
