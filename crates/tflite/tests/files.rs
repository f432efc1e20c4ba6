//! Tests of files that the tests write themselves: the modules that they become, and the messages about invalid files.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use crate::common;
use strait_import::Decoded;

use bytes::Bytes;
use common::{Table, Value, file, graph, kind, model, operator, small, tensor};
use strait_core::Module;
use strait_core::text::{self, PrintOptions};
use strait_tflite::{Model, ReadError, ReadOptions};

fn read(root: &Table) -> Result<Module, ReadError> {
    Model::decode(Bytes::from(file(root)))?.read(&ReadOptions::default())
}

fn print(module: &Module) -> String {
    text::print(module, &PrintOptions::default())
}

fn refused(root: &Table) -> String {
    read(root).unwrap_err().to_string()
}

#[test]
fn a_small_model_is_read_with_its_names_and_its_fused_activation() {
    let text = print(&read(&small()).unwrap());
    assert!(text.contains("%relu: f32[1,2,2] = relu(%x)"), "{text}");
    assert!(
        text.contains("= clip(") && text.contains("max=6.0") && text.contains("return %y"),
        "{text}"
    );
    assert!(text.contains("data @b: f32[2]"), "{text}");
}

#[test]
fn names_that_repeat_or_are_missing_are_made_unique() {
    let tensors = vec![tensor("t", &[2], 0), tensor("t", &[2], 0), tensor("", &[2], 0)];
    let graph = graph(
        tensors,
        vec![operator(0, &[0], &[1]), operator(0, &[1], &[2])],
        &[0],
        &[2],
    );
    let bytes = Bytes::from(file(&model(vec![kind(19, 1)], graph, &[])));
    let model = Model::decode(bytes).unwrap();
    assert_eq!(model.tensors(), ["t", "t:1", "tensor:2"]);
    assert_eq!(model.nodes(), ["t:1", "tensor:2"]);
    model.read(&ReadOptions::default()).unwrap();
}

#[test]
fn a_graph_is_cut_at_the_names_of_tensors() {
    let model = Model::decode(Bytes::from(file(&small()))).unwrap();
    let options = ReadOptions {
        inputs: vec!["relu".into()],
        ..ReadOptions::default()
    };
    let text = print(&model.read(&options).unwrap());
    assert!(
        text.contains("@main(%relu: f32[1,2,2])") && !text.contains("= relu("),
        "{text}"
    );
}

/// A model with one operator of this kind, from `x` to `y`.
fn one(kind: Table) -> Table {
    let graph = graph(
        vec![tensor("x", &[1, 2], 0), tensor("y", &[1, 2], 0)],
        vec![operator(0, &[0], &[1])],
        &[0],
        &[1],
    );
    model(vec![kind], graph, &[])
}

#[test]
fn operators_that_are_not_read_are_named_with_their_cut() {
    for (kind, words) in [
        (
            kind(19, 99),
            "RELU, version 99): version 99 of it is not read; versions up to 3 are",
        ),
        (
            kind(26 + 4000, 1),
            "(builtin operator 4026, version 1): the format has no operator of this number that is known",
        ),
        (kind(118, 1), "(IF, version 1): only the main graph of a file is read"),
        (kind(16, 1), "(LSTM, version 1): it takes one step from a state"),
        (
            kind(32, 1).text(1, "MyOp"),
            "(custom operator MyOp): custom operators are not read",
        ),
        (
            kind(32, 1).text(1, "FlexErf"),
            "(custom operator FlexErf): operators of TensorFlow",
        ),
        (
            kind(32, 1).text(1, "TFLite_Detection_PostProcess"),
            "(custom operator TFLite_Detection_PostProcess): decoding of boxes",
        ),
    ] {
        let text = refused(&one(kind));
        assert!(text.contains(words), "{text}");
    }
    let first = operator(0, &[0], &[1]);
    let graph = graph(
        vec![
            tensor("x", &[2], 0),
            tensor("a", &[2], 0),
            tensor("b", &[2], 0),
            tensor("c", &[2], 0),
        ],
        vec![first, operator(1, &[1], &[2]), operator(0, &[2], &[3])],
        &[0],
        &[3],
    );
    let text = refused(&model(vec![kind(19, 1), kind(16, 1)], graph, &[]));
    assert!(
        text.contains("`outputs = [\"a\"]`") && text.contains("`inputs = [\"b\"]`"),
        "{text}"
    );
}

