//! Reads pools.

use super::Row;
use super::window::{paddings, positive};
use crate::read::operator_reader::{Arg, OperatorReader, Refusal, option, options};
use crate::schema::{Activation, Padding};
use smallvec::{SmallVec, smallvec};
use strait_core::ReasonCode;
use strait_core::op::{AveragePool, Function, MaxPool};

pub(super) const ROWS: &[Row] = &[
    Row::new("AVERAGE_POOL_2D", 3, |reader| pool(reader, Kind::Average)),
    Row::new("MAX_POOL_2D", 3, |reader| pool(reader, Kind::Max)),
    Row::new("L2_POOL_2D", 1, |reader| pool(reader, Kind::Root)),
];

#[derive(Clone, Copy)]
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
    let mut image = reader.image(&Arg::Operand(0))?;
    let result = match kind {
        Kind::Max => {
            let op = MaxPool {
                size,
                stride,
                pad,
                dilation,
                ceil: false,
            };
            reader.push(op, &[image])?
        }
        Kind::Average | Kind::Root => {
            if matches!(kind, Kind::Root) {
                image = reader.times(&image, &image)?;
            }
            let op = AveragePool {
                size,
                stride,
                pad,
                dilation,
                ceil: false,
                count_include_pad: false,
            };
            let mean = reader.push(op, &[image])?;
            match kind {
                Kind::Root => reader.function(Function::Sqrt, &mean)?,
                _ => mean,
            }
        }
    };
    reader.finish_image(result, activation)
}
