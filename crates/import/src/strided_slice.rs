//! The strided slice of TensorFlow, which TFLite has, too.

use strait_core::ReasonCode;
use strait_core::op::{Op, Squeeze, Unsqueeze};

use crate::compose::slice_along;
use crate::layer::{Arg, Layer};
use crate::refusal::Refusal;

/// The largest number of entries in a list. A mask has a bit for each.
const MOST_ENTRIES: usize = 32;

impl Layer<'_, '_> {
    /// Ends the node with a strided slice of operand 0. Operands 1 to 3 are lists with an entry for each axis: where the
    /// slice begins, where it ends, and its stride. If `is_offset` is true, an end is counted from the begin.
    ///
    /// There are five masks. If bit i of a mask is set, entry i of the lists has another meaning. In the order of the
    /// masks, the meanings are: the slice begins at the border of the axis; the slice ends at the border; the entry
    /// stands for all axes that have no entry; the entry stands for a new axis; the entry stands for a single position,
    /// and the axis is removed.
    pub fn finish_strided_slice(&mut self, masks: [i64; 5], is_offset: bool) -> Result<(), Refusal> {
        let [begins, ends, ellipses, new, single] = masks.map(|mask| move |entry: usize| mask >> entry & 1 == 1);
        let mut list = |position, what: &str| Ok::<_, Refusal>(self.known_ints(position, what)?.unwrap_or_default());
        let (begin, end, strides) = (list(1, "begin")?, list(2, "end")?, list(3, "strides")?);
        let invalid = |text: &str| Refusal::invalid(ReasonCode::Slice, text);
        if [end.len(), strides.len()] != [begin.len(); 2] || begin.len() > MOST_ENTRIES {
            return Err(invalid(
                "begin, end and strides have different lengths, or are too long",
            ));
        }
        let entries = 0..begin.len();
        if entries.clone().filter(|&entry| ellipses(entry)).count() > 1 {
            return Err(invalid("its positions name all other axes twice"));
        }
        let shape = self.ty(0)?.shape;
        let named = entries.clone().filter(|&entry| !new(entry) && !ellipses(entry)).count();
        let others = shape.len().checked_sub(named);
        let others = others.ok_or_else(|| invalid("its positions name more axes than there are"))?;
        let (mut parts, mut removed, mut added) = (Vec::new(), Vec::new(), Vec::new());
        // The next axis of the operand, and the next axis of the result.
        let (mut axis, mut place) = (0, 0);
        for entry in entries {
            if ellipses(entry) {
                (axis, place) = (axis + others, place + others);
                continue;
            }
            if new(entry) {
                added.push(place as i64);
                place += 1;
                continue;
            }
            let (start, step) = (begin[entry], strides[entry]);
            let part = if single(entry) {
                removed.push(axis as i64);
                let extent = shape
                    .get(axis)
                    .and_then(|dim| dim.fixed())
                    .and_then(|extent| i64::try_from(extent).ok());
                if extent.is_some_and(|extent| start >= extent || start < -extent) {
                    return Err(invalid("it picks an element that is not there"));
                }
                // The last position has no next one, so it ends where the axis ends.
                [start, if start == -1 { i64::MAX } else { start.saturating_add(1) }, 1]
            } else {
                place += 1;
                let (first, last) = match step {
                    0 => return Err(invalid("a stride is 0")),
                    ..0 => (i64::MAX, i64::MIN),
                    _ => (0, i64::MAX),
                };
                let end = if is_offset {
                    start.saturating_add(end[entry])
                } else {
                    end[entry]
                };
                let start = if begins(entry) { first } else { start };
                [start, if ends(entry) { last } else { end }, step]
            };
            if part != [0, i64::MAX, 1] {
                parts.push((axis as i64, part));
            }
            axis += 1;
        }
        let mut ops: Vec<(Op, Vec<Arg>)> = Vec::new();
        if !parts.is_empty() {
            ops.push((slice_along(parts).into(), Vec::new()));
        }
        if !removed.is_empty() {
            ops.push((Squeeze { axes: removed.into() }.into(), Vec::new()));
        }
        if !added.is_empty() {
            ops.push((Unsqueeze { axes: added.into() }.into(), Vec::new()));
        }
        self.finish_chain(Arg::Operand(0), ops)
    }
}
