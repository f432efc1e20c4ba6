//! Statistics of many values, by kind.

use super::{Channels, Coverage, Leaders, Statistics};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// A kind of statistics of one value. Each kind has its own section in the file, its own type of records, and its own
/// way to merge them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// [`Statistics`] of all elements.
    Elements,
    /// [`Statistics`] of the largest elements of rows. The rows run along the axes along which softmaxes of the graph
    /// read the value. Rows in which all elements are −∞ are left out.
    Peaks,
    /// [`Leaders`]: the two largest elements of each row along an axis.
    Leaders {
        /// The axis, counted from 0.
        axis: u32,
    },
    /// [`Channels`]: the minimum and maximum at each position along an axis.
    Channels {
        /// The axis, counted from 0.
        axis: u32,
    },
}

/// Writes the key of the section that holds statistics of this kind.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Elements => f.write_str("elements"),
            Kind::Peaks => f.write_str("peaks"),
            Kind::Leaders { axis } => write!(f, "leaders.{axis}"),
            Kind::Channels { axis } => write!(f, "channels.{axis}"),
        }
    }
}

/// The error for a text that is not the key of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownKind;

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(key: &str) -> Result<Kind, UnknownKind> {
        match key {
            "elements" => Ok(Kind::Elements),
            "peaks" => Ok(Kind::Peaks),
            key => {
                let (kind, axis) = key.split_once('.').ok_or(UnknownKind)?;
                let axis = axis.parse().map_err(|_| UnknownKind)?;
                match kind {
                    "leaders" => Ok(Kind::Leaders { axis }),
                    "channels" => Ok(Kind::Channels { axis }),
                    _ => Err(UnknownKind),
                }
            }
        }
    }
}

/// Statistics of one value. The variant depends on the kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// The statistics of the kinds [`Kind::Elements`] and [`Kind::Peaks`].
    Statistics(Statistics),
    /// The statistics of the kind [`Kind::Leaders`].
    Leaders(Leaders),
    /// The statistics of the kind [`Kind::Channels`].
    Channels(Channels),
}

impl Record {
    /// A record of the given kind without any elements.
    pub fn new(kind: Kind) -> Record {
        match kind {
            Kind::Elements | Kind::Peaks => Record::Statistics(Statistics::default()),
            Kind::Leaders { .. } => Record::Leaders(Leaders::default()),
            Kind::Channels { .. } => Record::Channels(Channels::default()),
        }
    }

    /// Adds other statistics of the same kind. The order and grouping of merges do not change a single bit of the
    /// result.
    pub fn merge(&mut self, other: &Record) {
        match (self, other) {
            (Record::Statistics(own), Record::Statistics(other)) => own.merge(other),
            (Record::Leaders(own), Record::Leaders(other)) => own.merge(other),
            (Record::Channels(own), Record::Channels(other)) => own.merge(other),
            // All records of a kind have the same type.
            (Record::Statistics(_) | Record::Leaders(_) | Record::Channels(_), _) => {}
        }
    }
}

/// The statistics of a graph's values by kind and source name, and the samples that they were taken from.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Observation {
    covered: Coverage,
    records: BTreeMap<Kind, BTreeMap<String, Record>>,
}

/// The reason why two observations cannot be joined.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// Both observations contain the given samples.
    #[error("the samples {} to {} are in both", .0.start, .0.end - 1)]
    Overlap(Range<u64>),
    /// Only one of the two observations has statistics of the given kind for a value.
    #[error("only one of them has `{kind}` of `{name}`")]
    Different {
        /// The kind of the statistics.
        kind: Kind,
        /// The name of the value.
        name: String,
    },
}

impl Observation {
    /// An observation of the samples in `covered`, without statistics yet.
    pub fn new(covered: Coverage) -> Observation {
        Observation {
            covered,
            records: BTreeMap::new(),
        }
    }

    /// The samples that the statistics were taken from.
    pub fn covered(&self) -> &Coverage {
        &self.covered
    }

    /// Statistics of all elements of a value.
    pub fn elements(&self, name: &str) -> Option<&Statistics> {
        self.statistics(Kind::Elements, name)
    }

    /// Statistics of the largest element of each row along which a softmax reads a value.
    pub fn peaks(&self, name: &str) -> Option<&Statistics> {
        self.statistics(Kind::Peaks, name)
    }

    /// The two largest elements of the rows of a value along an axis.
    pub fn leaders(&self, axis: u32, name: &str) -> Option<&Leaders> {
        match self.get(Kind::Leaders { axis }, name)? {
            Record::Leaders(leaders) => Some(leaders),
            Record::Statistics(_) | Record::Channels(_) => None,
        }
    }

    /// The minimum and maximum of a value at each position along an axis.
    pub fn channels(&self, axis: u32, name: &str) -> Option<&Channels> {
        match self.get(Kind::Channels { axis }, name)? {
            Record::Channels(channels) => Some(channels),
            Record::Statistics(_) | Record::Leaders(_) => None,
        }
    }

    fn statistics(&self, kind: Kind, name: &str) -> Option<&Statistics> {
        match self.get(kind, name)? {
            Record::Statistics(statistics) => Some(statistics),
            Record::Leaders(_) | Record::Channels(_) => None,
        }
    }

    /// The statistics of the kind `kind` for the value `name`.
    pub fn get(&self, kind: Kind, name: &str) -> Option<&Record> {
        self.records.get(&kind)?.get(name)
    }

    /// The kinds, each with its records by the value's name, in order.
    pub fn sections(&self) -> impl ExactSizeIterator<Item = (Kind, &BTreeMap<String, Record>)> {
        self.records.iter().map(|(&kind, section)| (kind, section))
    }

