//! Checks that the certificates hold.
//!
//! A certificate names two chains of steps, the accumulators on which it compares them, and how they differ there. Here
//! the chains are those found in the graphs, the accumulators are those that this crate finds possible in either graph,
//! and the comparison is made again: the claim must be no better than the truth. The certificate must also follow from
//! its own content.

use crate::chain::{Along, Base, Chain};
use crate::finding::{Fault, Finding};
use crate::functions::{Chains, compare_floats};
use crate::intervals::picks::{self, Elements};
use crate::intervals::{Interval, Intervals, Range, extents};
use crate::structure::{Constants, FusedSite, SiteKind};
use crate::{contradiction, facts, grounds};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use strait_core::CertificateRecord;
use strait_core::{Graph, Module, Node, Op, ValueId};
use strait_requantize::{Argument, FromFloat, Per, Step, Verdict, certificate::ordered};

/// Result of verifying the fusions of an artifact.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    pub(crate) fusions: Vec<Fusion>,
    /// Allowed distance between values of the main graph and those of the lowered one that they stand for, by both.
    pub(crate) allowed: BTreeMap<(ValueId, ValueId), Allowed>,
    pub(crate) findings: Vec<Finding>,
}

/// Result of verifying one fusion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fusion {
    /// The name of the value that the fused node computes.
    pub value: String,
    /// The row of the target's table that its certificate names, if it has one.
    pub row: Option<String>,
    /// The word for the argument by which its certificate holds, if it has one.
    pub argument: Option<&'static str>,
    /// The largest difference on what can occur; 0 where the fusion is exact.
    pub max_lsb: u32,
}

/// Allowed distance between the elements of a value and those that they stand for; 0 by default.
#[derive(Clone, Debug, Default)]
pub(crate) struct Allowed {
    /// The axis of the channels, where there is more than one bound.
    axis: usize,
    /// One for each channel, or one for all; none is 0.
    max_lsb: Vec<u32>,
}

impl Allowed {
    pub(crate) fn new(verdict: &Per<Verdict>, axis: Option<usize>) -> Allowed {
        let bounds = verdict.values().iter().map(Verdict::max_lsb);
        let max_lsb = match axis {
            Some(_) => bounds.collect(),
            // Nothing is known by channel.
            None => bounds.max().into_iter().collect(),
        };
        let axis = axis.unwrap_or(0);
        Allowed { axis, max_lsb }
    }

    /// The bound for an element of a tensor of this shape.
    pub(crate) fn at(&self, shape: &[usize], element: usize) -> u32 {
        let inner: usize = shape.iter().skip(self.axis + 1).product();
        let channel = match &self.max_lsb[..] {
            [] | [_] => 0,
            all => element / inner.max(1) % all.len(),
        };
        self.max_lsb.get(channel).copied().unwrap_or(0)
    }
}

/// Ranges of the values in both graphs.
#[derive(Clone, Copy)]
pub(crate) struct Bounds<'a> {
    pub(crate) fused: &'a Intervals,
    pub(crate) lowered: &'a Intervals,
}

/// A fused graph beside the lowered one that it corresponds to.
pub(crate) struct Part<'a> {
    pub(crate) lowered: &'a Graph,
    pub(crate) fused: &'a Graph,
    pub(crate) sites: &'a [FusedSite<'a>],
    pub(crate) bounds: Bounds<'a>,
}

/// Certificates by the names of their values. Values of different graphs may have one name.
struct Records<'a> {
    all: &'a [CertificateRecord],
    by_value: BTreeMap<&'a str, Named>,
}

/// Positions of the certificates of one name.
#[derive(Default)]
struct Named {
    count: usize,
    /// Those that no site has.
    open: VecDeque<usize>,
    /// The last part with a site of the name, and those that its sites have.
    part: usize,
    own: Vec<usize>,
}

/// Certificates of one name among which that of a site is looked for, at most. Each is held against all weights of the
/// site; graphs have few names in common.
const MOST_NAMESAKES: usize = 64;

