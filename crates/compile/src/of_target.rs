//! The float graph of one target: the rules that its table switches on, and what is observed for their sake.

use std::borrow::Cow;

use strait_core::{Module, Rewritten, Switches};
use strait_quantize::{Observation, Requests};
use strait_target::TargetSpec;

use crate::{CompileError, Watch, check_invariants};

/// The canonical graph as a target wants it, with what the samples say of it.
#[derive(Clone, Debug)]
pub struct OfTarget<'a> {
    /// The graph. Ids that are in the canonical one mean the same here.
    pub module: Cow<'a, Module>,
    /// The statistics of its values.
    pub observation: Cow<'a, Observation>,
    /// The steps that the rules took.
    pub rewritten: Rewritten,
}

impl<'a> OfTarget<'a> {
    /// Applies the rules of a target's table. `observe` is asked for the statistics of values that they have created, and of
    /// those alone.
    ///
    /// # Errors
    /// A module that is broken, or whatever stops the observation.
    pub fn new<E: From<CompileError>>(
        (canonical, observation): (&'a Module, &'a Observation),
        (spec, switches): (&TargetSpec, &Switches),
        watch: &dyn Watch,
        observe: impl FnOnce(&Module, &Requests) -> Result<Observation, E>,
    ) -> Result<OfTarget<'a>, E> {
        let mut found = OfTarget {
            module: Cow::Borrowed(canonical),
            observation: Cow::Borrowed(observation),
            rewritten: Rewritten::default(),
        };
        if spec.rules.is_empty() {
            return Ok(found);
        }
        let (module, rewritten) = watch.step("rewrite", None, |_| {
            let mut module = canonical.clone();
            let (rules, main) = (strait_rewrite::of_target(&spec.rules), module.main);
            let rewritten = rules.switched(switches).run(&mut module, main);
            let rewritten = rewritten.map_err(CompileError::from)?;
            if !rewritten.applied.is_empty() {
                check_invariants(&module, "rewrite")?;
            }
            Ok::<_, CompileError>((module, rewritten))
        })?;
        if rewritten.applied.is_empty() {
            return Ok(found);
        }
        let unmet = Requests::all(&module, module.main).unmet(&module, module.main, observation);
        if !unmet.is_empty() {
            found.observation.to_mut().extend(observe(&module, &unmet)?);
        }
        (found.module, found.rewritten) = (Cow::Owned(module), rewritten);
        Ok(found)
    }
}