    /// Sets the statistics of a value, replacing existing ones.
    pub fn insert(&mut self, kind: Kind, name: impl Into<String>, record: Record) {
        self.records.entry(kind).or_default().insert(name.into(), record);
    }

    /// Adds what was observed for other samples of the same data. The order of joining does not change a single bit of
    /// the result.
    ///
    /// # Errors
    /// A sample is in both observations, or one of them has a kind of statistics that the other lacks.
    pub fn join(&mut self, other: &Observation) -> Result<(), JoinError> {
        if let Some(both) = self.covered.overlap(&other.covered) {
            return Err(JoinError::Overlap(both));
        }
        if let Some(&(kind, name)) = self.entries().symmetric_difference(&other.entries()).next() {
            let name = name.to_owned();
            return Err(JoinError::Different { kind, name });
        }
        self.covered.join(&other.covered);
        for (kind, section) in &mut self.records {
            for (name, record) in section {
                if let Some(other) = other.get(*kind, name) {
                    record.merge(other);
                }
            }
        }
        Ok(())
    }

    /// Adds other statistics of the same samples. If both observations have a record, the existing one stays.
    pub fn extend(&mut self, other: Observation) {
        for (kind, section) in other.records {
            let own = self.records.entry(kind).or_default();
            for (name, record) in section {
                own.entry(name).or_insert(record);
            }
        }
    }

    fn entries(&self) -> BTreeSet<(Kind, &str)> {
        let names = self
            .records
            .iter()
            .flat_map(|(&kind, section)| section.keys().map(move |name| (kind, name.as_str())));
        names.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::StatisticsKey;
    use proptest::prelude::*;
    use std::num::NonZeroU64;

    const KINDS: [Kind; 4] = [
        Kind::Elements,
        Kind::Peaks,
        Kind::Leaders { axis: 1 },
        Kind::Channels { axis: 1 },
    ];

    /// An observation that contains statistics of every kind for the samples in `covered`.
    fn of(data: &[Vec<f32>], covered: &Coverage) -> Observation {
        let mut found = Observation::new(covered.clone());
        for kind in KINDS {
            let mut all = Record::new(kind);
            for position in covered.positions() {
                let elements = &data[position as usize];
                let mut one = Record::new(kind);
                match &mut one {
                    Record::Statistics(statistics) => statistics.add(position, elements),
                    Record::Leaders(leaders) => leaders.add(elements, &[elements.len() / 3, 3], 1),
                    Record::Channels(channels) => channels.add(elements, &[elements.len() / 3, 3], 1),
                }
                all.merge(&one);
            }
            found.insert(kind, "x", all);
        }
        found
    }

    fn bytes(observation: &Observation) -> Vec<u8> {
        let (mut bytes, key) = (
            Vec::new(),
            StatisticsKey {
                model: [1; 32],
                data: [2; 32],
            },
        );
        crate::statistics::write(observation, &key, &mut bytes).unwrap();
        bytes
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        /// For every kind of statistics, any number of parts and any order of joining, the bytes of the file are those of
        /// a single run.
        #[test]
        fn any_split_gives_the_bytes_of_one_run(
            data in prop::collection::vec(prop::collection::vec(prop::num::f32::ANY, 3..40), 1..12),
            parts in 1u64..9,
            order in prop::collection::vec(any::<u32>(), 9),
            tree in any::<bool>(),
        ) {
            let data: Vec<Vec<f32>> = data.into_iter().map(|one| one[..one.len() / 3 * 3].to_vec()).collect();
            let count = data.len() as u64;
            let whole = of(&data, &Coverage::all(count));
            let shares = (1..=parts).filter_map(|part| {
                Coverage::share(NonZeroU64::new(part)?, NonZeroU64::new(parts)?, count)
            });
            let mut shares: Vec<(u32, Observation)> =
                shares.enumerate().map(|(index, share)| (order[index], of(&data, &share))).collect();
            shares.sort_by_key(|(key, _)| *key);
            let mut shares: Vec<Observation> = shares.into_iter().map(|(_, share)| share).collect();
            // The parts are joined one after the other, or in pairs, then in pairs of pairs, and so on.
            while shares.len() > 1 {
                let next = shares.remove(if tree { 0 } else { 1 });
                if tree {
                    let mut pair = shares.remove(0);
                    pair.join(&next).unwrap();
                    shares.push(pair);
                } else {
                    shares[0].join(&next).unwrap();
                }
            }
            prop_assert_eq!(bytes(&shares[0]), bytes(&whole));
        }
    }

    #[test]
    fn shares_that_do_not_fit_are_told() {
        let data = vec![vec![1.0, 2.0, 3.0]; 4];
        let share =
            |part, parts| Coverage::share(NonZeroU64::new(part).unwrap(), NonZeroU64::new(parts).unwrap(), 4).unwrap();
        let mut one = of(&data, &share(1, 2));
        assert_eq!(one.join(&of(&data, &share(2, 4))), Err(JoinError::Overlap(1..2)));
        let mut other = of(&data, &share(2, 2));
        other.insert(Kind::Leaders { axis: 0 }, "x", Record::new(Kind::Leaders { axis: 0 }));
        let error = one.join(&other).unwrap_err();
        assert_eq!(error.to_string(), "only one of them has `leaders.0` of `x`");
        assert_eq!(one, of(&data, &share(1, 2)));
    }

    #[test]
    fn the_key_of_a_section_is_read_back() {
        for kind in KINDS {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        assert_eq!(
            ("leaders.x".parse::<Kind>(), "means".parse::<Kind>()),
            (Err(UnknownKind), Err(UnknownKind))
        );
    }
}
