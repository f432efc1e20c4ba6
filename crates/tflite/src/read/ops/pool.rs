//! Reads pools.

use super::Row;
use super::window::{paddings, positive};
use crate::read::operator_reader::{Arg, OperatorReader, Refusal, option, options};
use crate::schema::{Activation, Padding};
use smallvec::{SmallVec, smallvec};
use strait_core::ReasonCode;
use strait_core::op::{Function, Op};
use strait_import::Window;

pub(super) const ROWS: &[Row] = &[
    Row::new("AVERAGE_POOL_2D", 3, |reader| pool(reader, Kind::Average)).on_one_grid(),
    Row::new("MAX_POOL_2D", 3, |reader| pool(reader, Kind::Max)).on_one_grid(),
    Row::new("L2_POOL_2D", 1, |reader| pool(reader, Kind::Root)),
];

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Average,
    Max,
    /// An L2 pool: the square root of the mean of squares.
    Root,
}

fn pool(reader: &mut OperatorReader<'_, '_>, kind: Kind) -> Result<(), Refusal> {
    let options = options!(reader, Pool2DOptions);
    if options.is_none() {
        return Err(Refusal::invalid(ReasonCode::Pool, "it has no options"));
    }
    reader.of_rank(0, 4)?;
    let size: SmallVec<[u32; 2]> = smallvec![
        positive(option!(options, filter_height, 1), "height")?,
        positive(option!(options, filter_width, 1), "width")?
    ];
    let stride: SmallVec<[u32; 2]> = smallvec![
        positive(option!(options, stride_h, 1), "stride")?,
        positive(option!(options, stride_w, 1), "stride")?
    ];
    let dilation: SmallVec<[u32; 2]> = smallvec![1, 1];
    let padding = option!(options, padding, Padding::Same);
    let activation = option!(options, fused_activation_function, Activation::None);
    let pad = paddings(reader, 0, padding, [&size, &stride, &dilation])?;
    let window = Window { stride, dilation, pad };
    let mut image = reader.image(&Arg::Operand(0))?;
    if kind == Kind::Root {
        image = reader.times(&image, &image)?;
    }
    let op: Op = match kind {
        Kind::Max => window.max_pool(size, false).into(),
        Kind::Average | Kind::Root => window.average_pool(size, false, false).into(),
    };
    let mut result = reader.push(op, &[image])?;
    if kind == Kind::Root {
        result = reader.function(Function::Sqrt, &result)?;
    }
    reader.finish_image(result, activation)
}
