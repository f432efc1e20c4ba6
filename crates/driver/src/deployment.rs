//! The deployment of an artifact, with the preprocessing of the configuration.

use strait_target::Options;

use strait_config::types::Preprocess;

pub use strait_container::{DEPLOYMENT_FILE, DEPLOYMENT_SCHEMA as SCHEMA};

/// The content of the file.
pub type Deployment = strait_container::Deployment<Preprocess, Options>;

/// An input of the model.
pub type DeployedInput = strait_container::DeployedInput<Preprocess>;
