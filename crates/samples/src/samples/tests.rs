//! Tests of reading samples, mostly from arrays in memory.

use super::*;
use crate::{Array, NumberType, Operation, npy};
use strait_core::BF16;

fn array(shape: &[usize], values: &[f32]) -> Array {
    let numbers: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    Array::parse("x.npy", &npy::encode(NumberType::F32, shape, &numbers).into()).unwrap()
}

fn spec(shape: &[usize]) -> InputSpec {
    InputSpec {
        name: "x".into(),
        elem: Elem::F32,
        shape: shape.to_vec(),
        preprocess: Plan::default(),
        range: None,
        is_shared: false,
    }
}

fn samples(arrays: &[Array], spec: InputSpec, most: Option<u32>) -> Result<Samples, DataError> {
    let most = most.and_then(NonZeroU32::new);
    Samples::new(
        vec![InputSource::Arrays(arrays.to_vec())],
        &[spec],
        most,
        Unreadable::Refuse,
    )
}

fn all(samples: &Samples) -> Vec<Vec<f32>> {
    let mut scratch = Scratch::default();
    let read = |sample| {
        let sample = samples.sample(sample, &mut scratch)?;
        Ok::<_, DataError>(bytemuck::pod_collect_to_vec(sample[0].bytes()))
    };
    (0..samples.count()).map(read).collect::<Result<_, _>>().unwrap()
}

#[test]
fn pieces_are_one_sequence() {
    let found = samples(
        &[
            array(&[1, 2], &[1., 2.]),
            array(&[0, 2], &[]),
            array(&[2, 2], &[3., 4., 5., 6.]),
        ],
        spec(&[1, 2]),
        None,
    );
    assert_eq!(all(&found.unwrap()), [[1., 2.], [3., 4.], [5., 6.]]);
}

#[test]
fn preprocessing_comes_before_the_shape() {
    let operations = vec![Operation::Permute { axes: vec![0, 2, 1] }, Operation::Scale(2.)];
    let spec = InputSpec {
        preprocess: Plan {
            operations,
            ..Plan::default()
        },
        ..spec(&[1, 2, 3])
    };
    let found = samples(&[array(&[1, 3, 2], &[1., 2., 3., 4., 5., 6.])], spec, None).unwrap();
    assert_eq!(all(&found), [[2., 6., 10., 4., 8., 12.]]);
}

#[test]
fn counts_are_checked() {
    let two = array(&[2, 1], &[1., 2.]);
    assert_eq!(
        samples(std::slice::from_ref(&two), spec(&[1]), Some(1))
            .unwrap()
            .count(),
        1
    );
    assert_eq!(
        samples(std::slice::from_ref(&two), spec(&[1]), Some(3))
            .unwrap_err()
            .kind,
        Kind::Wanted
    );
    assert_eq!(
        samples(&[array(&[0, 1], &[])], spec(&[1]), None).unwrap_err().kind,
        Kind::Count
    );
    let three = array(&[3, 1], &[1., 2., 3.]);
    let found = [two, three].map(|array| InputSource::Arrays(vec![array]));
    let uneven = Samples::new(found.into(), &[spec(&[1]), spec(&[1])], None, Unreadable::Refuse);
    assert_eq!(uneven.unwrap_err().kind, Kind::Count);
}

#[test]
fn a_sample_that_is_not_finite_is_named() {
    let found = samples(
        &[array(&[1, 1], &[0.]), array(&[2, 1], &[0., f32::NAN])],
        spec(&[1]),
        None,
    )
    .unwrap();
    let error = found.sample(2, &mut Scratch::default()).unwrap_err();
    assert_eq!(error.kind, Kind::NotFinite);
    assert!(
        error.sentence().contains("sample 2") && error.sentence().contains("number 1"),
        "{error}"
    );
}

