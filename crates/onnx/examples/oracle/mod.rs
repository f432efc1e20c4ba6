//! Parts of the programs that compare the results of models, as Strait reads and runs them, with the results of other
//! software.

pub(crate) mod cases;
pub(crate) mod forms;
pub(crate) mod numbers;

use cases::Case;
use std::path::PathBuf;
use strait_core::Module;
use strait_execute::{ExecuteError, Plan, PlanOptions, Tensor, Threads, Workspace};

/// The arguments of a program that compares results: `FOLDER LIST [--OPTION …] [NAME]`.
pub(crate) struct Arguments {
    pub(crate) folder: PathBuf,
    pub(crate) list: PathBuf,
    /// NAME. If it is given, only the cases whose names contain it are run.
    pub(crate) only: Option<String>,
    options: Vec<String>,
}

impl Arguments {
    /// Reads the arguments of this process. Refuses all options but `known`.
    pub(crate) fn read(known: &[&str]) -> Result<Arguments, String> {
        let (options, arguments): (Vec<String>, Vec<String>) = std::env::args()
            .skip(1)
            .partition(|argument| argument.starts_with("--"));
        if let Some(unknown) = options.iter().find(|option| !known.contains(&option.as_str())) {
            return Err(format!("`{unknown}` is no option"));
        }
        match arguments.as_slice() {
            [folder, list, only @ ..] if only.len() < 2 => Ok(Arguments {
                folder: folder.into(),
                list: list.into(),
                only: only.first().cloned(),
                options,
            }),
            _ => Err("a folder and a list are expected".into()),
        }
    }

    /// True if an option is given.
    pub(crate) fn has(&self, option: &str) -> bool {
        self.options.iter().any(|given| given == option)
    }

    /// True if a case is to be run.
    pub(crate) fn chooses(&self, case: &Case) -> bool {
        self.only.as_ref().is_none_or(|name| case.name.contains(name))
    }
}

/// Runs a module on the inputs of a case.
pub(crate) fn outputs(case: &Case, module: &Module) -> Result<Vec<Tensor>, ExecuteError> {
    let plan = Plan::new(module, module.main, &PlanOptions::default())?;
    let inputs: Vec<_> = case.inputs.iter().map(Tensor::view).collect();
    let threads = Threads::one();
    plan.run(&mut Workspace::new(&plan, &threads), &inputs)
}