impl<'a> Records<'a> {
    fn new(all: &'a [CertificateRecord]) -> Records<'a> {
        let mut by_value: BTreeMap<&str, Named> = BTreeMap::new();
        for (position, record) in all.iter().enumerate() {
            let named = by_value.entry(&record.node).or_default();
            named.open.push_back(position);
            named.count += 1;
        }
        Records { all, by_value }
    }

    /// The certificate of a site: of those of its name that no other part has, the first that was derived from the
    /// site, else the first. A value of the fused graph may stand for several equal ones of the lowered graph, so that
    /// sites of one part share one.
    fn take(
        &mut self,
        (part, graphs): (usize, [&Graph; 2]),
        module: &Module,
        site: &FusedSite<'_>,
    ) -> Option<&'a CertificateRecord> {
        let all = self.all;
        let named = self.by_value.get_mut(site.value.as_str())?;
        if named.part != part {
            named.part = part;
            named.own.clear();
        }
        let mut candidates = named.own.iter().chain(&named.open).copied().take(MOST_NAMESAKES);
        let fits = |&at: &usize| {
            let certificate = &all[at].certificate;
            grounds::derived_from(module, graphs, site, certificate) == Some(certificate.derived_from)
        };
        let chosen = match named.count {
            1 => candidates.next()?,
            _ => candidates.clone().find(fits).or_else(|| candidates.next())?,
        };
        if let Some(position) = named.open.iter().take(MOST_NAMESAKES).position(|&at| at == chosen) {
            named.open.remove(position);
            named.own.push(chosen);
        }
        all.get(chosen)
    }

    /// Certificates that no site has, in their order.
    fn unused(&self) -> impl Iterator<Item = &'a CertificateRecord> {
        let open: BTreeSet<usize> = self.by_value.values().flat_map(|named| &named.open).copied().collect();
        let all = self.all;
        open.into_iter().filter_map(move |at| all.get(at))
    }
}

/// Checks every site against its certificate, and that every certificate has its site. The first part is that of the main
/// graphs.
pub(crate) fn check(module: &Module, parts: &[Part<'_>], records: &[CertificateRecord]) -> Claims {
    let mut claims = Claims::default();
    let mut records = Records::new(records);
    for (position, part) in parts.iter().enumerate() {
        let graphs = [part.lowered, part.fused];
        for site in part.sites {
            let record = records.take((position, graphs), module, site);
            if let Some(record) = record.filter(|_| position == 0) {
                // Where channels are picked, the largest of their bounds holds for all.
                let axis = site.along().and_then(Along::axis);
                let allowed = Allowed::new(&record.certificate.verdict, axis);
                claims.allowed.insert(site.pair, allowed);
            }
            match record {
                Some(record) => {
                    claims.check_record(site, record);
                    let certificate = &record.certificate;
                    for fault in grounds::check(module, graphs, site, certificate) {
                        claims.fault(site, fault);
                    }
                    for fault in facts::check(part.lowered, site, part.bounds.fused, &certificate.because) {
                        claims.fault(site, fault);
                    }
                }
                None if site.is_trivial() => continue,
                None => claims.fault(site, Fault::NoCertificate),
            }
            match site.kind {
                SiteKind::Accumulators => claims.check_accumulators(part.lowered, site, record, part.bounds),
                SiteKind::Constants(constants) => claims.check_constants(site, record, constants),
                SiteKind::Floats { lowered, fused } => claims.check_floats(site, record, (lowered, fused)),
            }
        }
    }
    for record in records.unused() {
        claims.no_fusion(record);
    }
    claims
}

impl<'a> FusedSite<'a> {
    /// Channels of the elements, in both graphs.
    fn along(&self) -> Option<Along<'a>> {
        let both = [&self.fused.axis, &self.lowered.axis];
        both.into_iter()
            .find_map(|along| along.as_ref().ok().copied().flatten())
    }

    /// The number of channels that the steps have parameters for.
    fn channels(&self) -> Option<usize> {
        let all = self.fused.steps.iter().chain(&self.lowered.steps);
        all.filter_map(|step| step.form.channels()).next()
    }

    /// True if the fused graph has the same steps, in nodes of their own.
    fn is_trivial(&self) -> bool {
        let is_fused = match self.fused.base {
            Base::Node(_, node) => node.fused.is_some(),
            Base::Value(_) => false,
        };
        match self.kind {
            SiteKind::Accumulators => !is_fused && self.fused.steps == self.lowered.steps,
            SiteKind::Constants(constants) => constants.max_lsb == 0,
            SiteKind::Floats { .. } => false,
        }
    }
}

