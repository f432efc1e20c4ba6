//! Ranges of values, as settings, constants and observers say them, and what is kept of them.

use super::draft::PassContext;
use crate::annotate::settings::RangeFrom;
use crate::observers::{GridKind, MinMax, ObserverChoice, of_constant};
use std::collections::{BTreeMap, BTreeSet};
use strait_core::{Failure, QuantParams, Reason, ReasonCode, ValueId};

/// The most often that the scale of a grid may double for the sake of a shift, or for that of a form that does not cover
/// what its site can reach. Past 2^7 an 8-bit grid has one code for each sign left, and float on the host serves better.
/// It also means that scales settle.
const MOST_DOUBLINGS: u32 = 7;

/// The same as a factor.
pub(crate) const COARSEST: f64 = (1u32 << MOST_DOUBLINGS) as f64;

/// The range of no element, which adds nothing to another one.
const NOTHING: [f32; 2] = [f32::INFINITY, f32::NEG_INFINITY];

/// The range of one value that no rule says: the elements of a constant, or what its statistics and the observer say; no
/// further than matters.
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
        None => Err(Reason::new(ReasonCode::NotObserved, format!("there are no statistics of {name}")).into()),
    }
}

/// Knowledge of values that is kept while a graph is annotated again and again: the ranges that observers have made, each
/// once for each value and kind of grid, and the grids that had to be coarser than their ranges ask for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges {
    observed: BTreeMap<ValueId, Vec<Observed>>,
    /// Values whose grids are 2^n times as coarse, and the reasons.
    doublings: BTreeMap<ValueId, (u32, Reason)>,
    /// Values in whose group nothing but zero was seen.
    zero: BTreeSet<ValueId>,
}

#[derive(Clone, Debug)]
struct Observed {
    observer: ObserverChoice,
    kind: GridKind,
    range: Result<[f32; 2], Failure>,
}

impl Ranges {
    /// Makes the grid of a value coarser from the next annotation on, unless that would leave too few codes. Where
    /// nothing but zero was seen, every grid holds what was seen.
    pub(crate) fn coarsen(&mut self, value: ValueId, doublings: u32, reason: &Reason) -> bool {
        let before = self.doublings.get(&value).map_or(0, |(before, _)| *before);
        let total = before.saturating_add(doublings);
        let coarser = doublings > 0 && total <= most_doublings(self.zero.contains(&value));
        if coarser {
            self.doublings.insert(value, (total, reason.clone()));
        }
        coarser
    }

    /// Forgets what is kept of a value.
    pub(crate) fn forget(&mut self, value: ValueId) {
        self.observed.remove(&value);
        self.doublings.remove(&value);
        self.zero.remove(&value);
    }

    /// Doublings that were asked for the grid of a value.
    pub(crate) fn doublings(&self, value: ValueId) -> u32 {
        self.doublings.get(&value).map_or(0, |(doublings, _)| *doublings)
    }

    /// Keeps whether nothing but zero was seen in the group of a value.
    pub(crate) fn set_zero(&mut self, value: ValueId, is_zero: bool) {
        if is_zero {
            self.zero.insert(value);
        } else {
            self.zero.remove(&value);
        }
    }

    /// The values whose grids were asked to be coarser, how often they double, and why. Zero alone loses nothing.
    pub(crate) fn coarser(&self) -> impl Iterator<Item = (ValueId, u32, &Reason)> {
        let told = self
            .doublings
            .iter()
            .map(|(&value, (doublings, reason))| (value, *doublings, reason));
        told.filter(|(value, ..)| !self.is_zero(*value))
    }

    /// True if nothing but zero was seen in the group of a value.
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

    /// The same, from a source.
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

    /// The range that an observer makes, once for each value and kind of grid.
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

/// The most often that the scale of a grid may double.
pub(crate) fn most_doublings(is_zero: bool) -> u32 {
    // The scale of zero is 1, and f32 holds its doublings.
    if is_zero { 127 } else { MOST_DOUBLINGS }
}

/// A grid whose scale has doubled so often.
pub(crate) fn coarser(grid: QuantParams, doublings: u32) -> QuantParams {
    match grid.as_tensor() {
        Some((scale, zero)) if doublings > 0 => QuantParams::tensor(scale * 2f32.powi(doublings as i32), zero),
        _ => grid,
    }
}
