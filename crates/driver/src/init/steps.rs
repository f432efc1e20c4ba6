//! The preprocessing that fits stored samples to an input.

use strait_samples::NumberType;

use super::{
    data::{Stack, Stored},
    model::{Axis, Input, Order},
};

/// The preprocessing of one input, apart from the normalization.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Layout {
    /// The keys of `stored`, in TOML. Empty if nothing has to be said of the stored samples.
    pub(super) stored: String,
    /// The steps before the normalization.
    pub(super) before: Vec<String>,
    /// The steps after the normalization.
    pub(super) after: Vec<String>,
    /// True if the samples are levels from 0 to 255, which are usually normalized.
    pub(super) has_levels: bool,
    /// True if they are stored as bytes.
    pub(super) are_bytes: bool,
    /// What a device hands over that has the samples as they are stored. `None` if the input has not the shape of images.
    pub(super) device: Option<Device>,
    /// What was guessed, one sentence each.
    pub(super) guessed: Vec<String>,
    /// Sizes of the input's free axes that follow from the samples, by the key of `model.bind`.
    pub(super) bound: Vec<(String, u64)>,
}

/// What a device hands over at an input of images.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Device {
    /// The order of the axes of the model's input.
    pub(super) model: &'static str,
    /// The order of the axes that the device has.
    pub(super) layout: &'static str,
    /// The order of the colours, if there are colours.
    pub(super) color: Option<&'static str>,
}

impl Device {
    /// A device with this order of the axes. Cameras have the channels last.
    pub(super) fn of(input: &Input, layout: Option<&'static str>) -> Option<Device> {
        let (order, channels) = input.order()?;
        Some(Device {
            model: order.letters(),
            layout: layout.unwrap_or(Order::ChannelsLast.letters()),
            color: (channels == 3).then_some("RGB"),
        })
    }
}

impl Layout {
    /// The preprocessing of stored samples for an input.
    pub(super) fn new(input: &Input, stored: &Stored) -> Layout {
        match stored {
            Stored::Images => Layout::of_images(input),
            Stored::Arrays(stacks) => {
                let own = stacks
                    .iter()
                    .find(|stack| stack.name.as_deref().is_none_or(|name| name == input.name));
                own.map(|stack| Layout::of_array(input, stack)).unwrap_or_default()
            }
        }
    }

    fn of_images(input: &Input) -> Layout {
        let Some((order, channels)) = input.order() else {
            return Layout::default();
        };
        let mut layout = Layout {
            before: vec!["{ decode = {} }".to_owned()],
            has_levels: true,
            are_bytes: true,
            device: Device::of(input, None),
            ..Layout::default()
        };
        if channels == 1 {
            layout.before.push("{ gray = {} }".to_owned());
        }
        match input.size() {
            Some([height, width]) => {
                layout
                    .before
                    .push(format!("{{ resize = {{ size = [{width}, {height}] }} }}"));
                layout.guessed.push(format!(
                    "images are resized to {width}×{height} as Pillow does, without cutting; `resize.short` with `crop` and `letterbox` are other ways"
                ));
            }
            None => layout
                .guessed
                .push("images have the size that the model takes".to_owned()),
        }
        if order == Order::ChannelsFirst {
            layout.after.push("{ layout = \"NCHW\" }".to_owned());
        }
        layout
    }

    fn of_array(input: &Input, stack: &Stack) -> Layout {
        let mut layout = Layout::default();
        let inner: Vec<&Axis> = input.axes.iter().skip(1).collect();
        let fits = |shape: &[usize]| {
            shape.len() == inner.len()
                && shape.iter().zip(&inner).all(|(&extent, axis)| match axis {
                    Axis::Fixed(own) => *own == extent as u64,
                    Axis::Free(_) => true,
                })
        };
        let order = input.order();
        let [low, high] = stack.range;
        layout.has_levels = order.is_some() && low >= 0.0 && high > 1.5 && high <= 255.0;
        let swapped = match (order, &stack.shape[..]) {
            (Some((Order::ChannelsFirst, _)), &[height, width, channels]) => Some(vec![channels, height, width]),
            (Some((Order::ChannelsLast, _)), &[channels, height, width]) => Some(vec![height, width, channels]),
            _ => None,
        };
        layout.are_bytes = stack.numbers == NumberType::U8;
        let (own, other) = match order {
            Some((Order::ChannelsFirst, _)) => (Order::ChannelsFirst, Order::ChannelsLast),
            _ => (Order::ChannelsLast, Order::ChannelsFirst),
        };
        let (own, other) = (own.letters(), other.letters());
        let shape = match swapped {
            Some(swapped) if !fits(&stack.shape) && fits(&swapped) => {
                layout.stored = format!("layout = \"{other}\"");
                layout.device = Device::of(input, Some(other));
                layout.after.push(format!("{{ layout = \"{own}\" }}"));
                layout.guessed.push(format!(
                    "the samples are stored as {other}, because the model takes {own}"
                ));
                swapped
            }
            _ => {
                if order.is_some() && fits(&stack.shape) {
                    layout.stored = format!("layout = \"{own}\"");
                    layout.device = Device::of(input, Some(own));
                }
                stack.shape.clone()
            }
        };
        if layout.has_levels && order.is_some_and(|(_, channels)| channels == 3) && !layout.stored.is_empty() {
            layout.stored.push_str(", color = \"RGB\"");
            layout
                .guessed
                .push("the channels are stored in the order red, green, blue".to_owned());
        }
        if shape.len() == inner.len() {
            for (axis, extent) in inner.iter().zip(shape) {
                if let Axis::Free(key) = axis {
                    layout.bound.push((key.clone(), extent as u64));
                }
            }
        }
        layout
    }
}