impl Claims {
    fn fault(&mut self, site: &FusedSite<'_>, fault: Fault) {
        let value = site.value.clone();
        self.findings.push(Finding { value, fault });
    }

    fn no_fusion(&mut self, record: &CertificateRecord) {
        let (value, row) = (record.node.clone(), record.row.clone());
        let fault = Fault::NoFusion { row };
        self.findings.push(Finding { value, fault });
    }

    /// True if a certificate follows from its own content and is about the site's steps.
    fn check_record(&mut self, site: &FusedSite<'_>, record: &CertificateRecord) {
        if let Some(fault) = contradiction::of(&record.certificate) {
            self.fault(site, fault);
        }
        let other = |which| Fault::OtherSteps {
            row: record.row.clone(),
            which,
        };
        if record.certificate.before != site.lowered.steps {
            self.fault(site, other("before"));
        }
        // A constant that was requantized does not show by which step.
        let shows = !matches!(site.kind, SiteKind::Constants(_));
        if shows && site.fused.steps != record.certificate.after.as_slice() {
            self.fault(site, other("after"));
        }
    }

    /// True if a certificate speaks of all that can occur, per channel or of all together. To speak of more is no
    /// fault: what is claimed of it is so of its parts.
    fn check_interval(&mut self, site: &FusedSite<'_>, record: &CertificateRecord, found: &[Interval]) {
        if let Some((channel, claimed, found)) = outside(&record.certificate.interval, found) {
            let fault = Fault::Interval {
                channel,
                claimed,
                found,
            };
            self.fault(site, fault);
        }
    }

    fn check_constants(&mut self, site: &FusedSite<'_>, record: Option<&CertificateRecord>, constants: Constants) {
        let max_lsb = constants.max_lsb;
        if let Some(record) = record {
            let claimed = match record.certificate.argument {
                Argument::EveryEntry { entries } => Some(entries),
                _ => None,
            };
            if claimed != Some(constants.entries) {
                let found = constants.entries;
                self.fault(site, Fault::Entries { claimed, found });
            }
            self.check_interval(site, record, constants.interval.as_slice());
            let claimed = record.certificate.worst().max_lsb();
            if claimed < max_lsb {
                let text = format!("an element differs by {max_lsb}, but the certificate claims {claimed}");
                self.fault(site, Fault::Structure(text));
            }
        }
        self.count(site, record, max_lsb);
    }

    /// Both quantizations with the steps behind them, on every float.
    fn check_floats(
        &mut self,
        site: &FusedSite<'_>,
        record: Option<&CertificateRecord>,
        (before, after): (FromFloat, FromFloat),
    ) {
        let interval = Interval {
            low: ordered(f32::NEG_INFINITY),
            high: ordered(f32::INFINITY),
        };
        if site.fused.steps.len() > 1 {
            let text = "several steps stand behind a quantization";
            return self.fault(site, Fault::Structure(text.into()));
        }
        let derived = compare_floats((&before, &site.lowered.steps), (&after, &site.fused.steps), interval);
        let derived = match derived {
            Ok(derived) => derived,
            Err(error) => return self.fault(site, Fault::Undecided(error)),
        };
        let max_lsb = derived.max_lsb();
        if let Some(record) = record {
            if record.certificate.argument != (Argument::OrderedFloats { before, after }) {
                let row = record.row.clone();
                self.fault(site, Fault::OtherSteps { row, which: "argument" });
            }
            self.check_interval(site, record, &[interval]);
            if record.certificate.worst().max_lsb() < max_lsb {
                let fault = Fault::Claim {
                    channel: 0,
                    claimed: Some(record.certificate.worst().clone()),
                    derived,
                    interval,
                };
                self.fault(site, fault);
            }
        }
        self.count(site, record, max_lsb);
    }

