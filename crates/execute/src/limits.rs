//! Limits on the memory and the work of running a graph.
//!
//! A file of a hundred bytes can ask for more than any machine has. The memory and the work of a run are computed
//! before it begins. If a model exceeds a limit, it is refused, and the error names the most expensive layer. If there
//! is enough memory for one sample, but not for one sample on each thread, fewer samples run at the same time. No limit
//! changes a byte of any result.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use crate::{Cost, ExecuteError, NodeCost, cost};
use strait_core::{Def, Graph, GraphId, Module, codes, shape::element_count};

/// How much memory and work runs may take. By default, memory is not limited, and the number of operations is limited
/// by [`Operations::Sensible`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The limit on memory in bytes; `None` if there is no limit.
    pub memory: Option<u64>,
    /// The limit on the operations of one sample.
    pub operations: Operations,
}

/// A limit on the operations of one sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Operations {
    /// For each sample, 10^12 operations, or 10^5 for each byte of weights if that is more. Trained networks stay below
    /// this; a small file that was made to cost hours of work does not.
    #[default]
    Sensible,
    /// At most this number of operations.
    AtMost(u64),
    /// Any number of operations.
    Unlimited,
}

/// Why a run is refused: it exceeds a limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Excess {
    /// A run needs too much memory.
    #[error("a run of one sample takes {taken} bytes, and {allowed} may be used; the most at `{}` ({})", widest.node, widest.op)]
    Memory {
        /// Bytes that a run of one sample needs, including what all samples share.
        taken: u64,
        /// Bytes that are available.
        allowed: u64,
        /// The node where the most bytes are in use.
        widest: NodeCost,
        /// Bytes that the weights take.
        weights: u64,
        /// Bytes of packed and aligned copies of the weights.
        copies: u64,
        /// Bytes of the statistics that are collected.
        statistics: u64,
        /// Bytes of the values that one sample needs.
        values: u64,
        /// Bytes of the sample's inputs and results.
        results: u64,
    },
    /// A run needs too many operations.
    #[error("a run of one sample takes {operations} operations, and {allowed} are allowed; the most in `{}` ({})", busiest.node, busiest.op)]
    Work {
        /// Operations of one sample.
        operations: u64,
        /// Operations that are allowed.
        allowed: u64,
        /// The node with the most operations.
        busiest: NodeCost,
    },
}

impl Excess {
    /// Returns the error code, by which programs can tell which limit was exceeded.
    pub fn code(&self) -> &'static str {
        match self {
            Excess::Memory { .. } => codes::MEMORY,
            Excess::Work { .. } => codes::WORK,
        }
    }

    /// Returns the name of the node that takes the most memory or operations.
    pub fn layer(&self) -> &str {
        match self {
            Excess::Memory { widest: share, .. } | Excess::Work { busiest: share, .. } => &share.node,
        }
    }
}

/// The number of operations that [`Operations::Sensible`] always allows.
const SENSIBLE: u64 = 1_000_000_000_000;

/// Operations that [`Operations::Sensible`] allows for each byte of weights.
const FOR_EACH_BYTE: u64 = 100_000;

/// The memory and the work that runs of one graph, or of several graphs together, need.
#[derive(Clone, Debug)]
pub struct Demand {
    weights: u64,
    /// Bytes of the copies of weights in all plans.
    copies: u64,
    statistics: u64,
    /// Bytes that each running sample needs.
    values: u64,
    /// Bytes of the results of one sample while they wait to be delivered in order. For each running sample, the
    /// results of up to two other samples may wait.
    results: u64,
    widest: NodeCost,
    operations: u64,
    busiest: NodeCost,
}

impl Demand {
    /// Returns the memory and the work that runs of a graph with this cost need.
    pub fn new(cost: Cost) -> Demand {
        Demand {
            weights: cost.constants,
            copies: cost.copies,
            statistics: 0,
            values: cost.peak.amount,
            results: cost.ports,
            widest: cost.peak,
            operations: cost.operations,
            busiest: cost.busiest,
        }
    }

    /// Adds memory for statistics: `statistics` bytes for each running sample, and as many for the total over all
    /// samples.
    pub fn observed(mut self, statistics: u64) -> Demand {
        self.statistics = statistics;
        self.results = self.results.saturating_add(statistics);
        self
    }

