//! Tiles of accumulators, in the shapes in which a library is asked to requantize them.

use strait_kernels::integer::{Axis, Tile};
use strait_plugin_host::{RegisteredForm, TileRequest};
use strait_requantize::Requantization;

/// A form, and the same form as it was sent to the library.
#[derive(Clone, Copy)]
pub(super) struct Registered<'a> {
    pub(super) registered: &'a RegisteredForm,
    pub(super) form: &'a Requantization,
}

/// A tile, and the accumulators in it.
#[derive(Clone)]
pub(super) struct Part {
    tile: Tile,
    wide: bool,
    pub(super) accumulators: Vec<i64>,
    bytes: Vec<u8>,
}

impl Part {
    /// A tile with these accumulators for each channel. The first channel has the index `first`.
    pub(super) fn new(axis: Axis, wide: bool, first: usize, channels: &[Vec<i64>]) -> Part {
        let (of_channels, of_each) = (channels.len(), channels.first().map_or(0, Vec::len));
        let (rows, columns) = match axis {
            Axis::Rows => (of_channels, of_each),
            Axis::Columns => (of_each, of_channels),
        };
        let accumulators: Vec<i64> = match axis {
            Axis::Rows => channels.concat(),
            Axis::Columns => (0..of_each)
                .flat_map(|at| channels.iter().map(move |its| its[at]))
                .collect(),
        };
        let mut bytes = Vec::with_capacity(accumulators.len() * if wide { 8 } else { 4 });
        for &x in &accumulators {
            match wide {
                true => bytes.extend_from_slice(&x.to_ne_bytes()),
                false => bytes.extend_from_slice(&(x as i32).to_ne_bytes()),
            }
        }
        let tile = Tile {
            rows,
            columns,
            channels: axis,
            first_channel: first,
        };
        Part {
            tile,
            wide,
            accumulators,
            bytes,
        }
    }

    pub(super) fn asked<'a>(&'a self, of: Registered<'a>) -> TileRequest<'a> {
        TileRequest {
            registered: of.registered,
            form: of.form,
            tile: self.tile,
            wide: self.wide,
            accumulators: &self.bytes,
        }
    }

    pub(super) fn name(&self) -> &'static str {
        match (self.tile.channels, self.wide) {
            (Axis::Rows, false) => "channels along rows",
            (Axis::Rows, true) => "channels along rows, in 64 bits",
            (Axis::Columns, false) => "channels along columns",
            (Axis::Columns, true) => "channels along columns, in 64 bits",
        }
    }

    /// Returns the channel and the value of the accumulator at position `at` of the tile. `channels` is the number of
    /// channels of the form. The parameters of the returned channel apply to the accumulator.
    pub(super) fn place(&self, channels: usize, at: usize) -> (usize, i64) {
        (
            self.tile.channel(at).min(channels.saturating_sub(1)),
            self.accumulators.get(at).copied().unwrap_or(0),
        )
    }

    /// Makes a tile with the same accumulators in reverse order, so that each accumulator is requantized with the
    /// parameters of another channel.
    pub(super) fn turned(&self) -> Part {
        let mut turned = self.clone();
        turned.accumulators.reverse();
        let bytes = if self.wide { 8 } else { 4 };
        turned.bytes = self.bytes.chunks_exact(bytes).rev().flatten().copied().collect();
        turned
    }
}

/// The number of rows, or columns, of a tile for a form with a single set of parameters.
const LANES: usize = 7;

/// Makes one tile of all chosen accumulators.
pub(super) fn whole(form: &Requantization, axis: Axis, wide: bool, channels: &[Vec<i64>]) -> Part {
    match (form.channels(), channels) {
        (None, [one]) => {
            let lanes: Vec<Vec<i64>> = one
                .chunks_exact(one.len() / LANES)
                .take(LANES)
                .map(<[i64]>::to_vec)
                .collect();
            Part::new(axis, wide, 0, &lanes)
        }
        _ => Part::new(axis, wide, 0, channels),
    }
}

/// The numbers of rows and of columns of tiles. Each number is 1, or less than the length of a SIMD vector, or not a
/// multiple of this length.
const EXTENTS: [usize; 6] = [1, 5, 19, 33, 70, 300];

/// At most this many accumulators are in a tile of these sizes, so that the tests do not take too long.
const MOST: usize = 2_500;

/// Returns the first `count` accumulators of each channel. If a channel has fewer, they are repeated.
pub(super) fn few(count: usize, channels: &[Vec<i64>]) -> Vec<Vec<i64>> {
    let its = channels
        .iter()
        .map(|its| its.iter().cycle().take(count).copied().collect());
    its.collect()
}

/// Tiles with all pairs of [`EXTENTS`] as their numbers of rows and columns, and tiles whose first channel is not the
/// form's first channel.
pub(super) fn parts(form: &Requantization, axis: Axis, wide: bool, channels: &[Vec<i64>]) -> Vec<Part> {
    match form.channels() {
        None => {
            // A host may state a first channel even if the form has a single set of parameters.
            let first = [(3, 2), (17, 300)].map(|(each, first)| (1, each, first));
            let sizes = EXTENTS.iter().flat_map(|&lanes| EXTENTS.map(|each| (lanes, each, 0)));
            let part = |(lanes, each, first)| {
                let one = few(lanes * each, &channels[..1]).concat();
                let lanes: Vec<Vec<i64>> = one.chunks(each).map(<[i64]>::to_vec).collect();
                Part::new(axis, wide, first, &lanes)
            };
            let sizes = sizes.filter(|(lanes, each, _)| lanes * each <= MOST);
            sizes.chain(first).map(part).collect()
        }
        Some(count) => {
            let extents = EXTENTS.into_iter().filter(|each| count * each <= MOST);
            let mut ranges: Vec<_> = extents.map(|each| (0..count, each)).collect();
            ranges.extend([(count - 1..count, 33), (count / 2..count, 1)]);
            if count > 2 {
                ranges.push((1..count - 1, 15));
            }
            let part = |(range, each): (std::ops::Range<usize>, usize)| {
                Part::new(axis, wide, range.start, &few(each, &channels[range]))
            };
            ranges.into_iter().map(part).collect()
        }
    }
}

/// A tile with 64 accumulators for each channel. With this number, the rows of the tile, and the tile itself, end at
/// the end of a cache line.
pub(super) fn small(axis: Axis, wide: bool, channels: &[Vec<i64>]) -> Part {
    Part::new(axis, wide, 0, &few(64, channels))
}