    fn check_accumulators(
        &mut self,
        graph: &Graph,
        site: &FusedSite<'_>,
        record: Option<&CertificateRecord>,
        bounds: Bounds<'_>,
    ) {
        let (fused, lowered) = (range(&site.fused, bounds.fused), range(&site.lowered, bounds.lowered));
        let [own, intervals] =
            picked(graph, site, bounds).unwrap_or_else(|| accumulators(site, [&fused, &lowered], record));
        if let Some(record) = record {
            // What was fused in front of it by less than exact certificates may have moved it a little: an interval is
            // about the fused graph, in which it was derived, and what is claimed has to hold in both.
            self.check_interval(site, record, &own);
        }
        let claimed = |channel: usize| {
            let verdict = &record?.certificate.verdict;
            match intervals.len() {
                // Nothing is known by channel: what holds must be enough for the boldest claim.
                1 => verdict.values().iter().min_by_key(|v| v.max_lsb()),
                _ => verdict.get(channel),
            }
        };
        let chains = Chains::new(&site.lowered.steps, &site.fused.steps);
        let mut largest = 0;
        for (channel, &interval) in intervals.iter().enumerate() {
            let derived = match chains.compare(channel, interval) {
                Ok(derived) => derived,
                Err(error) => return self.fault(site, Fault::Undecided(error)),
            };
            largest = largest.max(derived.max_lsb());
            if !keeps_empty_windows(graph, site, channel, interval) {
                let fault = Fault::Argument {
                    claimed: Argument::Commutes.name(),
                    term: "max_pool",
                };
                return self.fault(site, fault);
            }
            let claimed = claimed(channel);
            // A certificate says something of every channel.
            if record.is_some() && claimed.is_none_or(|c| c.max_lsb() < derived.max_lsb()) {
                let claimed = claimed.cloned();
                self.fault(
                    site,
                    Fault::Claim {
                        channel,
                        claimed,
                        derived,
                        interval,
                    },
                );
            }
        }
        self.count(site, record, largest);
    }

    fn count(&mut self, site: &FusedSite<'_>, record: Option<&CertificateRecord>, max_lsb: u32) {
        self.fusions.push(Fusion {
            value: site.value.clone(),
            row: record.map(|record| record.row.clone()),
            argument: record.map(|record| record.certificate.argument.name()),
            max_lsb,
        });
    }
}

/// True if what is fused into a max pool could stand in front of it as well. A window without elements is the smallest
/// integer of what is pooled, which is then among the accumulators that can occur; it has to become the smallest code.
fn keeps_empty_windows(graph: &Graph, site: &FusedSite<'_>, channel: usize, interval: Interval) -> bool {
    // Both graphs pool the same type.
    let pooled = match site.lowered.base {
        Base::Node(_, node) => node.inputs.first().copied().flatten().and_then(|v| graph.value(v)),
        Base::Value(_) => None,
    };
    let lowest = pooled
        .and_then(|v| v.ty.elem.integers())
        .map_or(i64::MIN, |ends| ends.0);
    match site.fused.base {
        Base::Node(_, node) if matches!(node.op, Op::MaxPool(_)) && interval.low <= lowest => {
            let fused = node.fused.as_deref().map(|fused| Step {
                form: fused.requant.clone(),
                clamp: fused.clamp,
            });
            fused.is_none_or(|step| step.eval(channel, lowest) == Ok(step.out().min()))
        }
        _ => true,
    }
}

/// Range of the operand of the first step of a chain.
fn range(chain: &Chain<'_>, intervals: &Intervals) -> Range {
    let range = match (chain.start, chain.base) {
        (Some(value), _) => intervals.value(value),
        (None, Base::Node(id, _)) => intervals.accumulator(id),
        (None, Base::Value(_)) => None,
    };
    // Where nothing is known, any integer: no form is defined on all of them, which is told.
    let any = Interval {
        low: i64::MIN,
        high: i64::MAX,
    };
    range.cloned().unwrap_or_else(|| Range::tensor(any))
}

