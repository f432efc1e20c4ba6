use super::*;
use std::fs;
use std::path::Path;
use std::time::Duration;

fn exchange(folder: &Path, part: usize, parts: usize) -> Exchange<'static> {
    let share = Share::new(part, parts).unwrap();
    Exchange::new(folder, share, Duration::from_secs(20), Quiet).unwrap()
}

/// Does a step with one record for each sample of the own share. Returns all records.
fn traded(exchange: &Exchange<'_>, name: &str, records: &[&str]) -> Result<Vec<String>, ExchangeError> {
    let step = exchange.step(name, b"");
    if step.own()?.is_none() {
        let range = exchange.share().range(records.len());
        let mut out = step.begin(range.len())?;
        records[range]
            .iter()
            .try_for_each(|record| out.put(record.as_bytes()))?;
        step.finish(out)?;
    }
    let mut all = Vec::new();
    for file in step.all()? {
        for record in file.records(file.share().range(records.len()).len())? {
            all.push(String::from_utf8_lossy(record).into_owned());
        }
    }
    Ok(all)
}

const RECORDS: [&str; 5] = ["one", "", "three", "four", "five"];

/// Does the steps of a share: agrees on a fact and trades twice.
fn run(folder: &Path, (part, parts): (usize, usize), fact: u8) -> Result<Vec<String>, ExchangeError> {
    let exchange = exchange(folder, part, parts);
    exchange.agree("agree", &[("model", [1; 32]), ("configuration", [fact; 32])])?;
    let shares = exchange.together("shares", &part)?;
    assert_eq!(shares, (1..=parts).collect::<Vec<_>>());
    let first = traded(&exchange, "first", &RECORDS)?;
    exchange.note(first.concat().as_bytes());
    Ok([first, traded(&exchange, "second", &["x"])?].concat())
}

/// Runs all shares at the same time.
fn runs(folder: &Path, parts: usize) -> Vec<Vec<String>> {
    std::thread::scope(|scope| {
        let shares: Vec<_> = (1..=parts)
            .map(|part| scope.spawn(move || run(folder, (part, parts), 2)))
            .collect();
        let results = shares.into_iter().map(|share| share.join().unwrap().unwrap());
        results.collect()
    })
}

#[test]
fn every_share_gets_the_results_of_all() {
    for parts in [1, 2, 3, 7] {
        let folder = tempfile::tempdir().unwrap();
        let expected = [&RECORDS[..], &["x"]].concat();
        for result in runs(folder.path(), parts) {
            assert_eq!(result, expected);
        }
        // A share that is started again finds all files.
        assert_eq!(run(folder.path(), (parts, parts), 2).unwrap(), expected);
        let left = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 4 * parts);
    }
}

#[test]
fn a_share_that_works_on_something_else_is_named() {
    let folder = tempfile::tempdir().unwrap();
    runs(folder.path(), 2);
    let error = run(folder.path(), (2, 2), 3).unwrap_err();
    let text = "share 1/2 has another configuration than share 2/2";
    assert!(error.to_string().starts_with(text), "{error}");
    let error = run(folder.path(), (1, 3), 2).unwrap_err();
    assert!(matches!(error, ExchangeError::Parts { .. }), "{error}");
}

#[test]
fn shares_that_are_not_at_the_same_step_are_told() {
    let folder = tempfile::tempdir().unwrap();
    runs(folder.path(), 2);
    let exchange = exchange(folder.path(), 1, 2);
    exchange
        .agree("agree", &[("model", [1; 32]), ("configuration", [2; 32])])
        .unwrap();
    exchange.together("shares", &1usize).unwrap();
    traded(&exchange, "first", &RECORDS).unwrap();
    // The others have noted another result.
    let error = traded(&exchange, "second", &["x"]).unwrap_err();
    assert!(matches!(error, ExchangeError::OutOfStep { .. }), "{error}");
}

#[test]
fn a_share_that_does_not_deliver_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let share = Share::new(1, 2).unwrap();
    let exchange = Exchange::new(folder.path(), share, Duration::from_millis(20), Quiet).unwrap();
    let error = exchange.agree("agree", &[]).unwrap_err();
    assert!(
        error.to_string().starts_with("share 2/2 has delivered nothing"),
        "{error}"
    );

    struct Stop;
    impl Follower for Stop {
        fn interrupted(&self) -> bool {
            true
        }
    }
    let exchange = Exchange::new(folder.path(), share, Duration::from_secs(20), Stop).unwrap();
    assert_eq!(exchange.agree("agree", &[]), Err(ExchangeError::Stopped));
}

#[test]
fn a_share_that_computes_something_else_than_before_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for (record, expected) in [("a", true), ("a", true), ("b", false)] {
        let exchange = exchange(folder.path(), 1, 1);
        let step = exchange.step("first", b"");
        let mut out = step.begin(1).unwrap();
        out.put(record.as_bytes()).unwrap();
        assert_eq!(step.finish(out).is_ok(), expected);
    }
}

#[test]
fn a_damaged_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    runs(folder.path(), 2);
    let path = folder.path().join("00002-2-of-2");
    let bytes = fs::read(&path).unwrap();
    for at in (0..bytes.len()).step_by(3) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        for damaged in [&damaged[..], &bytes[..at]] {
            fs::write(&path, damaged).unwrap();
            assert_eq!(
                run(folder.path(), (1, 2), 2),
                Err(ExchangeError::Damaged(path.clone())),
                "byte {at}"
            );
        }
    }
    // The hash fits, but the contents are wrong.
    let body = bytes.len() - 32;
    for at in (0..body).step_by(3) {
        for value in [0, 3, 0x7f, 0xff] {
            let mut hostile = bytes[..body].to_vec();
            hostile[at] = value;
            hostile.extend(blake3::hash(&hostile).as_bytes());
            fs::write(&path, &hostile).unwrap();
            let _ = run(folder.path(), (1, 2), 2);
        }
    }
}
