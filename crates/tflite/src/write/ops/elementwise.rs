//! Functions of two operands, element by element.

use super::super::Site;
use super::super::emitter::{Emitter, Index, Refused};
use super::super::flatbuffer::Table;
use strait_core::layout::Order;
use strait_core::{Elem, Node, Term};

/// For each op: the name of its TFLite operator, and whether the operator can have a fused activation.
const OPERATORS: &[(Term, &str, bool)] = &[
    (Term::Add, "ADD", true),
    (Term::Sub, "SUB", true),
    (Term::Mul, "MUL", true),
    (Term::Div, "DIV", true),
    (Term::Pow, "POW", false),
    (Term::Minimum, "MINIMUM", false),
    (Term::Maximum, "MAXIMUM", false),
    (Term::Modulo, "FLOOR_MOD", false),
    (Term::Equal, "EQUAL", false),
    (Term::Less, "LESS", false),
    (Term::LessOrEqual, "LESS_EQUAL", false),
    (Term::And, "LOGICAL_AND", false),
    (Term::Or, "LOGICAL_OR", false),
];

pub(super) fn two(emitter: &mut Emitter<'_>, site: &Site<'_>) -> Result<(), Refused> {
    let term = site.node.op.term();
    let known = OPERATORS.iter().find(|(own, ..)| *own == term);
    let &(_, name, fuses) = known.ok_or_else(|| format!("TFLite has no operator for `{term}`"))?;
    let result = site.result.ok_or("it has no result")?;
    let order = emitter.layouts.of(emitter.graph, result);
    let (a, b) = (
        broadcast(emitter, site.node, 0, &order)?,
        broadcast(emitter, site.node, 1, &order)?,
    );
    let made = emitter.define(result, order)?;
    // Sums of 16-bit codes accept scales that are not powers of two only if an option says so.
    let general = emitter.tensor(made).elem == Elem::I16 && matches!(term, Term::Add | Term::Sub);
    let options = fuses.then(|| {
        let options = Table::default().byte(0, site.activation, 0);
        if general { options.byte(1, 0, 1) } else { options }
    });
    emitter.emit(name, &[a, b], &[made], options)
}

pub(super) fn select(emitter: &mut Emitter<'_>, site: &Site<'_>) -> Result<(), Refused> {
    let order = emitter.result_order(site.node);
    let mut operands = Vec::new();
    for at in 0..3 {
        operands.push(broadcast(emitter, site.node, at, &order)?);
    }
    let made = emitter.result(site.node)?;
    emitter.emit("SELECT_V2", &operands, &[made], None)
}

/// Returns the tensor of an operand that broadcasts to a result whose axes are stored in `order`. If this order moves
/// axes, an operand of a smaller rank first gets axes of extent 1 in front.
pub(super) fn broadcast(emitter: &mut Emitter<'_>, node: &Node, at: usize, order: &Order) -> Result<Index, Refused> {
    let value = emitter.operand(node, at)?;
    let own = emitter.graph.value(value).map_or(0, |value| value.ty.shape.len());
    let rank = order.axes().len();
    if own == rank {
        return emitter.read(value, order);
    }
    if order.is_plain() || own == 0 {
        return emitter.read(value, &Order::plain(own));
    }
    let missing = rank
        .checked_sub(own)
        .ok_or("an operand has more axes than the result")?;
    let of_value = emitter.stored(value, &Order::plain(own))?.shape;
    let full: Vec<u64> = std::iter::repeat_n(1, missing).chain(of_value).collect();
    if emitter.constant(value).is_some() {
        return emitter.constant_as(value, order, &full);
    }
    let plain = emitter.read(value, &Order::plain(own))?;
    let extended = emitter.like(plain, "extended", full.clone())?;
    emitter.reshape(plain, extended)?;
    let moved = emitter.like(plain, "moved", order.stored(&full).to_vec())?;
    let permutation: Vec<i32> = order.axes().map(|axis| axis as i32).collect();
    let permutation = emitter.ints(&permutation)?;
    emitter.emit("TRANSPOSE", &[extended, permutation], &[moved], None)?;
    Ok(moved)
}
