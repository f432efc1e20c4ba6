//! Modules in text form, with certificates for intervals that the tests state.
#![allow(dead_code, reason = "each test file uses a part")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::num::NonZeroUsize;

use strait_core::CertificateRecord;
use strait_core::Module;
use strait_execute::Threads;
use strait_requantize::certificate::Digest;
use strait_requantize::{Argument, Certificate, IntType, Narrowing, Per, Requantization, Rounding, Step, form};
use strait_verify::{VerifyOptions, VerifyReport, derived_from, verify_module};

/// Parses an artifact without checking the invariants of its stage, because many tests damage it on purpose.
pub(crate) fn parse(text: &str) -> Module {
    strait_core::text::parse(text).unwrap()
}

pub(crate) fn verify(module: &Module, records: &[CertificateRecord]) -> VerifyReport {
    let records = grounded(module, records);
    on_threads(|threads| verify_module(module, &records, &VerifyOptions::new(threads)).unwrap())
}

/// Verifies on one thread, where the graphs run one after the other, and on two, where they run at the same time. Both must
/// find the same.
pub(crate) fn on_threads(verify: impl Fn(&Threads) -> VerifyReport) -> VerifyReport {
    let [one, two] = [1, 2].map(|count| verify(&Threads::new(NonZeroUsize::new(count).unwrap())));
    assert_eq!(one, two);
    one
}

/// The records with the digests of what they were derived from. Records that already have a digest keep it.
pub(crate) fn grounded(module: &Module, records: &[CertificateRecord]) -> Vec<CertificateRecord> {
    let mut records = records.to_vec();
    for record in &mut records {
        if record.certificate.derived_from == Digest::default()
            && let Some(digest) = derived_from(module, record).unwrap()
        {
            record.certificate.derived_from = digest;
        }
    }
    records
}

/// The step sat8(half_even(x / 2^shift)), with a shift for each channel.
pub(crate) fn shifted(shifts: &[u8]) -> Step {
    let shift = match shifts {
        [one] => Per::Tensor(*one),
        many => many.iter().copied().collect(),
    };
    let (rounding, out) = (Rounding::HalfEven, IntType::I8);
    let narrowing = Narrowing { shift, rounding, out };
    Requantization::ArithFolded(form::ArithFolded { narrowing }).into()
}

/// The step sat8(half_up(x·sc / 2^shift)).
pub(crate) fn scaled(sc: i32, shift: u8) -> Step {
    let (shift, rounding, out) = (shift.into(), Rounding::HalfUp, IntType::I8);
    let narrowing = Narrowing { shift, rounding, out };
    Requantization::TfLite(form::TfLite {
        sc: sc.into(),
        zp: 0,
        narrowing,
    })
    .into()
}

pub(crate) fn record(node: &str, before: &[Step], after: Step, interval: Per<(i64, i64)>) -> CertificateRecord {
    CertificateRecord {
        node: node.into(),
        row: "row".into(),
        certificate: Certificate::derive(Argument::SameAccumulator, before.to_vec(), Some(after), interval).unwrap(),
    }
}

/// A record for a constant or a table whose entries were requantized at compile time, each with its channel.
pub(crate) fn entries_record(
    node: &str,
    step: &Step,
    entries: impl IntoIterator<Item = (usize, i64)>,
) -> CertificateRecord {
    let entries = entries
        .into_iter()
        .map(|(channel, entry)| (channel, entry, step.eval(channel, entry).unwrap().into()));
    CertificateRecord {
        node: node.into(),
        row: "row".into(),
        certificate: Certificate::of_entries(vec![step.clone()], entries).unwrap(),
    }
}
