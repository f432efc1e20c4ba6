//! Reverses sequences whose lengths are in an operand.

use strait_core::ReasonCode;
use strait_core::op::{Expand, GatherNd, Op, Relation, Transpose};

use crate::layer::{Arg, Layer};
use crate::refusal::Refusal;

impl Layer<'_, '_> {
    /// Ends the node with an op that reverses each sequence in the node's first operand. `lengths` has the length n of
    /// each sequence. Step t becomes step n − 1 − t; steps beyond the length of a sequence do not change.
    ///
    /// # Errors
    /// The two axes are the same, do not exist, or are symbolic.
    pub fn finish_reversed(&mut self, lengths: &Arg, batch: usize, time: usize) -> Result<(), Refusal> {
        let x = Arg::Operand(0);
        let extents = self.extents(&x)?;
        let [Some(&sequences), Some(&steps)] = [extents.get(batch), extents.get(time)] else {
            let text = format!("the axes {batch} and {time} are outside rank {}", extents.len());
            return Err(Refusal::invalid(ReasonCode::Axis, text));
        };
        if batch == time {
            let text = format!("axis {time} is that of the steps and that of the sequences");
            return Err(Refusal::invalid(ReasonCode::Axis, text));
        }
        let is_batch_first = batch < time;
        // Along the first two axes, the list of step numbers becomes a column and the list of sequence numbers becomes
        // a row, or the other way round. So the two lists broadcast against each other.
        let along = |extent: i64, is_first: bool| if is_first { [extent, 1] } else { [1, extent] };
        let step = self.counted(&along(steps, !is_batch_first).map(i64::unsigned_abs), steps)?;
        let sequence = self.counted(&along(sequences, is_batch_first).map(i64::unsigned_abs), sequences)?;
        let lengths = self.reshaped(lengths, &along(sequences, is_batch_first))?;
        let inside = self.compare(Relation::Less, &step, &lengths)?;
        let last = self.shifted(&lengths, -1.0)?;
        let mirrored = self.minus(&last, &step)?;
        let source = self.select(&inside, &mirrored, &step)?;
        let both = match is_batch_first {
            true => [sequences, steps],
            false => [steps, sequences],
        };
        self.room(&both.map(i64::unsigned_abs))?;
        let shape = both.as_slice().into();
        let sequence = self.push(Expand { shape }, &[sequence])?;
        let (source, sequence) = (self.unsqueezed(&source, &[2])?, self.unsqueezed(&sequence, &[2])?);
        let coordinates = match is_batch_first {
            true => self.joined(&[sequence, source], 2)?,
            false => self.joined(&[source, sequence], 2)?,
        };
        let op: Op = GatherNd { batch: 0 }.into();
        let (first, second) = (batch.min(time), batch.max(time));
        if (first, second) == (0, 1) {
            return self.finish(op, &[x, coordinates]);
        }
        // The other axes are moved after these two axes, and moved back at the end.
        let others = (0..extents.len()).filter(|&axis| axis != first && axis != second);
        let order: Vec<u32> = [first, second]
            .into_iter()
            .chain(others)
            .map(|axis| axis as u32)
            .collect();
        let mut back = vec![0; order.len()];
        for (place, &axis) in order.iter().enumerate() {
            back[axis as usize] = place as u32;
        }
        let turned = self.transposed(&x, &order)?;
        let reversed = self.push(op, &[turned, coordinates])?;
        let permutation = back.as_slice().into();
        self.finish(Transpose { permutation }, &[reversed])
    }
}
