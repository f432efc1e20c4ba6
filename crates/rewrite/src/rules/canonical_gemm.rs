//! **Pattern**: a gemm that does not have the form a·bᵀ + bias, where b is a constant matrix, and the bias is missing or is
//! a constant of shape `[outputs]`.
//! **Why**: the rule gives every gemm the form a·bᵀ + bias with a constant b and a constant bias, so that later steps need
//! not handle other forms. In this form, each row of the weights b and each element of the bias belong to one output. The
//! rule expresses everything else by further ops. For a transposed operand, it adds a `transpose`. If b is not a constant,
//! the product becomes a `matmul`, followed by a multiplication by alpha. If the bias is not a constant, or differs from row
//! to row, it becomes an `add` after the product. Such a bias is multiplied by beta, and is dropped if beta is 0.
//! **Preconditions**: the constants are finite after they are multiplied by alpha or beta.
//! **Exactness**: constants are multiplied by alpha and beta in f64 and rounded to f32 once. If alpha and beta are 1, they
//! are not changed. Values that are not constant are multiplied and added in f32, and each operation rounds once.

use crate::matching::{GraphNode, push};
use crate::miss::{Miss, NoMatch};
use crate::rounding::rounded;
use crate::rule::NodeRule;
use strait_core::op::{Add, Gemm, MatMul, Mul, Transpose};
use strait_core::{Carrier, NewNode, Op, Patch, Reason, ReasonCode, Source, Term, ValueId};

/// The rule that gives every gemm the same form: a·bᵀ + bias, with constant weights and bias.
pub const RULE: NodeRule = NodeRule {
    name: "canonical-gemm",
    anchors: || vec![Term::Gemm],
    depth: || 2,
    is_fusion: false,
    look,
};

/// The transpose of a matrix with `rows` rows and `columns` columns.
pub(super) fn transposed<T: Copy>(values: &[T], rows: usize, columns: usize) -> Vec<T> {
    (0..columns)
        .flat_map(|c| (0..rows).map(move |r| values[r * columns + c]))
        .collect()
}

/// A gemm, and the nodes that will replace it.
struct Parts<'a> {
    site: &'a GraphNode<'a>,
    gemm: &'a Gemm,
    a: ValueId,
    b: ValueId,
    /// The bias. `None` if beta is 0.
    bias: Option<ValueId>,
    /// The extents of b. `None` if b is not a constant.
    extents: Option<[u64; 2]>,
    patch: Patch,
}