    /// Adds the needs of another graph that runs at the same time as this one.
    pub fn beside(self, other: Demand) -> Demand {
        let larger = |a: NodeCost, b: NodeCost| if b.amount > a.amount { b } else { a };
        Demand {
            weights: self.weights.saturating_add(other.weights),
            copies: self.copies.saturating_add(other.copies),
            statistics: self.statistics.saturating_add(other.statistics),
            values: self.values.saturating_add(other.values),
            results: self.results.saturating_add(other.results),
            widest: larger(self.widest, other.widest),
            operations: self.operations.saturating_add(other.operations),
            busiest: larger(self.busiest, other.busiest),
        }
    }

    /// Computes what is needed to compare the main graph of an integer module with the lowered graph. The main graph is
    /// the fused graph: it was made from the lowered graph by fusions.
    ///
    /// The lowered graph runs first. The integer values that both graphs have are kept until they are compared. After
    /// the run, all of these values exist at once, so memory grows with their sum. If a fusion is not exact, the fused
    /// graph needs a second plan. The plans share the constants of the graph, but each plan packs the weights for
    /// itself.
    ///
    /// # Errors
    /// As for [`cost`].
    pub fn comparing(module: &Module) -> Result<Demand, ExecuteError> {
        let fused = Demand::new(cost(module, module.main)?);
        let mut demand = fused.clone();
        demand.values = demand.values.saturating_add(fused.values);
        demand.copies = demand.copies.saturating_add(fused.copies);
        // The cost of a node already includes the graphs that it runs.
        let nodes = module.graphs.iter().flat_map(Graph::nodes);
        let named: BTreeSet<GraphId> = nodes.flat_map(|(_, node)| node.op.graphs()).collect();
        let graphs = (0..module.graphs.len()).map(GraphId::new);
        for graph in graphs.filter(|graph| *graph != module.main && !named.contains(graph)) {
            demand = demand.beside(Demand::new(cost(module, graph)?));
        }
        let integers = module.main().values().map(|(_, value)| value);
        let kept = integers.filter(|value| value.ty.elem.int_type().is_some() && !matches!(value.def, Def::Data(_)));
        let kept = kept.map(|value| {
            let count = element_count(&value.ty.shape).unwrap_or(u64::MAX);
            count.saturating_mul(value.ty.elem.size() as u64)
        });
        demand.values = kept.fold(demand.values, u64::saturating_add);
        let pool = module.pool().iter().map(|tensor| tensor.bytes().len() as u64);
        demand.weights = pool.fold(0, u64::saturating_add);
        Ok(demand)
    }

    /// Adds memory for values that are kept for each sample.
    pub fn keeping(self, bytes: u64) -> Demand {
        Demand {
            values: self.values.saturating_add(bytes),
            ..self
        }
    }

    /// Returns the number of operations of one sample.
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// Returns the node with the most operations.
    pub fn busiest(&self) -> &NodeCost {
        &self.busiest
    }

    fn fixed(&self) -> u64 {
        let weights = self.weights.saturating_add(self.copies);
        weights.saturating_add(self.statistics)
    }

    fn for_each(&self) -> u64 {
        self.values.saturating_add(self.results.saturating_mul(2))
    }
}

