//! Checks the fusion rows: which of the rows are used by some network, and what the certificates of the fusions say.
//!
//! Besides the usual networks, further networks with sums, products, pools, functions and constants are compiled for
//! each type and each option of the table. If no network uses a row, the report says why the attempt that came closest
//! failed.

use super::lines::{Group, Line};
use super::network::{Choices, Made, integers};
use super::rows::Rows;
use std::collections::BTreeMap;
use std::sync::Arc;
use strait_lower::{Attempt, Until};
use strait_target::{
    Target,
    spec::{Difference, FusionRow, Integer},
};

/// A network with sums, products, pools and constants that the six usual networks do not have.
const ROWS: (&str, &str) = ("rows", include_str!("../../networks/rows.strait"));

/// A network in which a pool, a function and an input have values of one type, while the nodes that read these values
/// compute with another type.
const WIDTHS: (&str, &str) = ("widths", include_str!("../../networks/widths.strait"));

/// Names of the values in [`WIDTHS`] that get another type.
const LEAVE: &[&str] = &["pooled", "function", "u"];

/// A network that is compiled only to see which fusions are made.
pub(super) struct Other {
    name: String,
    text: &'static str,
    target: Arc<dyn Target>,
    choices: Choices,
}

/// Makes the networks that are tried because of what the table contains: one for each pair of types, one for each
/// additional type of a result, and one for each value of an option that has an overlay. If the table does not allow
/// fusions to change results, there is also a network for which a difference of one LSB is allowed.
pub(super) fn others(target: &Arc<dyn Target>, variants: &[(String, Arc<dyn Target>)]) -> Vec<Other> {
    let spec = target.spec();
    let other = |(name, text): (&str, &'static str), with: String, target: &Arc<dyn Target>, choices| Other {
        name: format!("{name}{with}"),
        text,
        target: target.clone(),
        choices,
    };
    let mut others = vec![other(ROWS, String::new(), target, Choices::default())];
    for pair in spec.types.pairs.iter().skip(1).filter(|pair| !pair.is_weight_only()) {
        let with = format!(" on {}, {}", pair.activation, pair.weight);
        let choices = Choices {
            pair: Some((pair.activation, pair.weight)),
            ..Choices::default()
        };
        others.push(other(ROWS, with, target, choices));
    }
    for (with, variant) in variants {
        others.push(other(ROWS, format!(" with {with}"), variant, Choices::default()));
    }
    let mut codes: Vec<Integer> = spec.types.pairs.iter().filter_map(|pair| pair.codes()).collect();
    // The first type is the one that is used by default.
    let usual = codes.first().copied();
    codes.sort_unstable();
    codes.dedup();
    let exact = spec.fusion_default.accept == Difference::Exact;
    for of in codes.into_iter().filter(|of| Some(*of) != usual) {
        for most in [None, Some(1)].into_iter().take(1 + usize::from(exact)) {
            let bound = most.map_or("", |_| ", off by one at most");
            let choices = Choices {
                leaves: Some((LEAVE, of)),
                most,
                ..Choices::default()
            };
            others.push(other(WIDTHS, format!(" from {of}{bound}"), target, choices));
        }
    }
    others
}

/// The fusions that were made in all test networks.
pub(super) struct Fusions {
    /// Every fusion row that the table has with any value of its options, and how often it was used.
    rows: BTreeMap<String, usize>,
    /// For each row that was not used, describes the attempt that came closest to using it: how far this attempt got,
    /// and why it failed.
    missed: BTreeMap<String, (Until, String)>,
    off: Vec<String>,
    faults: Vec<String>,
    ran: usize,
}

impl Fusions {
    pub(super) fn new(target: &Arc<dyn Target>, variants: &[(String, Arc<dyn Target>)]) -> Fusions {
        let all = variants.iter().map(|(_, variant)| variant).chain([target]);
        let rows = all.flat_map(|target| &target.spec().fusion);
        Fusions {
            rows: rows.map(|row: &FusionRow| (row.name.clone(), 0)).collect(),
            missed: BTreeMap::new(),
            off: Vec::new(),
            faults: Vec::new(),
            ran: 0,
        }
    }

    /// Adds the fusions that were made in one test network.
    pub(super) fn add(&mut self, name: &str, made: &Made) {
        for fused in &made.fusion.fired {
            *self.rows.entry(fused.row.clone()).or_default() += 1;
            let off = fused.certificate.worst().max_lsb();
            if off > made.most {
                self.off
                    .push(format!("fusion {} in {name}: off by up to {off}", fused.row));
            }
            self.miss(name, &fused.value, &fused.tried);
        }
        for refused in &made.fusion.refused {
            self.miss(name, &refused.value, &refused.tried);
        }
    }

    fn miss(&mut self, name: &str, value: &str, tried: &[Attempt]) {
        // An attempt that failed because the row is for other ops gives no useful reason.
        for attempt in tried.iter().filter(|attempt| attempt.until > Until::Producer) {
            let nearest = self.missed.get(&attempt.row);
            if nearest.is_none_or(|(until, _)| *until < attempt.until) {
                let why = format!("at {value} in {name}: {}", attempt.reason.text);
                self.missed.insert(attempt.row.clone(), (attempt.until, why));
            }
        }
    }

    /// Compiles a network only to see which fusions are made.
    pub(super) fn run(&mut self, other: &Other, rows: &mut Rows) {
        self.ran += 1;
        let name = &other.name;
        match integers(&other.target, other.text, &other.choices) {
            Err(fault) => self.faults.push(format!("{name}: {fault}")),
            Ok(made) => {
                self.add(name, &made);
                rows.add(name, &made);
                self.faults.extend(made.fault.map(|fault| format!("{name}: {fault}")));
            }
        }
    }

    /// The lines of the report: one about the certificates, one for each row that no network uses, and one about the
    /// networks that were compiled to see which fusions are made.
    pub(super) fn lines(self) -> Vec<Line> {
        let reached = self.rows.values().filter(|times| **times > 0).count();
        let times: usize = self.rows.values().sum();
        let checked = format!("{reached} of {} rows fired, {times} times", self.rows.len());
        let mut certified = Line::new(Group::Semantics, "fusions are certified").checked(checked);
        self.off.into_iter().for_each(|off| certified.find(off));
        let mut others =
            Line::new(Group::Networks, "other ops, types and options").checked(format!("{} networks", self.ran));
        self.faults.into_iter().for_each(|fault| others.find(fault));
        let idle = self.rows.iter().filter(|(_, times)| **times == 0).map(|(row, _)| {
            let missed = self.missed.get(row);
            let why = missed.map_or("no network of the kit has its producer", |(_, why)| why.as_str());
            Line::skipped(Group::Semantics, format!("fusion {row}"), format!("not reached: {why}"))
        });
        [certified].into_iter().chain(idle).chain([others]).collect()
    }
}