#[test]
fn nan_is_meant_where_it_is_stored_and_asked_for() {
    const INF: f32 = f32::INFINITY;
    let read = |number: f32| {
        let scaled = of(Elem::F32, &[2], vec![Operation::Scale(0.)]);
        let found = samples(&[array(&[1, 2], &[number, 2.])], scaled, None).unwrap();
        let found = found.with_nan().sample(0, &mut Scratch::default());
        found.map(|read| bytemuck::cast_slice::<u8, f32>(read[0].bytes()).to_vec())
    };
    let found = read(f32::NAN).unwrap();
    assert!(found[0].is_nan() && found[1] == 0., "{found:?}");
    // A NaN that a step computes (here infinity times 0) is still an error.
    assert_eq!(read(INF).unwrap_err().kind, Kind::NotFinite);
}

#[test]
fn what_is_infinite_as_stored_is_meant() {
    const LOW: f32 = f32::NEG_INFINITY;
    let read = |operations: Vec<Operation>, elem: Elem| {
        let found = samples(&[array(&[1, 3], &[LOW, 2., 0.])], of(elem, &[3], operations), None).unwrap();
        found.sample(0, &mut Scratch::default())
    };
    let floats =
        |operations| read(operations, Elem::F32).map(|read| bytemuck::cast_slice::<u8, f32>(read[0].bytes()).to_vec());
    assert_eq!(floats(vec![]).unwrap(), [LOW, 2., 0.]);
    assert_eq!(
        floats(vec![Operation::Scale(3.), Operation::Offset(1.)]).unwrap(),
        [LOW, 7., 1.]
    );
    assert!(read(vec![], Elem::F16).is_ok());
    // A NaN, or an infinity that a step computes, is an error.
    for operations in [
        vec![Operation::Scale(0.)],
        vec![Operation::Scale(1e38), Operation::Scale(1e38)],
    ] {
        assert_eq!(floats(operations).unwrap_err().kind, Kind::NotFinite);
    }
}

#[test]
fn a_step_that_makes_infinity_of_finite_numbers_is_named() {
    let plan = Plan {
        operations: vec![Operation::Offset(-1.), Operation::Scale(1e38)],
        ..Plan::default()
    };
    let spec = InputSpec {
        preprocess: plan,
        ..spec(&[2])
    };
    let samples = samples(&[array(&[2, 2], &[1., 2., 3., 16.])], spec, None).unwrap();
    samples.sample(0, &mut Scratch::default()).unwrap();
    let error = samples.sample(1, &mut Scratch::default()).unwrap_err();
    assert_eq!(error.kind, Kind::NotFinite);
    let sentence = error.sentence();
    assert!(
        sentence.contains("sample 1") && sentence.contains("the preprocessing step `scale` makes inf of 15"),
        "{sentence}"
    );
}

fn stored<T: bytemuck::NoUninit>(number_type: NumberType, shape: &[usize], numbers: &[T]) -> Array {
    Array::parse(
        "x.npy",
        &npy::encode(number_type, shape, bytemuck::cast_slice(numbers)).into(),
    )
    .unwrap()
}

fn of(elem: Elem, shape: &[usize], operations: Vec<Operation>) -> InputSpec {
    InputSpec {
        elem,
        preprocess: Plan {
            operations,
            ..Plan::default()
        },
        ..spec(shape)
    }
}

#[test]
fn integers_stay_what_they_are() {
    // 2^53 + 1 cannot be represented as a float64, and 16,777,217 not as a float32.
    let ids = [(1i64 << 53) + 1, -5, 16_777_217, 0];
    let found = samples(
        &[stored(NumberType::I64, &[2, 2], &ids)],
        of(Elem::I64, &[1, 2], vec![]),
        None,
    )
    .unwrap();
    let sample = found.sample(1, &mut Scratch::default()).unwrap();
    assert_eq!((sample[0].elem(), sample[0].shape()), (Elem::I64, &[1, 2][..]));
    assert_eq!(bytemuck::cast_slice::<u8, i64>(sample[0].bytes()), [16_777_217, 0]);
    assert_eq!(found.whole_ranges(), [Some([-5, (1 << 53) + 1])]);
    let first = samples(
        &[stored(NumberType::I64, &[2, 1], &ids[1..3])],
        of(Elem::I64, &[1], vec![]),
        Some(1),
    );
    assert_eq!(first.unwrap().whole_ranges(), [Some([-5, -5])]);
    let floats = samples(&[array(&[1, 1], &[1.])], spec(&[1]), None).unwrap();
    assert_eq!(floats.whole_ranges(), [None]);
}

