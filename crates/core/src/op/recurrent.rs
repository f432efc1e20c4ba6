//! Recurrent layers.

use super::prelude::*;
use crate::attribute::{Attribute, Field};

words! {
    /// How a [`Recurrent`] layer computes its state from one step to the next. In the formulas, x are the
    /// pre-activations of the step, h is the state before the step, R are the recurrent weights of a gate, φ, g and k
    /// are the activations in order, and ∘ is the elementwise product:
    Cell {
        /// h' = φ(x + R·h).
        Plain = "plain",
        /// Gates i, o, f, c in this order. i, f and o are φ(x + R·h + p∘c), where p are the peepholes and c is the cell
        /// state. In the formula for o, the new cell state c' takes the place of c. c' = f∘c + i∘g(x + R·h), and h' =
        /// o∘k(c').
        Lstm = "lstm",
        /// Gates z, r, h in this order. z and r are φ(x + R·h). h' = (1 − z)∘g(x + R·(r∘h)) + z∘h.
        Gru = "gru",
        /// As `gru`, but h' = (1 − z)∘g(x + r∘(R·h + b)) + z∘h, where b is the operand `bias`.
        GruLinear = "gru_linear",
    }
}

impl Cell {
    /// Returns the number of gates. Each gate has its own weights.
    pub fn gates(self) -> u64 {
        match self {
            Cell::Plain => 1,
            Cell::Lstm => 4,
            Cell::Gru | Cell::GruLinear => 3,
        }
    }

    /// Returns the number of activations that one direction needs.
    pub fn activations(self) -> usize {
        match self {
            Cell::Plain => 1,
            Cell::Lstm => 3,
            Cell::Gru | Cell::GruLinear => 2,
        }
    }
}

words! {
    /// The order of the steps in a [`Recurrent`] layer.
    Direction {
        /// From the first step to the last.
        Forward = "forward",
        /// From the last step to the first.
        Reverse = "reverse",
        /// Both ways, with separate weights.
        Bidirectional = "bidirectional",
    }
}

words! {
    /// An activation inside of a [`Recurrent`] layer, with its parameters a and b.
    Activation {
        /// 1/(1 + e^−x).
        Sigmoid = "sigmoid",
        /// The hyperbolic tangent.
        Tanh = "tanh",
        /// max(x, 0).
        Relu = "relu",
        /// a·x + b.
        Affine = "affine",
        /// x where x ≥ 0, and a·x elsewhere.
        LeakyRelu = "leaky_relu",
        /// x where x > a, and 0 elsewhere.
        ThresholdedRelu = "thresholded_relu",
        /// a·tanh(b·x).
        ScaledTanh = "scaled_tanh",
        /// a·x + b, clipped to the range from 0 to 1.
        HardSigmoid = "hard_sigmoid",
        /// x where x ≥ 0, and a·(e^x − 1) elsewhere.
        Elu = "elu",
        /// x/(1 + |x|).
        Softsign = "softsign",
        /// ln(1 + e^x).
        Softplus = "softplus",
    }
}

/// The activations of a layer: first those of the first direction, then those of the second. The text form has them as
/// words separated by spaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activations(pub SmallVec<[Activation; 6]>);

impl Field for Activations {
    fn to_attribute(&self) -> Attribute {
        let words: Vec<&str> = self.0.iter().map(|activation| activation.name()).collect();
        Attribute::Text(words.join(" "))
    }

    fn from_attribute(attribute: &Attribute) -> Option<Self> {
        let words = attribute.text()?.split_whitespace();
        words.map(Activation::parse).collect::<Option<_>>().map(Activations)
    }

    fn allowed() -> String {
        format!(
            "{}, with a space between several",
            <Activation as Field>::allowed().replace("one of", "words out of")
        )
    }
}

