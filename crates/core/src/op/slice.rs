//! Strided slice.

use super::prelude::*;

op! {
    /// Takes the elements at the positions `starts`, `starts` + `steps`, … before `ends`, along each axis in `axes`. As
    /// in ONNX, negative positions count from the end, and positions outside of the axis are moved to its border. A
    /// second and a third operand (i64, one number for each axis) can replace `starts` and `ends`, which are then
    /// empty.
    Slice = "slice" v 1: Moves, 1 to 3 {
        /// First position, for each axis.
        starts: SmallVec<[i64; 4]>,
        /// Position after the last one, for each axis.
        ends: SmallVec<[i64; 4]>,
        /// The sliced axes.
        axes: SmallVec<[i64; 4]>,
        /// Distance from one position to the next, for each axis; not 0. A negative one goes backwards.
        steps: SmallVec<[i64; 4]>,
    }
}

impl OpFacts for Slice {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        let mut shape = x.shape.clone();
        let late = [1, 2].map(|operand| support::late_list(operands, operand, self.axes.len()));
        let [starts, ends] = late;
        if starts? && ends? {
            for &axis in &self.axes {
                shape[support::axis(axis, x.shape.len())?] = Dim::OPEN;
            }
            return support::one(x.elem, shape);
        }
        // The extent of a named axis stays unknown, unless the slice takes the whole axis.
        let mut known = self.clone();
        for (position, &axis) in self.axes.iter().enumerate().rev() {
            let axis = support::axis(axis, x.shape.len())?;
            let lists = [&mut known.starts, &mut known.ends, &mut known.axes, &mut known.steps];
            if x.shape[axis].fixed().is_none() && lists.iter().all(|list| position < list.len()) {
                let [start, end, _, step] = lists.map(|list| list.remove(position));
                if (start, end, step) != (0, i64::MAX, 1) {
                    shape[axis] = Dim::OPEN;
                }
            }
        }
        for (axis, _, _, count) in known.spans(&x.shape)? {
            shape[axis] = Dim::Fixed(count);
        }
        support::one(x.elem, shape)
    }
}

/// One sliced axis: its position, the first position taken, the step, and the number of positions taken.
pub type Span = (usize, u64, i64, u64);

impl Slice {
    /// Returns which positions the slice takes along each sliced axis of an operand with this shape.
    pub fn spans(&self, shape: &[Dim]) -> Result<SmallVec<[Span; 4]>, Reason> {
        let lengths = [self.ends.len(), self.axes.len(), self.steps.len()];
        support::ensure(lengths == [self.starts.len(); 3], ReasonCode::Slice, || {
            "the lists have different lengths".into()
        })?;
        let mut seen: SmallVec<[usize; 4]> = SmallVec::new();
        let mut spans = SmallVec::new();
        for index in 0..self.starts.len() {
            let axis = support::axis(self.axes[index], shape.len())?;
            support::ensure(!seen.contains(&axis), ReasonCode::Slice, || {
                format!("axis {axis} is sliced twice")
            })?;
            seen.push(axis);
            let extent = shape[axis].fixed().and_then(|e| i64::try_from(e).ok()).ok_or_else(|| {
                Reason::new(
                    ReasonCode::Slice,
                    format!("axis {axis} is symbolic; bind it to a number"),
                )
            })?;
            let step = self.steps[index];
            support::ensure(step != 0, ReasonCode::Slice, || "a step is 0".into())?;
            let from_end = |p: i64| if p < 0 { p.saturating_add(extent) } else { p };
            let (low, high) = if step > 0 { (0, extent) } else { (-1, extent - 1) };
            let start = from_end(self.starts[index]).clamp(low.max(0), high.max(0));
            let end = from_end(self.ends[index]).clamp(low, high);
            let distance = if step > 0 { end - start } else { start - end };
            let count = if distance <= 0 || extent == 0 {
                0
            } else {
                (distance as u64).div_ceil(step.unsigned_abs())
            };
            spans.push((axis, start.unsigned_abs(), step, count));
        }
        Ok(spans)
    }
}