#[test]
fn a_narrower_type_of_a_file_is_widened_and_any_other_refused() {
    let wider = samples(
        &[stored(NumberType::I32, &[1, 2], &[-1i32, 7])],
        of(Elem::I64, &[2], vec![]),
        None,
    )
    .unwrap();
    let sample = wider.sample(0, &mut Scratch::default()).unwrap();
    assert_eq!(bytemuck::cast_slice::<u8, i64>(sample[0].bytes()), [-1, 7]);
    for (array, elem, parts) in [
        (
            array(&[1, 1], &[1.]),
            Elem::I64,
            ["takes int64", "holds float32", r#"astype("int64")"#],
        ),
        (
            stored(NumberType::I64, &[1, 1], &[1i64]),
            Elem::I32,
            ["takes int32", "holds int64", r#"astype("int32")"#],
        ),
        (
            stored(NumberType::U8, &[1, 1], &[1u8]),
            Elem::Bool,
            ["takes bool", "holds uint8", r#"astype("bool")"#],
        ),
    ] {
        let error = samples(&[array], of(elem, &[1], vec![]), None).unwrap_err();
        assert_eq!(error.kind, Kind::Type);
        let told = format!("{} {}", error.sentence(), error.help.join(" "));
        assert!(parts.iter().all(|part| told.contains(part)), "{told}");
    }
}

#[test]
fn bytes_less_128_are_numbers_with_a_sign() {
    let bytes = || stored(NumberType::U8, &[2, 3], &[0u8, 127, 128, 255, 1, 2]);
    let less = vec![Operation::Offset(-128.0)];
    let found = samples(&[bytes()], of(Elem::I8, &[1, 3], less.clone()), None).unwrap();
    let sample = found.sample(0, &mut Scratch::default()).unwrap();
    assert_eq!(bytemuck::cast_slice::<u8, i8>(sample[0].bytes()), [-128, -1, 0]);
    assert_eq!(found.whole_ranges(), [Some([-128, 127])]);
    // Other differences, other types, and the same bytes without the step.
    for (array, elem, operations, part) in [
        (bytes(), Elem::I8, vec![], "{ offset = -128 }"),
        (bytes(), Elem::I8, vec![Operation::Offset(-127.0)], "{ offset = -128 }"),
        (
            bytes(),
            Elem::I8,
            [less.clone(), less.clone()].concat(),
            "{ offset = -128 }",
        ),
        (bytes(), Elem::U8, less.clone(), "computes with floats"),
        (
            stored(NumberType::I8, &[1, 1], &[1i8]),
            Elem::I8,
            less,
            "computes with floats",
        ),
    ] {
        let error = samples(&[array], of(elem, &[1, 3], operations), None).unwrap_err();
        let told = format!("{} {}", error.sentence(), error.help.join(" "));
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn an_array_of_the_shape_of_an_input_without_a_batch_is_every_sample() {
    let shared = |shape: &[usize]| InputSpec {
        is_shared: true,
        ..spec(shape)
    };
    let of = |found: Vec<Array>, inputs: &[InputSpec], most: Option<u32>| {
        let found = found
            .into_iter()
            .map(|array| InputSource::Arrays(vec![array]))
            .collect();
        Samples::new(found, inputs, most.and_then(NonZeroU32::new), Unreadable::Refuse)
    };
    let inputs = [spec(&[1, 1]), shared(&[2, 2])];
    let (x, anchors) = (array(&[3, 1], &[7., 8., 9.]), array(&[2, 2], &[1., 2., 3., 4.]));
    let found = of(vec![x.clone(), anchors.clone()], &inputs, None).unwrap();
    let digest = found.digest().unwrap();
    assert_eq!(found.count(), 3);
    let third = found.sample(2, &mut Scratch::default()).unwrap();
    assert_eq!((third[0].reals(), third[1].reals()), (vec![9.], vec![1., 2., 3., 4.]));
    let other = of(vec![x.clone(), array(&[2, 2], &[1., 2., 3., 5.])], &inputs, None).unwrap();
    assert_ne!(digest, other.digest().unwrap());
    // A tensor for each sample.
    let each = array(&[3, 2, 2], &[0.; 12]);
    assert_eq!(of(vec![x.clone(), each], &inputs, None).unwrap().count(), 3);
    // For an input with a batch, the same array has two samples of the wrong shape.
    let told = of(vec![x, anchors.clone()], &[spec(&[1, 1]), spec(&[2, 2])], None).unwrap_err();
    assert_eq!(told.kind, Kind::Shape);
    // Alone, it is one sample.
    assert_eq!(of(vec![anchors], &inputs[1..], None).unwrap().count(), 1);
}

#[test]
fn steps_that_move_numbers_are_done_to_integers_and_no_others() {
    // An image of 1 × 2 pixels with three colors. The channels are the last axis.
    let image = || stored(NumberType::U8, &[1, 1, 2, 3], &[1u8, 2, 3, 4, 5, 6]);
    let moves = vec![
        Operation::SwapColors { axis: 3 },
        Operation::Permute { axes: vec![0, 3, 1, 2] },
    ];
    let found = samples(&[image()], of(Elem::U8, &[1, 3, 1, 2], moves.clone()), None).unwrap();
    assert_eq!(
        found.sample(0, &mut Scratch::default()).unwrap()[0].bytes(),
        [3, 6, 2, 5, 1, 4]
    );
    let words = stored(NumberType::U8, &[1, 1, 2, 3], &[1u8, 2, 3, 4, 5, 6]);
    let found = samples(&[words], of(Elem::I32, &[1, 3, 1, 2], moves), None).unwrap();
    let sample = found.sample(0, &mut Scratch::default()).unwrap();
    assert_eq!(bytemuck::cast_slice::<u8, i32>(sample[0].bytes()), [3, 6, 2, 5, 1, 4]);
    let scaled = samples(
        &[image()],
        of(Elem::U8, &[1, 1, 2, 3], vec![Operation::Scale(0.5)]),
        None,
    );
    let error = scaled.unwrap_err();
    assert_eq!(error.kind, Kind::Preprocess);
    assert!(error.message.contains("`scale` computes with floats"), "{error}");
}

#[test]
fn floats_of_other_widths_are_rounded_once() {
    let half = samples(&[array(&[1, 2], &[0.1, -2.])], of(Elem::F16, &[2], vec![]), None).unwrap();
    let sample = half.sample(0, &mut Scratch::default()).unwrap();
    let expected = [0.1f32, -2.].map(|x| F16.encode(x.into()));
    assert_eq!(bytemuck::cast_slice::<u8, u16>(sample[0].bytes()), expected);
    let brain = samples(&[array(&[1, 2], &[0.1, 1e38])], of(Elem::BF16, &[2], vec![]), None).unwrap();
    let sample = brain.sample(0, &mut Scratch::default()).unwrap();
    let expected = [0.1f32, 1e38].map(|x| BF16.encode(x.into()));
    assert_eq!(bytemuck::cast_slice::<u8, u16>(sample[0].bytes()), expected);
    let double = samples(&[array(&[1, 1], &[0.1])], of(Elem::F64, &[1], vec![]), None).unwrap();
    let sample = double.sample(0, &mut Scratch::default()).unwrap();
    assert_eq!(bytemuck::cast_slice::<u8, f64>(sample[0].bytes()), [f64::from(0.1f32)]);
    let large = samples(&[array(&[1, 1], &[1e5])], of(Elem::F16, &[1], vec![]), None).unwrap();
    let error = large.sample(0, &mut Scratch::default()).unwrap_err();
    assert!(error.message.contains("100000 is beyond f16"), "{error}");
}

#[test]
fn the_digest_is_that_of_the_samples_in_use() {
    let digest = |values: &[f32], spec: InputSpec, most| {
        samples(&[array(&[values.len(), 1], values)], spec, most)
            .unwrap()
            .digest()
    };
    let one = digest(&[1., 2.], spec(&[1]), None);
    assert_eq!(one, digest(&[1., 2., 3.], spec(&[1]), Some(2)));
    assert_ne!(one, digest(&[1., 3.], spec(&[1]), None));
    let plan = Plan {
        operations: vec![Operation::Scale(2.)],
        ..Plan::default()
    };
    assert_ne!(
        one,
        digest(
            &[1., 2.],
            InputSpec {
                preprocess: plan,
                ..spec(&[1])
            },
            None
        )
    );
}

/// Tests an array whose last axis varies fastest, one whose first axis varies fastest, and one in an archive.
#[test]
fn a_sample_whose_file_changed_since_the_digest_was_taken_is_an_error() {
    use crate::{Set, Writer};
    use std::{fs, io::Write as _};
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let bytes: Vec<u8> = (0..12).collect();
    let mut writer = Writer::create(&at("x.npy"), NumberType::U8, &[3, 4]).unwrap();
    writer.append(&bytes).unwrap();
    writer.finish().unwrap();
    let array = fs::read(at("x.npy")).unwrap();
    let place = bytes_at(&array, b"False");
    let mut fortran = array.clone();
    fortran[place..place + 5].copy_from_slice(b"True ");
    fs::write(at("fortran.npy"), fortran).unwrap();
    let mut pack = crate::Pack::default();
    pack.add("x.npy", &array).unwrap();
    fs::write(at("x.npz"), pack.finish().unwrap()).unwrap();
    for file in ["x.npy", "fortran.npy", "x.npz"] {
        let open = || Samples::open(&Set::from(&*at(file)), &[spec(&[1, 4])]).unwrap();
        let (digested, not) = (open(), open());
        let digest = digested.digest().unwrap();
        let mut changed = fs::read(at(file)).unwrap();
        let last = bytes_at(&changed, &bytes) + bytes.len() - 1;
        changed[last] ^= 0x40;
        // The file is overwritten in place, as by `numpy.memmap` and `cp`.
        let mut written = fs::OpenOptions::new().write(true).open(at(file)).unwrap();
        written.write_all(&changed).unwrap();
        let mut scratch = Scratch::default();
        assert!(digested.sample(0, &mut scratch).is_ok(), "{file}");
        let error = digested.sample(2, &mut scratch).unwrap_err();
        assert!(error.kind == Kind::File && error.message.contains(file), "{error}");
        assert!(
            not.sample(2, &mut scratch).is_ok() && not.digest().unwrap() != digest,
            "{file}"
        );
        assert_eq!(digested.digest().unwrap(), digest);
    }
}

/// The offset at which `part` begins in `all`.
fn bytes_at(all: &[u8], part: &[u8]) -> usize {
    all.windows(part.len()).position(|window| window == part).unwrap()
}

/// If the sample were read from a memory map of the file, the process would end with SIGBUS.
#[test]
fn an_array_that_is_cut_while_it_is_open_is_an_error() {
    use crate::{Set, Writer};
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.npy");
    let mut writer = Writer::create(&file, NumberType::U8, &[3, 100_000]).unwrap();
    writer.append(&vec![7; 300_000]).unwrap();
    writer.finish().unwrap();
    let found = Samples::open(&Set::from(&*file), &[spec(&[1, 100_000])]).unwrap();
    std::fs::OpenOptions::new()
        .write(true)
        .open(&file)
        .unwrap()
        .set_len(1000)
        .unwrap();
    let error = found.sample(2, &mut Scratch::default()).unwrap_err();
    assert!(
        error.kind == Kind::File && error.message.contains("cut since it was opened"),
        "{error}"
    );
    assert!(found.digest().is_err());
}
