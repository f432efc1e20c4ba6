//! The metrics, one file each.

mod agreement;
mod answered;
mod auc;
mod claim;
mod flip;
mod flips;
mod map;
mod miou;
mod nearness;
mod one_answer;
mod own;
mod perplexity;
mod psnr;
mod top;

pub use agreement::Agreement;
pub use answered::Answered;
pub use auc::{Auc, Score};
pub use claim::Claim;
pub use flip::{Flip, Flipped};
pub use flips::Flips;
pub use map::{BoxSource, Map, OVERLAPS};
pub use miou::{Layout, Miou};
pub use nearness::{Nearness, Of, ratio};
pub use one_answer::OneAnswer;
pub use own::Own;
pub use perplexity::Perplexity;
pub use psnr::Psnr;
pub use top::Top;

/// Why a figure over several answers has no interval.
const ONE_SAMPLE: &str =
    "the answers of a single sample depend on each other, so they have no interval; more samples have one";
