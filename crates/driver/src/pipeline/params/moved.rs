//! The parameters of a model in which scale was moved between layers.
//!
//! The tensors in such a file are those of the model divided by factors, so they are given to the copy of the model in which the
//! same scale is moved again. The factors follow from the model, the samples and the settings of the optimisation. The file has
//! their digest, so that other factors are an error and not other tensors.

use std::{collections::BTreeMap, sync::Mutex};

use strait_artifact::factors;
use strait_compile::{Balance, Built, CompileError, Resolved};
use strait_core::{Module, NodeId};

use crate::{
    config::Params,
    diagnostic::{Diagnostic, Diagnostics},
    failure::codes,
};

use super::give;

/// The parameters for the copy of the model.
pub(in crate::pipeline) struct Moved<'a> {
    params: &'a Params,
    digest: &'a str,
    /// Why they were refused. The compiler knows no errors of files, so this one is kept beside it.
    refused: Mutex<Option<Diagnostics>>,
}

impl<'a> Moved<'a> {
    /// `None` if the parameters are those of the model itself.
    pub(in crate::pipeline) fn of(params: Option<&'a Params>) -> Option<Moved<'a>> {
        let params = params?;
        Some(Moved {
            digest: params.factors.as_deref()?,
            params,
            refused: Mutex::new(None),
        })
    }

    /// The settings of the copy, with the parameters.
    ///
    /// # Errors
    /// [`CompileError::Interrupted`] if the parameters are refused; [`Moved::held`] says why.
    pub(in crate::pipeline) fn settings(
        &self,
        float: &Module,
        layers: &BTreeMap<NodeId, Balance>,
        own: &Resolved,
    ) -> Result<Resolved, CompileError> {
        let mut resolved = own.clone();
        let found = match factors(float, layers).to_string() == self.digest {
            false => Err(self
                .error("the factors by which scale is moved are others than those of the file")
                .into()),
            true => give(self.params, float, &mut resolved.settings, &mut resolved.given),
        };
        found.map(|()| resolved).map_err(|found| {
            if let Ok(mut refused) = self.refused.lock() {
                *refused = Some(found);
            }
            CompileError::Interrupted
        })
    }

    /// Checks that the parameters were given to a copy of the model. `built` is the model, if it could be compiled.
    ///
    /// # Errors
    /// They were refused, or no scale was moved.
    pub(in crate::pipeline) fn held(&self, built: Option<&Built>) -> Result<(), Diagnostics> {
        if let Some(found) = self.refused.lock().ok().and_then(|mut refused| refused.take()) {
            return Err(found);
        }
        match built.is_some_and(|built| built.migrated().is_none()) {
            true => Err(self
                .error("the file is of a compilation that moved scale, and this one moves none")
                .into()),
            false => Ok(()),
        }
    }

    fn error(&self, message: &str) -> Diagnostic {
        let help = "compile with the model, the samples, the target and the `[optimize]` that the file was made with, or take the \
                    params.toml of a compilation with `optimize.equalize = false` and `optimize.smooth = false`";
        self.params.factors_error(codes::PARAMS, message).help(help)
    }
}
