//! The float graph for one target: applies the rules that the target's table switches on, and observes the values that
//! these rules create.

use std::borrow::Cow;

use strait_core::{Module, Rewritten, Switches};
use strait_quantize::{Observation, Requests};
use strait_target::TargetSpec;

use crate::{CompileError, Watch, check_invariants};

/// The float graph for one target, with its statistics. It is the canonical graph after the float rules that the
/// target's table switches on.
#[derive(Clone, Debug)]
pub struct OfTarget<'a> {
    /// The module with this graph. An id that is also in the canonical graph stands for the same node or value there.
    pub module: Cow<'a, Module>,
    /// The statistics of the graph's values.
    pub observation: Cow<'a, Observation>,
    /// What the rewrite rules have changed.
    pub rewritten: Rewritten,
}

impl<'a> OfTarget<'a> {
    /// Applies the rules of a target's table. `observe` is called to collect the statistics of those values that the
    /// rules have created.
    ///
    /// # Errors
    /// The module is broken, or `observe` fails.
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