op! {
    /// A recurrent layer over T steps of N sequences, with D directions (1 or 2), G gates and a state of H numbers.
    ///
    /// Required operands: `x` `[T, N, D·G·H]`, float, the pre-activations, which are the product of the layer's input
    /// and its weights, plus the biases; and `weight` `[D, G·H, H]`, float, the recurrent weights. Optional operands,
    /// float except for `lengths`: `lengths` `[N]` (i64), the number of steps of each sequence; the state `h` before
    /// the first step, `[D, N, H]`; the cell state `c` before the first step, with the same shape; the peepholes of i,
    /// o and f, `[D, 3·H]`; and `bias` `[D, H]`. Only an `lstm` has a cell state and peepholes, and only a `gru_linear`
    /// has the bias. A state that is absent is 0.
    ///
    /// Results: the states after each step, `[T, D, N, H]`, with 0 after the end of a sequence; the last state, `[D, N,
    /// H]`; and for an `lstm` also the last cell state, `[D, N, H]`.
    Recurrent = "recurrent" v 2: Real, 2 to 7 {
        /// How the state is computed from step to step.
        cell: Cell,
        /// The order of the steps.
        direction: Direction,
        /// The activation functions of gates and states, for each direction.
        activations: Activations,
        /// The parameter a of each activation; 0 for an activation without this parameter.
        alpha: Vec<f32>,
        /// The parameter b of each activation; 0 for an activation without this parameter.
        beta: Vec<f32>,
        /// The input of each activation is clipped to the range from −clip to clip. Infinity means that it is not
        /// clipped.
        clip: f32,
        /// True if an `lstm` computes its gate f as 1 − i.
        coupled: bool,
        /// An `lstm` clips its cell state after each step to the range from −cell_clip to cell_clip. Infinity means that
        /// it is not clipped.
        cell_clip: f32 = f32::INFINITY,
    }
}

impl Recurrent {
    /// Returns the number of directions.
    pub fn directions(&self) -> u64 {
        match self.direction {
            Direction::Forward | Direction::Reverse => 1,
            Direction::Bidirectional => 2,
        }
    }
}

impl OpFacts for Recurrent {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let (x, weight) = (support::operand(operands, 0)?, support::operand(operands, 1)?);
        let directions = self.directions();
        let count = self.cell.activations() * directions as usize;
        let lists = [self.activations.0.len(), self.alpha.len(), self.beta.len()];
        support::ensure(lists == [count; 3], ReasonCode::Operands, || {
            format!("{lists:?} activations and parameters of them, {count} of each are needed")
        })?;
        support::ensure(self.clip > 0.0, ReasonCode::Operands, || {
            format!("states are cut off at {}, which is not positive", self.clip)
        })?;
        let of_lstm = self.cell == Cell::Lstm;
        let bound = self.cell_clip;
        support::ensure(
            bound > 0.0 && (of_lstm || bound.is_infinite()),
            ReasonCode::Operands,
            || format!("the cell of a {} is cut off at {bound}", self.cell),
        )?;
        let (Some(weights), [steps, batch, inner]) = (weight.dims(), &x.shape[..]) else {
            let text = format!("the pre-activations {x} have no three axes, or the weight {weight} is symbolic");
            return Err(Reason::new(ReasonCode::Operands, text));
        };
        let hidden = weights.last().copied().unwrap_or(0);
        let rows = hidden.checked_mul(self.cell.gates());
        let inputs = rows.and_then(|rows| rows.checked_mul(directions));
        support::ensure(
            weights.len() == 3 && weights[0] == directions && Some(weights[1]) == rows && inner.fixed() == inputs,
            ReasonCode::Operands,
            || {
                let (cell, direction) = (self.cell.name(), self.direction.name());
                format!("pre-activations {x} and weights {weight} are not those of a {cell} that goes {direction}")
            },
        )?;
        let state: Shape = smallvec![Dim::Fixed(directions), *batch, Dim::Fixed(hidden)];
        let of_gru = self.cell == Cell::GruLinear;
        let rows_of = |count: u64| -> Shape { smallvec![Dim::Fixed(directions), Dim::Fixed(count)] };
        let others: [(&str, Elem, Shape, bool); 5] = [
            ("lengths", Elem::I64, smallvec![*batch], true),
            ("state", x.elem, state.clone(), true),
            ("cell", x.elem, state.clone(), of_lstm),
            ("peepholes", x.elem, rows_of(hidden.saturating_mul(3)), of_lstm),
            ("bias", x.elem, rows_of(hidden), of_gru),
        ];
        support::ensure(
            x.elem.is_float() && weight.elem == x.elem,
            ReasonCode::ElementTypes,
            || format!("a recurrent layer of {} and {}", x.elem, weight.elem),
        )?;
        for (operand, (what, elem, shape, allowed)) in operands.iter().skip(2).zip(others) {
            let Some(operand) = operand else { continue };
            support::ensure(
                allowed && operand.elem == elem && operand.shape == shape,
                ReasonCode::Operands,
                || {
                    format!(
                        "the operand `{what}` is {operand}, which a {} does not take here",
                        self.cell
                    )
                },
            )?;
        }
        let each = smallvec![*steps, Dim::Fixed(directions), *batch, Dim::Fixed(hidden)];
        let states = std::iter::repeat_n(state, 1 + usize::from(of_lstm));
        let shapes = std::iter::once(each).chain(states);
        Ok(shapes.map(|shape| TensorType { elem: x.elem, shape }).collect())
    }
}
