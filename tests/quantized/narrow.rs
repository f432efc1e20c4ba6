//! Tests a TFLite model with a range that ends far inside of the computed values. The artifact has LiteRT's codes,
//! whether its layers run on the accelerator or on the host. The expected codes come from LiteRT 2.3.0's reference
//! kernels (BUILTIN_REF).

use super::flat::{Table, Value, file, graph, kind, model, operator, tensor};
use super::*;
use strait_driver::run;
use strait_samples::Array;

const FIRST: [i8; 24] = [
    127, -90, 64, -127, -100, 31, 12, 77, -45, 127, 99, -127, 5, -64, 88, -31, 60, -127, 33, 90, -12, 127, -70, 20,
];
const SECOND: [i8; 9] = [55, -127, 80, -127, 33, -64, 101, 12, -99];

/// LiteRT's codes for four samples. The codes in between, which reach from 31 to the ends of the range, are [31 23 37],
/// [127 -26 89], [31 -128 127] and [44 -73 92].
const CODES: [f32; 12] = [
    1.0, -22.0, -6.0, 47.0, -72.0, 6.0, 78.0, -53.0, -37.0, 52.0, -46.0, -21.0,
];

/// Scale of the codes that leave the model.
const STEP: f32 = 1.0 / 96.0;
const ZERO: i64 = -5;

fn codes(name: &str, shape: &[i32], (buffer, elem): (u64, u64), scale: f32, zero: i64) -> Table {
    let grid = Table::default()
        .with(2, Value::Floats(vec![scale]))
        .with(3, Value::Longs(vec![zero]));
    tensor(name, shape, buffer).bits(1, elem).with(4, Value::Table(grid))
}

/// A quantize, two fully connected layers with a range from -0.5 to 0.5 in between, and a dequantize.
fn narrow() -> Vec<u8> {
    const INT8: u64 = 9;
    const INT32: u64 = 2;
    let dense = |operands: &[i32], result: i32| {
        operator(1, operands, &[result])
            .bits(3, 8)
            .with(4, Value::Table(Table::default()))
    };
    let tensors = vec![
        tensor("x", &[1, 8], 0),
        codes("xq", &[1, 8], (0, INT8), 1.0 / 64.0, 0),
        codes("w1", &[3, 8], (1, INT8), 1.0 / 512.0, 0),
        codes("b1", &[3], (2, INT32), 1.0 / 32768.0, 0),
        codes("h", &[1, 3], (0, INT8), 1.0 / 256.0, 0),
        codes("w2", &[3, 3], (3, INT8), 1.0 / 128.0, 0),
        codes("b2", &[3], (4, INT32), 1.0 / 32768.0, 0),
        codes("yq", &[1, 3], (0, INT8), STEP, ZERO),
        tensor("y", &[1, 3], 0),
    ];
    let operators = vec![
        operator(0, &[0], &[1]),
        dense(&[1, 2, 3], 4),
        dense(&[4, 5, 6], 7),
        operator(2, &[7], &[8]),
    ];
    let kinds = vec![kind(114, 1), kind(9, 4), kind(6, 2)];
    let mut root = model(kinds, graph(tensors, operators, &[0], &[8]), &[]);
    let integers = |all: [i32; 3]| all.map(i32::to_le_bytes).concat();
    let bytes = |all: &[i8]| all.iter().map(|&code| code as u8).collect::<Vec<u8>>();
    let filled = [
        bytes(&FIRST),
        integers([40, -900, 1500]),
        bytes(&SECOND),
        integers([300, -200, 0]),
    ];
    let buffers = filled.map(|bytes| Table::default().with(0, Value::Bytes(bytes)));
    root.0.retain(|(field, _)| *field != 4);
    file(&root.tables(4, std::iter::once(Table::default()).chain(buffers).collect()))
}

#[test]
fn codes_of_a_narrow_grid_are_those_of_litert_on_the_accelerator_and_on_the_host() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("model.tflite"), narrow()).unwrap();
    samples(folder.path(), "input x: f32[1,8]\n");
    for target in TARGETS {
        for set in ["", "quantize.rule = [{ layers = ['*'], run = 'float' }]\n"] {
            let config = format!(
                "schema = 1\nmodel.file = 'model.tflite'\ntarget.use = ['{target}']\ncalibration.data = 'x.npy'\n\
                 calibration.cache = 'cache'\noutput.dir = 'artifact'\n{set}"
            );
            let session = Session::new(NonZeroUsize::MIN, Context::detect(), &Silent);
            let loaded = config::parse("model.toml", config, folder.path(), &[]).unwrap();
            let compiled = pipeline::compile(&loaded, targets::registry([]).unwrap(), &session);
            let compiled = compiled.unwrap_or_else(|stop| panic!("{target}: {stop}")).remove(0);
            let opened = Opened::open(&compiled.folder, &targets::registry([]).unwrap()).unwrap();
            let files = std::collections::BTreeMap::from([("x".to_owned(), at("x.npy"))]);
            run::run(&opened, &files, &at("y.npy"), false, &session).unwrap();
            let made = Array::open(&at("y.npy")).unwrap();
            let found: Vec<f32> = made.view::<f32>().unwrap().iter().copied().collect();
            // Sums in float may differ at ties.
            let off = |(&code, &real): (&f32, &f32)| (real / STEP + ZERO as f32 - code).abs();
            let most = CODES.iter().zip(&found).map(off).fold(0.0, f32::max);
            assert!(most < 1.01, "{target} {set}: off by {most} codes: {found:?}");
        }
    }
}
