//! Converts samples back to pictures that people can look at.

use crate::sample::numbers;
use strait_images::Pixels;

use crate::{
    numbers::NumberType,
    sample::Sample,
    samples::{InputSamples, Samples},
    source::Source,
};

/// The extents and strides of the three axes of a sample that are its rows, columns and channels.
struct Axes {
    rows: (usize, usize),
    columns: (usize, usize),
    channels: (usize, usize),
}

impl Samples {
    /// True if a picture of this input undoes the preprocessing. False if it stretches the numbers of the sample instead.
    ///
    /// # Panics
    /// If there is no such input, which would be a bug in the caller.
    pub fn undoes_preprocessing(&self, input: usize) -> bool {
        self.input(input).is_in_bytes()
    }

    /// Returns a picture of a sample as the model sees it, or `None` if input `input` does not have the shape of an
    /// image with one or three channels. For samples that are stored as bytes, the preprocessing is undone: the result
    /// of preprocessing 0 becomes level 0, and the result of preprocessing 255 becomes level 255. For other samples,
    /// the smallest number becomes level 0, and the largest becomes level 255.
    ///
    /// # Panics
    /// If there is no such input, which would be a bug in the caller.
    pub fn picture(&self, input: usize, sample: &Sample) -> Option<Pixels> {
        let input = self.input(input);
        let axes = input.axes()?;
        let numbers = numbers(sample)?;
        let ends = input.ends(&numbers);
        let level = |at: usize| {
            let [low, high] = [ends[0][at], ends[1][at]];
            let part = if high == low {
                0.0
            } else {
                (numbers[at] - low) / (high - low)
            };
            (part * 255.0).round().clamp(0.0, 255.0) as u8
        };
        let mut levels = Vec::with_capacity(numbers.len());
        for y in 0..axes.rows.0 {
            for x in 0..axes.columns.0 {
                for channel in 0..axes.channels.0 {
                    levels.push(level(y * axes.rows.1 + x * axes.columns.1 + channel * axes.channels.1));
                }
            }
        }
        Some(Pixels {
            width: axes.columns.0,
            height: axes.rows.0,
            channels: axes.channels.0,
            levels,
        })
    }
}

impl InputSamples {
    /// Finds the axes of rows, columns and channels by the letters of the layout after the preprocessing. If the
    /// letters are not known, the axis with 1 or 3 elements is the channel axis.
    fn axes(&self) -> Option<Axes> {
        let extents = match self.shape() {
            [1, rest @ ..] if rest.len() > 1 => rest,
            shape => shape,
        };
        let letters = self.layout().and_then(|layout| layout.strip_prefix('N'));
        let letters = letters.filter(|letters| letters.len() == extents.len());
        let letters = letters.unwrap_or(match extents {
            [1 | 3, _, _] => "CHW",
            [_, _, 1 | 3] => "HWC",
            [_, _] => "HW",
            _ => return None,
        });
        let axis = |letter| {
            let at = letters.find(letter)?;
            Some((extents[at], extents[at + 1..].iter().product::<usize>()))
        };
        let found = Axes {
            rows: axis('H')?,
            columns: axis('W')?,
            channels: axis('C').unwrap_or((1, 0)),
        };
        let all = found.rows.0 * found.columns.0 * found.channels.0;
        let fits = [1, 3].contains(&found.channels.0) && all > 0 && all == extents.iter().product::<usize>();
        fits.then_some(found)
    }

    /// True if the samples are stored as bytes.
    fn is_in_bytes(&self) -> bool {
        match self.source() {
            Source::Images(_) => true,
            other => other.types().iter().all(|(number, _)| *number == NumberType::U8),
        }
    }

    /// For each number of the sample: the value that is shown as black, and the value that is shown as white.
    fn ends(&self, numbers: &[f32]) -> [Vec<f32>; 2] {
        if self.is_in_bytes() {
            return [0.0, 255.0].map(|stored| self.made_of(stored, numbers.len()));
        }
        let least = numbers.iter().copied().fold(f32::INFINITY, f32::min);
        let greatest = numbers.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        [least, greatest].map(|end| vec![end; numbers.len()])
    }
}