impl Limits {
    /// Returns the number of samples that may run at the same time: one per thread, or fewer if there is not enough
    /// memory.
    ///
    /// # Errors
    /// There is not enough memory for one sample, or a sample takes more operations than allowed.
    pub fn admit(&self, demand: &Demand, threads: NonZeroUsize) -> Result<NonZeroUsize, Box<Excess>> {
        let most = match self.operations {
            Operations::Unlimited => u64::MAX,
            Operations::AtMost(most) => most,
            Operations::Sensible => demand.weights.saturating_mul(FOR_EACH_BYTE).max(SENSIBLE),
        };
        if demand.operations > most {
            return Err(Box::new(Excess::Work {
                operations: demand.operations,
                allowed: most,
                busiest: demand.busiest.clone(),
            }));
        }
        let Some(memory) = self.memory else { return Ok(threads) };
        let at_a_time = match memory.checked_sub(demand.fixed()) {
            Some(left) if left >= demand.for_each() => left / demand.for_each().max(1),
            _ => {
                return Err(Box::new(Excess::Memory {
                    taken: demand.fixed().saturating_add(demand.for_each()),
                    allowed: memory,
                    widest: demand.widest.clone(),
                    weights: demand.weights,
                    copies: demand.copies,
                    statistics: demand.statistics,
                    values: demand.values,
                    results: demand.results.saturating_mul(2),
                }));
            }
        };
        let at_a_time = usize::try_from(at_a_time).ok().and_then(NonZeroUsize::new);
        Ok(at_a_time.map_or(threads, |most| most.min(threads)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(weights: u64, values: u64, operations: u64) -> Demand {
        let share = |amount| NodeCost {
            node: "wide".into(),
            op: "pad",
            amount,
        };
        Demand::new(Cost {
            constants: weights,
            copies: 0,
            ports: 0,
            peak: share(values),
            operations,
            busiest: share(operations),
        })
    }

    fn admitted(threads: usize, limits: Limits, demand: &Demand) -> Result<usize, String> {
        let threads = NonZeroUsize::new(threads).unwrap();
        let found = limits.admit(demand, threads);
        found.map(NonZeroUsize::get).map_err(|excess| excess.to_string())
    }

    #[test]
    fn memory_stops_or_serialises() {
        let limits = |memory| Limits {
            memory,
            operations: Operations::Sensible,
        };
        let wide = demand(1000, 4000, 1);
        assert_eq!(admitted(8, limits(None), &wide), Ok(8));
        for (memory, expected) in [(1_000_000, 8), (13_000, 3), (5_000, 1)] {
            assert_eq!(admitted(8, limits(Some(memory)), &wide), Ok(expected), "{memory}");
        }
        for memory in [4_999, 999, 0] {
            let message = admitted(8, limits(Some(memory)), &wide).unwrap_err();
            assert!(
                message.contains("takes 5000 bytes") && message.contains("`wide` (pad)"),
                "{message}"
            );
        }
        assert_eq!(admitted(8, limits(Some(14_000)), &wide.clone().observed(1000)), Ok(2));
        assert!(admitted(8, limits(Some(9_999)), &wide.clone().beside(wide)).is_err());
        assert!(admitted(1, limits(Some(u64::MAX)), &demand(u64::MAX, u64::MAX, 1)).is_err());
    }

    /// While a chain of nodes runs, only two values are in memory at a time, but a comparison keeps all values.
    #[test]
    fn a_comparison_keeps_all_integers_and_not_their_peak() {
        let demand = |length: usize| {
            let steps: String = (1..=length)
                .map(|i| format!("%v{i}: i8[1,1000] = clamp(%v{}) {{min=-100, max=100}}\n", i - 1))
                .collect();
            let text = format!("strait 1 integer graph @main(%v0: i8[1,1000]) {{ {steps} return %v{length} }}");
            Demand::comparing(&strait_core::text::parse(&text).unwrap()).unwrap()
        };
        let [short, long] = [10, 100].map(|length| demand(length).values);
        assert!(long - short >= 90 * 1000, "{short} and {long}");
        assert!(long < 120 * 1000, "{long}");
    }

    /// The two graphs share the weights, but each plan packs its own copy: one plan for the lowered graph, and two
    /// for the fused graph.
    #[test]
    fn a_comparison_has_weights_once_and_copies_for_each_plan() {
        let graph = |name: &str| {
            let gemm = "gemm(%x, @w) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}";
            format!("graph @{name}(%x: i8[1,64]) {{ %y: i32[1,10] = {gemm}\n return %y }}\n")
        };
        let data = "data @w: i8[10,64] = splat 1";
        let text = format!("strait 1 integer\n{}{}{data}", graph("main"), graph("lowered"));
        let module = strait_core::text::parse(&text).unwrap();
        let demand = Demand::comparing(&module).unwrap();
        let copies = cost(&module, module.main).unwrap().copies;
        assert!(copies > 640);
        assert_eq!((demand.weights, demand.copies), (640, 3 * copies));
        assert!(demand.fixed() == 640 + 3 * copies);
    }

    #[test]
    fn work_is_limited_by_the_size_of_the_model() {
        let limits = |operations| Limits {
            memory: None,
            operations,
        };
        let small = demand(100, 1, 2 * SENSIBLE);
        let message = admitted(1, limits(Operations::Sensible), &small).unwrap_err();
        assert!(
            message.contains("2000000000000 operations, and 1000000000000 are allowed"),
            "{message}"
        );
        assert!(admitted(1, limits(Operations::AtMost(2 * SENSIBLE)), &small).is_ok());
        assert!(admitted(1, limits(Operations::AtMost(5)), &demand(0, 1, 6)).is_err());
        assert!(admitted(1, limits(Operations::Unlimited), &demand(0, 1, u64::MAX)).is_ok());
        // A model of 300 MB may take thirty times as many operations as a small one.
        assert!(admitted(1, limits(Operations::Sensible), &demand(300 << 20, 1, 30 * SENSIBLE)).is_ok());
    }
}