/// Accumulators that can occur in the fused graph and in either, per channel of the steps or else by the index along an axis of
/// which both graphs know more.
fn accumulators(
    site: &FusedSite<'_>,
    [fused, lowered]: [&Range; 2],
    record: Option<&CertificateRecord>,
) -> [Vec<Interval>; 2] {
    let of_steps = site.channels();
    let along = site.along();
    let whole = fused.hull();
    let either = |count: usize, own: &dyn Fn(usize) -> Interval, other: &dyn Fn(usize) -> Interval| {
        let own: Vec<Interval> = (0..count).map(own).collect();
        let either = own.iter().enumerate().map(|(at, own)| own.hull(other(at))).collect();
        [own, either]
    };
    let together = |count| either(count, &|_| whole, &|_| lowered.hull());
    let by_index = |axis: usize, count| either(count, &|at| fused.at(axis, at), &|at| lowered.at(axis, at));
    match (along, of_steps) {
        (Some(Along::Picked(_)), Some(count)) => together(count),
        (Some(Along::Axis(axis)), Some(count)) => by_index(axis, count),
        // Steps that are the same for all elements hold along any axis. A certificate does not say along which it speaks.
        _ => {
            let both = fused.axes().filter(|(axis, _)| lowered.by_index(*axis).is_some());
            let all: Vec<_> = both.map(|(axis, own)| by_index(axis, own.len())).collect();
            let spoken_of = |found: &[Vec<Interval>; 2]| {
                record.is_some_and(|record| outside(&record.certificate.interval, &found[0]).is_none())
            };
            let chosen = all.iter().position(spoken_of).unwrap_or(0);
            all.into_iter().nth(chosen).unwrap_or_else(|| together(1))
        }
    }
}

/// The first channel of which a certificate that speaks of `claimed` says less than can occur: what it speaks of there, and what
/// can occur.
fn outside(claimed: &Per<(i64, i64)>, found: &[Interval]) -> Option<(usize, Option<Interval>, Interval)> {
    (0..found.len().max(claimed.values().len())).find_map(|channel| {
        let claimed = claimed.get(channel).map(|&(low, high)| Interval { low, high });
        let found = *found.get(channel).or(found.first().filter(|_| found.len() == 1))?;
        let speaks = claimed.is_some_and(|claimed| claimed.contains(found));
        (!speaks).then_some((channel, claimed, found))
    })
}

/// The sums of a pool that go through each channel that is picked by position: by what its operand can be in the fused
/// graph, and in either.
fn picked(graph: &Graph, site: &FusedSite<'_>, bounds: Bounds<'_>) -> Option<[Vec<Interval>; 2]> {
    let (Base::Node(_, fused), Base::Node(_, lowered)) = (site.fused.base, site.lowered.base) else {
        return None;
    };
    let Op::SumPool(op) = &lowered.op else { return None };
    let operand = |node: &Node| node.inputs.first().copied().flatten();
    let own = bounds.fused.value(operand(fused)?)?.hull();
    let either = own.hull(bounds.lowered.value(operand(lowered)?)?.hull());
    let found = picked_elements(graph, site)?;
    Some([own, either].map(|x| picks::sums(op, x, &found)))
}

/// The elements of the windows whose sums go through each channel, where a constant picks it by position.
pub(crate) fn picked_elements(graph: &Graph, site: &FusedSite<'_>) -> Option<Vec<Option<Elements>>> {
    let (Some(Along::Picked(picks)), Base::Node(_, node)) = (site.along(), site.lowered.base) else {
        return None;
    };
    let Op::SumPool(op) = &node.op else { return None };
    let shape = |value: ValueId| extents(&graph.value(value)?.ty.shape);
    let dims = (
        shape(node.inputs.first().copied().flatten()?)?,
        shape(*node.outputs.first()?)?,
    );
    picks::elements(op, picks, (&dims.0, &dims.1), site.channels()?)
}
