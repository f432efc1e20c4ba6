//! Divides an array of elements into tiles.

use crate::integer::output_tile::{Axis, OutputTile};
use crate::{
    error::{KernelError, product},
    parallel::{Shared, try_for_each},
};

/// Number of elements that a tile has if its accumulators still have to be computed.
pub(crate) const PIECE: usize = 1 << 11;

/// Number of elements that a tile has if its accumulators are already in memory.
pub(crate) const LONG_PIECE: usize = 1 << 13;

/// An array `[outer, channels, inner]`, seen as matrices that follow each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Array {
    matrices: usize,
    rows: usize,
    columns: usize,
    /// Which axis of a matrix is the channel axis.
    axis: Axis,
}

impl Array {
    /// Makes an array with these extents. `channels` is the number of channels that have parameters, or `None` if one
    /// set of parameters is used for any number of channels.
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
        // Without channels, the array is one row. With channels, each channel is a row, unless neighbouring elements in
        // memory belong to different channels. A channel is then a column.
        let (matrices, rows, columns, axis) = match (channels, extents) {
            (None, _) => (1, 1, elements, Axis::Rows),
            (Some(_), [outer, channels, 1]) => (1, outer, channels, Axis::Columns),
            (Some(_), [outer, channels, inner]) => (outer, channels, inner, Axis::Rows),
        };
        Ok(Array {
            matrices,
            rows,
            columns,
            axis,
        })
    }

    /// The number of elements of the array.
    pub(crate) fn elements(&self) -> usize {
        // The product cannot overflow, because `new` has already multiplied the same extents.
        self.matrices * self.rows * self.columns
    }

    /// Runs `task(first element, tile)` on tiles of up to `piece` contiguous elements. A tile is several short rows, or
    /// a piece of a long row.
    #[inline(always)]
    pub(crate) fn for_each_tile(
        &self,
        piece: usize,
        out: &Shared<'_, u8>,
        task: impl Fn(usize, &OutputTile<'_>) -> Result<(), KernelError> + Sync,
    ) -> Result<(), KernelError> {
        let &Array {
            matrices,
            rows,
            columns,
            axis,
        } = self;
        if self.elements() == 0 {
            return Ok(());
        }
        let lines = (piece / columns).clamp(1, rows);
        let (groups, pieces) = (rows.div_ceil(lines), columns.div_ceil(piece));
        try_for_each(matrices * groups * pieces, self.elements(), &|index| {
            let (matrix, row) = (index / pieces / groups, index / pieces % groups * lines);
            let column = index % pieces * piece;
            let at = (matrix * rows + row) * columns + column;
            let place = OutputTile {
                out,
                at,
                row_stride: columns,
                rows: lines.min(rows - row),
                columns: piece.min(columns - column),
                axis,
                first_channel: if axis == Axis::Rows { row } else { column },
            };
            task(at, &place)
        })
    }
}