#[test]
fn tensors_that_are_not_read_are_named() {
    for (field, value, words) in [
        (5, Value::Bits(1), "`x` is a variable"),
        (6, Value::Table(Table::default()), "`x` is sparse"),
        (10, Value::Bits(1), "`x` stands in another file"),
        (1, Value::Bits(5), "`x` has elements of STRING"),
        (1, Value::Bits(120), "`x` has elements of type 120"),
    ] {
        let tensors = vec![tensor("x", &[2], 0).with(field, value), tensor("y", &[2], 0)];
        let graph = graph(tensors, vec![operator(0, &[0], &[1])], &[0], &[1]);
        let text = refused(&model(vec![kind(19, 1)], graph, &[]));
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn hybrid_products_are_refused_unless_their_weights_may_be_read_as_numbers() {
    let grid = Table::default()
        .with(2, Value::Floats(vec![0.5]))
        .with(3, Value::Longs(vec![0]));
    let weight = tensor("w", &[1, 2], 1).bits(1, 9).with(4, Value::Table(grid));
    let tensors = vec![tensor("x", &[1, 2], 0), weight, tensor("y", &[1, 1], 0)];
    let graph = graph(tensors, vec![operator(0, &[0, 1, -1], &[2])], &[0], &[2]);
    let mut root = model(vec![kind(9, 1)], graph, &[&[0.0]]);
    // The codes 3 and −4, with one byte each.
    let bytes = Table::default().with(0, Value::Bytes(vec![3, 252]));
    root.0
        .iter_mut()
        .filter(|(field, _)| *field == 4)
        .for_each(|(_, value)| {
            *value = Value::Tables(vec![Table::default(), bytes.clone()]);
        });
    assert!(refused(&root).contains("it is hybrid"), "{}", refused(&root));
    let options = ReadOptions {
        hybrid_as_float: true,
        ..ReadOptions::default()
    };
    let module = Model::decode(Bytes::from(file(&root))).unwrap().read(&options).unwrap();
    let text = print(&module);
    assert!(text.contains("inline [1.5,-2.0]"), "{text}");
}

#[test]
fn a_buffer_behind_the_flatbuffer_is_read_and_one_beside_the_file_is_not() {
    let with = |offset: u64, size: u64| {
        let mut root = small();
        let buffer = Table::default().bits(1, offset).bits(2, size);
        root.0
            .iter_mut()
            .filter(|(field, _)| *field == 4)
            .for_each(|(_, value)| {
                *value = Value::Tables(vec![Table::default(), buffer.clone()]);
            });
        root
    };
    let length = file(&with(2, 8)).len();
    let mut bytes = file(&with(length as u64, 8));
    assert_eq!(bytes.len(), length);
    bytes.extend([1.5f32, -2.0].iter().flat_map(|n| n.to_le_bytes()));
    let module = Model::decode(Bytes::from(bytes))
        .unwrap()
        .read(&ReadOptions::default())
        .unwrap();
    assert!(print(&module).contains("inline [1.5,-2.0]"));
    for (offset, size) in [(length as u64, 8), (u64::MAX, 8), (2, u64::MAX)] {
        let text = refused(&with(offset, size));
        assert!(text.contains("buffer 1 is"), "{text}");
    }
}

#[test]
fn what_contradicts_itself_is_told() {
    let ports = |inputs: &[i32], outputs: &[i32]| {
        let tensors = vec![tensor("x", &[2], 0), tensor("y", &[2], 0)];
        let graph = graph(tensors, vec![operator(0, inputs, outputs)], &[0], &[1]);
        refused(&model(vec![kind(19, 1)], graph, &[]))
    };
    assert!(ports(&[7], &[1]).contains("there is no tensor 7"));
    assert!(ports(&[-2], &[1]).contains("there is no tensor -2"));
    assert!(ports(&[0], &[0]).contains("`x` is defined twice"));
    assert!(ports(&[1], &[1]).contains("cycle"), "{}", ports(&[1], &[1]));
    assert!(
        Model::decode(Bytes::from_static(b"\0\0\0\0TFL2"))
            .unwrap_err()
            .to_string()
            .contains("TFL3")
    );
    let mut old = small();
    old.0[0].1 = Value::Bits(2);
    assert!(refused(&old).contains("schema version 2; 3 to 3 are read"));
    let late = kind(19, 1);
    let mut wrong = one(late);
    wrong.0.retain(|(field, _)| *field != 1);
    assert!(
        refused(&wrong).contains("of kind 0, of which there are 0"),
        "{}",
        refused(&wrong)
    );
}

#[test]
fn a_table_that_stands_in_many_places_is_counted_in_each() {
    let long = "n".repeat(1 << 16);
    let mut root = Table::default().bits(0, 3).tables(4, vec![Table::default()]);
    let graph = Table::default().with(0, Value::Same(1 << 16, tensor(&long, &[1], 0)));
    root = root.tables(2, vec![graph]);
    let bytes = file(&root);
    assert!(bytes.len() < 1 << 19);
    let text = Model::decode(Bytes::from(bytes)).unwrap_err().to_string();
    assert!(text.contains("over and over"), "{text}");
}

#[test]
fn an_operator_that_takes_one_tensor_many_times_is_read_in_time() {
    // 83 is PACK, for which each operand becomes an op. 106 is ADD_N, for which each operand becomes an addition.
    for number in [83, 106] {
        let many = vec![0; 60_000];
        let tensors = vec![tensor("x", &[2], 0), tensor("y", &[60_000, 2], 0)];
        let graph = graph(tensors, vec![operator(0, &many, &[1])], &[0], &[1]);
        let root = model(vec![kind(number, 1)], graph, &[]);
        let begin = std::time::Instant::now();
        let _ = read(&root);
        let taken = begin.elapsed();
        assert!(taken.as_secs() < 60, "{number} took {taken:?}");
    }
}

/// The next random number.
fn next(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6364136223846793005)
        .wrapping_add(1442695040888963407);
    *state >> 33
}

/// True if the bytes can be read. The tests only check that nothing panics.
fn looked_at(bytes: Vec<u8>) -> bool {
    let bytes = Bytes::from(bytes);
    Model::decode(bytes).is_ok_and(|model| model.read_single(&ReadOptions::default()).is_ok())
}

#[test]
fn cut_and_flipped_files_do_no_harm() {
    let whole = file(&small());
    assert!(looked_at(whole.clone()));
    for length in 0..whole.len() {
        looked_at(whole[..length].to_vec());
    }
    for at in 0..whole.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff, whole[at] ^ 1, whole[at].wrapping_add(4)] {
            let mut bytes = whole.clone();
            bytes[at] = value;
            looked_at(bytes);
        }
    }
    let mut state = 1;
    for _ in 0..3000 {
        let mut bytes = whole.clone();
        for _ in 0..1 + next(&mut state) % 6 {
            let at = next(&mut state) as usize % bytes.len();
            bytes[at] = next(&mut state) as u8;
        }
        looked_at(bytes);
    }
}

