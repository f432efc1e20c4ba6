//! Whole-graph steps and the manager that runs them over a module.

use crate::ids::GraphId;
use crate::module::Module;
use crate::reason::Reason;
use crate::stage::Stage;
use std::borrow::Cow;

/// Why a pass stopped, and whose fault it is.
#[derive(Debug, thiserror::Error)]
pub enum PassError {
    /// The model asks for what cannot be.
    #[error("model: {0}")]
    Model(Reason),
    /// The configuration does.
    #[error("configuration: {0}")]
    Config(Reason),
    /// The target's table or code does.
    #[error("target: {0}")]
    Target(Reason),
    /// A defect in Strait.
    #[error("defect in Strait: {0}")]
    Ours(Cow<'static, str>),
}

/// A step over one graph; the manager visits every graph of the module.
pub trait Pass: Send + Sync {
    /// Kebab-case.
    fn name(&self) -> &'static str;

    /// The stage that it needs, and the one that it leaves the graph in.
    fn stages(&self) -> (Stage, Stage);

    /// Runs on one graph.
    fn run(&self, module: &mut Module, graph: GraphId) -> Result<(), PassError>;
}

/// A checked sequence of passes.
#[derive(Default)]
pub struct PassManager {
    passes: Vec<Box<dyn Pass>>,
    verify_each: bool,
}

impl PassManager {
    /// A sequence in which each pass leaves the stage that the next one needs.
    pub fn new(passes: Vec<Box<dyn Pass>>) -> Result<PassManager, PassError> {
        for pair in passes.windows(2) {
            let (left, right) = (pair[0].stages().1, pair[1].stages().0);
            if left != right {
                return Err(PassError::Ours(
                    format!(
                        "{} leaves stage {left}, {} needs {right}",
                        pair[0].name(),
                        pair[1].name()
                    )
                    .into(),
                ));
            }
        }
        Ok(PassManager {
            passes,
            verify_each: false,
        })
    }

    /// Verifies the whole module behind every pass instead of only where the stage changes.
    pub fn verify_each(mut self, on: bool) -> PassManager {
        self.verify_each = on;
        self
    }

    /// Runs every pass over every graph.
    pub fn run(&self, module: &mut Module) -> Result<(), PassError> {
        for pass in &self.passes {
            let (needs, leaves) = pass.stages();
            for index in 0..module.graphs.len() {
                let found = module.graphs[index].stage();
                if found != needs {
                    return Err(PassError::Ours(
                        format!("{} needs stage {needs}, found {found}", pass.name()).into(),
                    ));
                }
                pass.run(module, GraphId::new(index))?;
                module.graphs[index].set_stage(leaves);
            }
            if self.verify_each || needs != leaves {
                crate::verifier::verify(module)
                    .map_err(|violation| PassError::Ours(format!("behind {}: {violation}", pass.name()).into()))?;
            }
        }
        Ok(())
    }
}