impl<'a> Parts<'a> {
    fn new(site: &'a GraphNode<'a>, gemm: &'a Gemm) -> Option<Parts<'a>> {
        let b = site.input(1)?;
        let constant = site.floats(b).and_then(|(tensor, _)| tensor.shape().try_into().ok());
        Some(Parts {
            site,
            gemm,
            a: site.input(0)?,
            b,
            bias: site.input(2).filter(|_| gemm.beta != 0.0),
            extents: constant,
            patch: Patch::default(),
        })
    }

    /// True for a constant with codes that f32 cannot hold exactly. The rules leave such codes to the step *bake*,
    /// which converts the parameter.
    fn is_coded(&self, value: ValueId) -> bool {
        let from = self.site.producer(value, Term::Dequantize);
        from.and_then(|from| from.constant(from.input(0)?)).is_some()
    }

    /// True if each row of b has the weights of one output, either now or after this rule.
    fn has_weights(&self) -> bool {
        self.extents.is_some() || self.gemm.transpose_b && self.gemm.alpha == 1.0 && self.is_coded(self.b)
    }

    /// The shape of the bias after the rule, if the gemm can keep its bias as an operand.
    fn kept(&self, bias: ValueId) -> Option<[u64; 1]> {
        let &[rows, columns] = self.site.dims(self.b).as_deref()? else {
            return None;
        };
        let outputs = if self.gemm.transpose_b { rows } else { columns };
        let own = self.site.dims(bias);
        let is_one_each = self.site.per_last_axis(bias, outputs as usize).is_some()
            || self.site.scalar(bias).is_some()
            || self.gemm.beta == 1.0 && own.as_deref() == Some(&[outputs]) && self.is_coded(bias);
        (self.has_weights() && is_one_each).then_some([outputs])
    }

    fn is_canonical(&self) -> bool {
        let keeps = |bias| {
            self.kept(bias)
                .is_some_and(|shape| self.site.dims(bias).as_deref() == Some(&shape))
        };
        self.gemm.is_canonical() && self.has_weights() && self.bias.is_none_or(keeps)
    }

    fn node(&mut self, op: impl Into<Op>, operands: &[Source]) -> Source {
        let operands: Vec<Option<Source>> = operands.iter().copied().map(Some).collect();
        self.push(NewNode::new(op, &operands, &[self.site.id]))
    }

    fn push(&mut self, node: NewNode) -> Source {
        push(&mut self.patch, node)
    }

    fn transposed(&mut self, matrix: ValueId, is_transposed: bool) -> Source {
        let permutation = [1, 0].into_iter().collect();
        match is_transposed {
            true => self.node(Transpose { permutation }, &[Source::Old(matrix)]),
            false => Source::Old(matrix),
        }
    }

    fn constant(&mut self, name: &str, shape: &[u64], numbers: Vec<f64>) -> Result<Source, Miss> {
        let text = "a weight or bias times alpha or beta is not finite";
        let made = rounded(&mut self.patch, name, shape, numbers)?;
        Ok(made.ok_or_else(|| Reason::new(ReasonCode::NotFinite, text))?)
    }

    fn times(&mut self, source: Source, factor: f32) -> Result<Source, Miss> {
        if factor == 1.0 {
            return Ok(source);
        }
        let factor = self.constant("factor", &[], vec![factor.into()])?;
        Ok(self.node(Mul::float(), &[source, factor]))
    }

    /// The weights as `[outputs, inputs]`, multiplied by alpha.
    fn weight(&mut self) -> Result<Source, Miss> {
        let (site, b, alpha) = (self.site, self.b, self.gemm.alpha);
        let (Some([rows, columns]), Some((_, numbers))) = (self.extents, site.exact(b)) else {
            return Ok(Source::Old(b));
        };
        if alpha == 1.0 && self.gemm.transpose_b {
            return Ok(Source::Old(b));
        }
        if let Some(turned) = site.turned(b).filter(|_| alpha == 1.0) {
            // The grid is transposed together with the matrix. The transpose node itself is folded later.
            return Ok(self.push(turned));
        }
        let numbers: Vec<f64> = numbers.iter().map(|w| w * f64::from(alpha)).collect();
        if self.gemm.transpose_b {
            return self.constant("weight", &[rows, columns], numbers);
        }
        let numbers = transposed(&numbers, rows as usize, columns as usize);
        self.constant("weight", &[columns, rows], numbers)
    }

    /// The bias multiplied by beta, in its own shape or with one number for each output.
    fn bias(&mut self, bias: ValueId, outputs: Option<[u64; 1]>) -> Result<Source, Miss> {
        let (site, beta) = (self.site, self.gemm.beta);
        let Some((tensor, numbers)) = site.exact(bias) else {
            return self.times(Source::Old(bias), beta);
        };
        let shape = outputs.as_ref().map_or(tensor.shape(), |outputs| outputs);
        if beta == 1.0 && shape == tensor.shape() {
            return Ok(Source::Old(bias));
        }
        let count = shape.iter().product::<u64>() as usize;
        let scaled = numbers.iter().map(|number| number * f64::from(beta));
        let scaled = scaled.cycle().take(count).collect();
        self.constant("bias", shape, scaled)
    }

    fn whole(&mut self) -> Result<Source, Miss> {
        let a = self.transposed(self.a, self.gemm.transpose_a);
        let kept = self.bias.and_then(|bias| self.kept(bias));
        let product = if self.has_weights() {
            let mut operands = vec![a, self.weight()?];
            if let (Some(bias), Some(outputs)) = (self.bias, kept) {
                operands.push(self.bias(bias, Some(outputs))?);
            }
            self.node(Gemm::canonical(), &operands)
        } else {
            let b = self.transposed(self.b, self.gemm.transpose_b);
            let op = MatMul {
                a_zero: 0,
                b_zero: 0,
                accumulator: Carrier::I32,
            };
            let product = self.node(op, &[a, b]);
            self.times(product, self.gemm.alpha)?
        };
        match self.bias.filter(|_| kept.is_none()) {
            None => Ok(product),
            Some(bias) => {
                let bias = self.bias(bias, None)?;
                Ok(self.node(Add {}, &[product, bias]))
            }
        }
    }
}

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let Op::Gemm(gemm) = &site.node.op else {
        return Err(NoMatch);
    };
    let parts = Parts::new(site, gemm).filter(|parts| !parts.is_canonical());
    let mut parts = parts.ok_or(NoMatch)?;
    let whole = parts.whole()?;
    Ok(Patch {
        replace: vec![(site.result()?, whole)],
        remove: vec![site.id],
        ..parts.patch
    })
}
