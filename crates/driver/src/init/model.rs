//! What a model tells about its inputs.

use std::path::Path;

use strait_core::{Dim, Elem};
use strait_import::ReadOptions;

use crate::{failure, model, stop::Stop};

/// A model of which a configuration is drafted.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Subject {
    pub(super) inputs: Vec<Input>,
}

/// An input of a model.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Input {
    pub(super) name: String,
    pub(super) elem: Elem,
    pub(super) axes: Vec<Axis>,
}

/// The extent of an axis: a number, or the key by which `model.bind` gives it a size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Axis {
    Fixed(u64),
    Free(String),
}

/// The order of the axes of an input that has the shape of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    ChannelsFirst,
    ChannelsLast,
}

impl Order {
    /// The letters of the axes.
    pub(super) fn letters(self) -> &'static str {
        match self {
            Order::ChannelsFirst => "NCHW",
            Order::ChannelsLast => "NHWC",
        }
    }
}

impl Subject {
    pub(super) fn read(file: &Path) -> Result<Subject, Stop> {
        let found = model::open(file).and_then(|model| model.read(&ReadOptions::default()));
        let module = found.map_err(|error| failure::model(&error, file))?;
        let free = strait_import::free_dimensions(&module);
        let graph = module.main();
        let inputs = graph.inputs().iter().filter_map(|&id| graph.value(id));
        let inputs = inputs.map(|value| {
            let name = module.name(value.name);
            let axes = value.ty.shape.iter().enumerate().map(|(at, dim)| match dim {
                Dim::Fixed(extent) => Axis::Fixed(*extent),
                Dim::Named(_) => {
                    let own = free.iter().find(|free| free.input == name && free.axis == at);
                    Axis::Free(own.map_or_else(|| format!("{name}.{at}"), |free| free.name.clone()))
                }
            });
            Input {
                name: name.to_owned(),
                elem: value.ty.elem,
                axes: axes.collect(),
            }
        });
        Ok(Subject {
            inputs: inputs.collect(),
        })
    }
}

impl Input {
    /// The order of the axes, with the number of channels, if the input has the shape of images.
    pub(super) fn order(&self) -> Option<(Order, u64)> {
        let channels = |axis: &Axis| match axis {
            Axis::Fixed(count @ (1 | 3 | 4)) => Some(*count),
            _ => None,
        };
        let [_, first, _, last] = &self.axes[..] else {
            return None;
        };
        match (channels(first), channels(last)) {
            (Some(count), None) => Some((Order::ChannelsFirst, count)),
            (None, Some(count)) => Some((Order::ChannelsLast, count)),
            // A field of 3×3 pixels, for instance.
            (Some(count), Some(_)) => Some((Order::ChannelsFirst, count)),
            (None, None) => None,
        }
    }

    /// Height and width, if they are known.
    pub(super) fn size(&self) -> Option<[u64; 2]> {
        let (order, _) = self.order()?;
        let at = match order {
            Order::ChannelsFirst => [2, 3],
            Order::ChannelsLast => [1, 2],
        };
        let extent = |at: usize| match self.axes.get(at)? {
            Axis::Fixed(extent) => Some(*extent),
            Axis::Free(_) => None,
        };
        Some([extent(at[0])?, extent(at[1])?])
    }

    /// The type and the shape, as `f32[N,3,224,224]`.
    pub(super) fn shown(&self) -> String {
        let axes = self.axes.iter().map(|axis| match axis {
            Axis::Fixed(extent) => extent.to_string(),
            Axis::Free(name) => name.clone(),
        });
        format!("{}[{}]", self.elem, axes.collect::<Vec<_>>().join(","))
    }
}
