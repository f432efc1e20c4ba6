//! Shares observing among several processes. Each process observes its own share of the samples, and all join the statistics of
//! all shares. They have the file format of stored statistics.

use super::ObserveError;
use crate::requests::Requests;
use crate::statistics::{Coverage, FileError, Observation, StatisticsKey, read, write};
use strait_core::{Module, bytes};
use strait_exchange::{Exchange, ExchangeError, Incoming};
use strait_execute::ExecuteError;

/// The key of statistics that are exchanged. The step says which statistics they are.
const KEY: StatisticsKey = StatisticsKey {
    model: [0; 32],
    data: [0; 32],
};

/// Observes the own share with `own`, and returns what all shares have observed.
pub(super) fn observe(
    exchange: &Exchange<'_>,
    (module, requests): (&Module, &Requests),
    covered: &Coverage,
    own: impl FnOnce(&Coverage) -> Result<Observation, ObserveError>,
) -> Result<Observation, ObserveError> {
    let step = exchange.step("observe", &about(module, requests));
    if step.own().map_err(stop)?.is_none() {
        let range = exchange.share().range(covered.of() as usize);
        let range = range.start as u64..range.end as u64;
        let observed = own(&Coverage::of_range(range, covered.of()))?;
        let mut bytes = Vec::new();
        write(&observed, &KEY, &mut bytes).map_err(|error| ExecuteError::Ours(error.to_string()))?;
        let mut out = step.begin(1).map_err(stop)?;
        out.put(&bytes).map_err(stop)?;
        step.finish(out).map_err(stop)?;
    }
    let mut all: Option<Observation> = None;
    for file in step.all().map_err(stop)? {
        let share = of_share(&file, covered.of()).map_err(stop)?;
        match &mut all {
            None => all = Some(share),
            Some(all) => all.join(&share).map_err(|_| stop(file.damaged()))?,
        }
    }
    all.ok_or(ObserveError::NoSamples)
}

/// What a share has observed.
fn of_share(file: &Incoming, of: u64) -> Result<Observation, ExchangeError> {
    let range = file.share().range(of as usize);
    let expected = Coverage::of_range(range.start as u64..range.end as u64, of);
    let records = file.records(1)?;
    let read = |record: &[u8]| -> Result<Observation, FileError> { Ok(read(record)?.1) };
    let observed = records.first().and_then(|record| read(record).ok());
    let observed = observed.filter(|observed| *observed.covered() == expected);
    observed.ok_or_else(|| file.damaged())
}

/// The digest of what is observed.
fn about(module: &Module, requests: &Requests) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    if let Ok(encoded) = bytes::encode(module) {
        hasher.update(&encoded.ir);
    }
    for (value, kind) in requests.iter() {
        hasher.update(format!("{} {kind}\n", value.index()).as_bytes());
    }
    *hasher.finalize().as_bytes()
}

fn stop(error: ExchangeError) -> ObserveError {
    match error {
        ExchangeError::Stopped => ObserveError::Stopped,
        error => ExecuteError::from(error).into(),
    }
}
