//! The metrics, a file each.

pub(crate) mod agreement;
pub(crate) mod auc;
pub(crate) mod map;
pub(crate) mod miou;
pub(crate) mod nearness;
pub(crate) mod own;
pub(crate) mod psnr;
pub(crate) mod top;
