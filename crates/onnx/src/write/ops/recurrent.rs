//! Writes recurrent layers. In the IR, the operand is the product of the input and its weights (the pre-activations).
//! ONNX's layers compute this product inside, so an identity matrix is written as their weights. The product with it
//! leaves the pre-activations unchanged: each is multiplied by 1, and zeros are added.

use super::operator::{At, Emitter, Operator, WriteError};
use crate::activations::{ACTIVATIONS, Parameter};
use crate::write::attributes::{float, floats, int, text, texts};
use strait_core::TensorData;
use strait_core::op::{Activation, Cell, Recurrent};

impl Operator for Recurrent {
    fn write(&self, emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
        let weight = emitter
            .ty(at.node.inputs.get(1).copied().flatten())
            .and_then(strait_core::TensorType::dims);
        let Some([directions, rows, hidden]) = weight.as_deref().map(|dims| [dims[0], dims[1], dims[2]]) else {
            return Err(at.unwritable("its weights have no fixed extents"));
        };
        if self.cell_clip != f32::INFINITY {
            return Err(at.unwritable("the state of its cell is cut off, which no LSTM of ONNX does"));
        }
        let operand = |emitter: &Emitter<'_>, position: usize| at.input(emitter, position);
        let identity = identity(emitter, at, directions, rows);
        let mut inputs = vec![operand(emitter, 0), identity, operand(emitter, 1)];
        inputs.push(match at.node.inputs.get(6).copied().flatten() {
            None => String::new(),
            Some(bias) => {
                let constant = emitter.module.constant(emitter.graph(), bias);
                let bias = constant.and_then(|tensor| tensor.to_f32().ok());
                let bias = bias.ok_or_else(|| at.unwritable("its bias is no constant"))?;
                // The pre-activations already contain the biases of the input, and the biases of the state for all
                // gates but the last.
                let mut all = Vec::new();
                for each in bias.chunks(hidden.max(1) as usize) {
                    all.extend(std::iter::repeat_n(0.0, 2 * rows as usize - each.len()));
                    all.extend_from_slice(each);
                }
                let all = TensorData::from_values(&[directions, 2 * rows], &all);
                let all = all.map_err(|error| at.unwritable(error.to_string()))?;
                emitter.constant(&format!("{}_bias", at.name), &all)
            }
        });
        inputs.push(match operand(emitter, 2) {
            lengths if lengths.is_empty() => lengths,
            // 6 is ONNX's number for int32.
            lengths => emitter.step(
                "Cast",
                &format!("{}_lengths", at.name),
                vec![lengths],
                vec![int("to", 6)],
            ),
        });
        inputs.push(operand(emitter, 3));
        if self.cell == Cell::Lstm {
            inputs.extend([operand(emitter, 4), operand(emitter, 5)]);
        }
        let mut attributes = vec![
            int("hidden_size", hidden as i64),
            text("direction", self.direction.name()),
        ];
        let row = |activation: &Activation| ACTIVATIONS.iter().find(|(own, ..)| own == activation);
        let rows = || self.activations.0.iter().filter_map(row);
        attributes.push(texts("activations", rows().map(|&(_, name, _)| name)));
        // The lists of parameters have an entry only for those activations that have the parameter, in the order of the
        // activations.
        let lists = [("activation_alpha", &self.alpha), ("activation_beta", &self.beta)];
        for (position, (key, list)) in lists.into_iter().enumerate() {
            let own = rows().zip(list);
            let own = own.filter(|((.., parameters), _)| parameters[position] != Parameter::Absent);
            let own: Vec<f32> = own.map(|(_, &parameter)| parameter).collect();
            if !own.is_empty() {
                attributes.push(floats(key, own));
            }
        }
        if self.clip.is_finite() {
            attributes.push(float("clip", self.clip));
        }
        let operator = match self.cell {
            Cell::Plain => "RNN",
            Cell::Lstm => {
                attributes.push(int("input_forget", self.coupled));
                "LSTM"
            }
            Cell::Gru | Cell::GruLinear => {
                attributes.push(int("linear_before_reset", self.cell == Cell::GruLinear));
                "GRU"
            }
        };
        let outputs = at.outputs(emitter);
        emitter.node(operator, at.name, inputs, outputs, attributes);
        Ok(())
    }
}

/// Writes identity matrices as the weights of the input. Each direction gets those rows of an identity matrix that
/// belong to its gates. With G gates and H states, the matrix has (G·H)² elements, so nodes of the file compute it, and
/// it is not stored.
fn identity(emitter: &mut Emitter<'_>, at: At<'_>, directions: u64, rows: u64) -> String {
    let base = format!("{}_identity", at.name);
    let [directions, rows] = [directions, rows].map(|extent| extent as i64);
    let all = directions * rows;
    let extents = emitter.ints(&base, &[all, all]);
    let zeros = emitter.step("ConstantOfShape", &base, vec![extents], vec![]);
    let identity = emitter.step("EyeLike", &base, vec![zeros], vec![]);
    let shape = emitter.ints(&base, &[directions, rows, all]);
    emitter.step("Reshape", &base, vec![identity, shape], vec![])
}
