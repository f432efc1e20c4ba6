//! The passes that apply rules to the float graph.

use super::Outcome;
use std::collections::BTreeSet;
use strait_core::verifier::verify;
use strait_core::{GraphId, Module, NodeId, PassError, Rule, RuleSet, Term};
use strait_target::spec::FloatRule;

/// A single rule of a set, as a set of its own.
struct Only(RuleSet, usize);

impl Only {
    fn rule(&self) -> Option<&dyn Rule> {
        self.0.rules().nth(self.1)
    }
}

impl Rule for Only {
    fn name(&self) -> &'static str {
        self.rule().map_or("", Rule::name)
    }

    fn anchors(&self) -> Vec<Term> {
        self.rule().map_or_else(Vec::new, Rule::anchors)
    }

    fn depth(&self) -> usize {
        self.rule().map_or(0, Rule::depth)
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<strait_core::Outcome, PassError> {
        self.rule()
            .map_or(Ok(strait_core::Outcome::NoMatch), |rule| rule.look(module, graph, at))
    }
}

/// `canonicalise`: applies all rules that make a graph canonical.
pub(super) fn canonicalise(module: &mut Module, _: &str) -> Result<Outcome, String> {
    run(&strait_rewrite::canonical(), module)
}

/// `rewrite RULE`: applies only this rule.
pub(super) fn rewrite(module: &mut Module, name: &str) -> Result<Outcome, String> {
    let sets = || {
        let own = [
            strait_rewrite::of_target(FloatRule::ALL),
            strait_rewrite::on_grids(FloatRule::ALL),
            strait_rewrite::for_runtimes(),
        ];
        [strait_rewrite::canonical()].into_iter().chain(own)
    };
    let named = |set: RuleSet| {
        let position = set.rules().position(|rule| rule.name() == name)?;
        Some(Only(set, position))
    };
    let known = || {
        let names: BTreeSet<&str> = sets()
            .flat_map(|set| set.rules().map(Rule::name).collect::<Vec<_>>())
            .collect();
        format!(
            "there is no rule `{name}`; there are {}",
            Vec::from_iter(names).join(", ")
        )
    };
    let only = sets().find_map(named).ok_or_else(known)?;
    run(&RuleSet::new(vec![Box::new(only)]), module)
}

/// Applies the rules. The remarks say which was applied where, and which was refused where and why.
fn run(set: &RuleSet, module: &mut Module) -> Result<Outcome, String> {
    let main = module.main;
    let done = set.run(module, main).map_err(|error| error.to_string())?;
    verify(module).map_err(|violation| violation.to_string())?;
    let applied = done
        .applied
        .iter()
        .map(|(rule, node)| format!("{rule} applied at {node}"));
    let refused = done.refused.iter();
    let refused = refused.map(|(rule, node, reason)| format!("{rule} refused at {node}: {reason}"));
    Ok(Outcome::Module(applied.chain(refused).collect()))
}
