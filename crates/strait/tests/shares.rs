//! Processes that share the samples.

use std::time::Duration;

use strait::{Fault, Rules, Samples, Share, Target, Tensor};

use super::digits;

#[test]
fn shares_of_the_samples_give_the_artifact_of_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let image = |at: usize| vec![Tensor::new(&[1, 1, 8, 8], &[at as f32 / 11.0; 64]).unwrap()];
    let target = Target::named("generic-int8").unwrap();
    let written = |samples: &Samples, name: &str| {
        let artifact = strait::compile(&digits(), &target, samples, &Rules::new()).unwrap();
        artifact.write(folder.path().join(name)).unwrap()
    };
    let samples = Samples::new((0..11).map(image));
    let expected = written(&samples, "whole");
    let exchange = folder.path().join("exchange");
    std::thread::scope(|scope| {
        for part in 1..=3 {
            let (samples, exchange, written, expected) = (&samples, &exchange, &written, &expected);
            scope.spawn(move || {
                let share = Share::new(part, 3).unwrap();
                let shared = samples.shared(share, exchange, Duration::from_secs(60)).unwrap();
                assert_eq!(&written(&shared, &part.to_string()), expected);
            });
        }
    });
    let others = Samples::new((0..12).map(image));
    let error = others
        .shared(Share::new(1, 3).unwrap(), &exchange, Duration::from_secs(60))
        .unwrap_err();
    assert!(
        error.fault() == Fault::System && error.to_string().contains("another number of samples"),
        "{error}"
    );
}
