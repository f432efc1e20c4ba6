//! How an array of elements is cut into tiles.

use super::finish::{Axis, Place};
use crate::{
    error::{KernelError, product},
    parallel::{Shared, try_for_each},
};

/// Elements of a tile that is computed first.
pub(crate) const PIECE: usize = 1 << 11;

/// Elements of a tile that is there already.
pub(crate) const LONG_PIECE: usize = 1 << 13;

/// The extents `[outer, channels, inner]` of an array, and whether parameters differ between channels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Array {
    /// Rows, channels of consecutive rows, columns; with channels as columns their number is 1.
    rows: usize,
    channels: usize,
    columns: usize,
    axis: Axis,
}

impl Array {
    /// An array, and how many channels there are parameters for; `None` if one set serves any number.
    pub(crate) fn new(extents: [usize; 3], channels: Option<usize>) -> Result<Array, KernelError> {
        let elements = product(&extents)
            .ok_or_else(|| KernelError::Size(format!("the number of elements of an array {extents:?}")))?;
        let wanted = extents[1];
        if let Some(found) = channels
            && found != wanted
        {
            return Err(KernelError::Shape(format!(
                "there are parameters for {found} channels, the array has {wanted}"
            )));
        }
        // Without channels everything is one row. Channels are the rows, unless they are neighbours in memory.
        let (rows, channels, columns, axis) = match (channels, extents) {
            (None, _) => (1, 1, elements, Axis::Rows),
            (Some(_), [outer, channels, 1]) => (outer, 1, channels, Axis::Columns),
            (Some(_), [outer, channels, inner]) => (outer * channels, channels, inner, Axis::Rows),
        };
        Ok(Array {
            rows,
            channels,
            columns,
            axis,
        })
    }

    /// Elements.
    pub(crate) fn elements(&self) -> usize {
        self.rows * self.columns
    }

    /// Runs `task(first element, tile)` on tiles of about `piece` elements, whose rows follow each other in memory.
    pub(crate) fn for_each_tile(
        &self,
        piece: usize,
        out: &Shared<'_, u8>,
        task: &(dyn Fn(usize, Place<'_>) -> Result<(), KernelError> + Sync),
    ) -> Result<(), KernelError> {
        let &Array {
            rows,
            channels,
            columns,
            axis,
        } = self;
        if self.elements() == 0 {
            return Ok(());
        }
        // Short rows of all channels go several at a time, long rows in pieces.
        let lines = if axis == Axis::Columns {
            (piece / columns).clamp(1, rows)
        } else {
            1
        };
        let pieces = columns.div_ceil(piece);
        try_for_each(rows.div_ceil(lines) * pieces, rows * columns, &|index| {
            let (row, first) = (index / pieces * lines, index % pieces * piece);
            let start = row * columns + first;
            let place = Place {
                out,
                at: start,
                row_stride: columns,
                rows: lines.min(rows - row),
                columns: piece.min(columns - first),
                axis,
                first_channel: if axis == Axis::Rows { row % channels } else { first },
            };
            task(start, place)
        })
    }
}
