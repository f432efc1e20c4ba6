//! Turns the configuration of a deployment into an artifact, and implements what the commands do with artifacts.

pub use strait_config as config;
pub use strait_document::diagnostic;
pub use strait_report as report;

mod analysis;
pub mod artifact;
pub mod bench;
pub mod catalogue;
pub mod checked;
pub mod cuts;
pub mod dialect;
pub mod dump;
pub mod effective;
pub mod eval;
pub mod evaluation;
pub mod failure;
pub mod imported;
pub mod init;
pub mod inspect;
pub mod limits;
pub mod lock;
mod machine;
mod model;
pub mod page;
pub mod pipeline;
mod plugins;
pub mod recognise;
pub mod run;
mod sanity;
pub mod session;
pub mod shown;
pub mod stop;
mod table;
pub mod targets;
pub mod verification;

pub use model::formats;
