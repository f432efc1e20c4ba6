//! Lets several processes share the work of one compilation.
//!
//! All processes run the same program on the same configuration. Where the program works on samples, each process works
//! only on its own [`Share`] of them, writes its results to a file in a common folder, and waits for the files of the
//! others ([`Exchange`]). Then every process has the results for all samples, in the order of the samples, and goes on
//! as if it had computed all of them. So each process ends with the bytes of a single process.
//!
//! A process that was ended and is started again finds the files of the others, and those that it wrote before.

mod error;
mod exchange;
mod file;
mod portable;
mod share;
#[cfg(test)]
mod tests;

pub use error::ExchangeError;
pub use exchange::{Exchange, Follower, Quiet, Step};
pub use file::{Incoming, Outgoing};
pub use portable::{Portable, Reader};
pub use share::Share;
