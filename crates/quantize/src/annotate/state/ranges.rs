//! Ranges of values, from settings, constraints and observers. These ranges, and the grids that had to become coarser,
//! are kept from one run of the passes to the next.

use crate::annotate::settings::RangeFrom;
use crate::annotate::state::context::PassContext;
use crate::observers::{GridKind, MinMax, ObserverChoice, of_constant};
use std::collections::{BTreeMap, BTreeSet};
use strait_core::{Failure, QuantParams, Reason, ReasonCode, ValueId, refused};

/// The scale of a grid may double at most this many times so that a shift or a form can be used. After 7 doublings, the
/// range of an 8-bit grid has only one code left on each side of zero, so it is better to compute in float on the host.
/// The limit also makes sure that annotation ends.
const MOST_DOUBLINGS: u32 = 7;

/// How much coarser a grid may become, as a factor.
pub(crate) const COARSEST: f64 = (1u32 << MOST_DOUBLINGS) as f64;

/// The range of an empty set of elements. Joined with any other range, it gives that range.
const NOTHING: [f32; 2] = [f32::INFINITY, f32::NEG_INFINITY];

/// Returns the range of a value if no rule sets this range. For a constant, it is the range of the elements. For any
/// other value, an observer finds the range from statistics, and the range is limited to the numbers that matter to
/// readers.
fn range(
    context: &PassContext<'_>,
    value: ValueId,
    observer: &ObserverChoice,
    kind: GridKind,
) -> Result<[f32; 2], Failure> {
    let (module, graph, reach) = (context.module, context.graph, context.reach);
    if graph.data_of(value).is_some() {
        let tensor = module.constant(graph, value);
        let tensor = tensor
            .ok_or_else(|| Failure::defect("a constant has no tensor"))?
            .to_f32()?;
        let statistics = of_constant(&tensor)?;
        if statistics.is_empty() {
            return Ok(NOTHING);
        }
        return Ok(reach.range(value, (&statistics).into(), &MinMax, kind)?);
    }
    let found = graph.value(value);
    let name = found.map(|v| module.name(v.name)).unwrap_or_default();
    let rank = found.map_or(0, |v| v.ty.shape.len());
    match observer.seen(context.how.observation, name, rank) {
        Some(seen) if seen.elements.is_empty() => Ok(NOTHING),
        Some(seen) => Ok(reach.range(value, seen, observer, kind)?),
        None => refused(ReasonCode::NotObserved, format!("there are no statistics of {name}")),
    }
}

/// What is stored about values while a graph is annotated several times: the ranges that observers have made, once for
/// each value and kind of grid, and the grids that had to become coarser than their ranges require.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges {
    observed: BTreeMap<ValueId, Vec<Observed>>,
    /// Values whose scales are multiplied by 2^n, with n and the reason.
    doublings: BTreeMap<ValueId, (u32, Reason)>,
    /// Values in whose group only zeros were seen in the samples.
    zero: BTreeSet<ValueId>,
}

#[derive(Clone, Debug)]
struct Observed {
    observer: ObserverChoice,
    kind: GridKind,
    range: Result<[f32; 2], Failure>,
}

impl Ranges {
    /// Makes the grid of a value coarser in all later annotations. Returns false if the value would then have too few
    /// codes. If only zeros were seen, more doublings of the scale are allowed.
    pub(crate) fn coarsen(&mut self, value: ValueId, doublings: u32, reason: &Reason) -> bool {
        let before = self.doublings.get(&value).map_or(0, |(before, _)| *before);
        let total = before.saturating_add(doublings);
        let coarser = doublings > 0 && total <= most_doublings(self.zero.contains(&value));
        if coarser {
            self.doublings.insert(value, (total, reason.clone()));
        }
        coarser
    }

    /// Removes everything that is stored about a value.
    pub(crate) fn forget(&mut self, value: ValueId) {
        self.observed.remove(&value);
        self.doublings.remove(&value);
        self.zero.remove(&value);
    }

    /// How often the scale of a value's grid has to double.
    pub(crate) fn doublings(&self, value: ValueId) -> u32 {
        self.doublings.get(&value).map_or(0, |(doublings, _)| *doublings)
    }

    /// Stores whether only zeros were seen in the group of a value.
    pub(crate) fn set_zero(&mut self, value: ValueId, is_zero: bool) {
        if is_zero {
            self.zero.insert(value);
        } else {
            self.zero.remove(&value);
        }
    }

    /// Returns the values whose grids had to become coarser, how often their scales double, and why. A value for which
    /// only zeros were seen is left out, because it loses nothing.
    pub(crate) fn coarser(&self) -> impl Iterator<Item = (ValueId, u32, &Reason)> {
        let told = self
            .doublings
            .iter()
            .map(|(&value, (doublings, reason))| (value, *doublings, reason));
        told.filter(|(value, ..)| !self.is_zero(*value))
    }

    /// True if only zeros were seen in the group of a value.
    pub(crate) fn is_zero(&self, value: ValueId) -> bool {
        self.zero.contains(&value)
    }

    /// The range of a value on a kind of grid.
    pub(crate) fn of(
        &mut self,
        context: &PassContext<'_>,
        value: ValueId,
        kind: GridKind,
    ) -> Result<[f32; 2], Failure> {
        match context.how.range(value) {
            Some(from) => self.from(context, value, from, kind),
            None => self.observed(context, value, &context.how.settings.default.observer, kind),
        }
    }

    /// The range of a value on a kind of grid, from the source `from`.
    pub(crate) fn from(
        &mut self,
        context: &PassContext<'_>,
        value: ValueId,
        from: &RangeFrom,
        kind: GridKind,
    ) -> Result<[f32; 2], Failure> {
        match from {
            RangeFrom::Rule(range) | RangeFrom::Grid(range) => Ok(*range),
            RangeFrom::Observer(observer) => self.observed(context, value, observer, kind),
        }
    }

    /// The range that an observer makes. It is computed once for each value and kind of grid.
    fn observed(
        &mut self,
        context: &PassContext<'_>,
        value: ValueId,
        observer: &ObserverChoice,
        kind: GridKind,
    ) -> Result<[f32; 2], Failure> {
        let known = self.observed.entry(value).or_default();
        if let Some(known) = known.iter().find(|k| k.observer == *observer && k.kind == kind) {
            return known.range.clone();
        }
        let (observer, range) = (observer.clone(), range(context, value, observer, kind));
        known.push(Observed {
            observer,
            kind,
            range: range.clone(),
        });
        range
    }
}

/// The largest number of times that the scale of a grid may double.
pub(crate) fn most_doublings(is_zero: bool) -> u32 {
    // If only zeros were seen, the scale is 1, and after 127 doublings it is still an f32.
    if is_zero { 127 } else { MOST_DOUBLINGS }
}

/// The grid with its scale doubled `doublings` times.
pub(crate) fn coarser(grid: QuantParams, doublings: u32) -> QuantParams {
    match grid.as_tensor() {
        Some((scale, zero)) if doublings > 0 => QuantParams::tensor(scale * 2f32.powi(doublings as i32), zero),
        _ => grid,
    }
}
