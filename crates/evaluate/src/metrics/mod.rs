//! The metrics, one file each.

mod agreement;
mod auc;
mod claim;
mod map;
mod miou;
mod nearness;
mod own;
mod psnr;
mod top;

pub use agreement::Agreement;
pub use auc::{Auc, Score};
pub use claim::Claim;
pub use map::{BoxSource, Map, OVERLAPS};
pub use miou::{Layout, Miou};
pub use nearness::{Nearness, Of, ratio};
pub use own::Own;
pub use psnr::Psnr;
pub use top::Top;
