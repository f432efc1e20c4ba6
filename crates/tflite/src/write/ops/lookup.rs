//! Functions of codes by tables.

use super::super::Site;
use super::super::emitter::{Emitter, Refused, Stored};
use super::super::flatbuffer::Table;
use strait_core::Elem;
use strait_core::layout::Order;

/// `table[x − least]`, where `least` is the smallest code of the type of x: CAST makes 32-bit integers of the codes, ADD
/// of −`least` makes them positions, and GATHER takes the entries. Codes between the operators have no grid, so they
/// stay integers.
pub(super) fn lookup(emitter: &mut Emitter<'_>, site: &Site<'_>) -> Result<(), Refused> {
    let x = emitter.image(site.node, 0)?;
    let table = emitter.operand(site.node, 1)?;
    let table = emitter.read(table, &Order::plain(1))?;
    let (least, _) = emitter.tensor(x).elem.integers().ok_or("its operand has no codes")?;
    let positions = |emitter: &mut Emitter<'_>, suffix: &str| {
        let own = emitter.tensor(x);
        let (name, shape) = (format!("{}_{suffix}", own.name), own.shape.clone());
        let (elem, grid) = (Elem::I32, None);
        emitter.add(name, Stored { shape, elem, grid }, None)
    };
    let codes = positions(emitter, "codes")?;
    emitter.emit("CAST", &[x], &[codes], None)?;
    let offset = i32::try_from(-least).map_err(|error| error.to_string())?;
    let offset = emitter.int(offset)?;
    let at = positions(emitter, "positions")?;
    emitter.emit("ADD", &[codes, offset], &[at], Some(Table::default()))?;
    let made = emitter.result(site.node)?;
    emitter.emit("GATHER", &[table, at], &[made], Some(Table::default()))
}