/// Reads the files of real models after random changes: `STRAIT_MUTATED=10000 cargo test -p strait-tflite --test all
/// --release mutated`.
#[test]
fn mutated_models_do_no_harm() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/models");
    let count: u64 = std::env::var("STRAIT_MUTATED")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(5);
    let Ok(files) = std::fs::read_dir(&folder) else {
        println!("skipped: {} is absent", folder.display());
        return;
    };
    let paths = files.map(|file| file.unwrap().path());
    let mut paths: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|e| e == "tflite"))
        .collect();
    paths.sort();
    for (seed, path) in paths.iter().enumerate() {
        let whole = std::fs::read(path).unwrap();
        let mut state = seed as u64;
        let mut read = 0;
        for _ in 0..count {
            let mut bytes = whole.clone();
            // Converters write the tables at the begin and at the end of the file.
            for _ in 0..1 + next(&mut state) % 8 {
                let window = bytes.len().min(1 << 15);
                let at = next(&mut state) as usize % window;
                let at = if next(&mut state).is_multiple_of(3) {
                    at
                } else {
                    bytes.len() - 1 - at
                };
                bytes[at] = match next(&mut state) % 3 {
                    0 => next(&mut state) as u8,
                    1 => bytes[at] ^ (1 << (next(&mut state) % 8)),
                    _ => [0, 0xff, 0x7f, 0x80][next(&mut state) as usize % 4],
                };
            }
            read += u64::from(looked_at(bytes));
        }
        println!("{}: {read} of {count} were read", path.file_name().unwrap().display());
    }
}
