//! Tests that metrics of a quantized model whose output has codes judge the real numbers that these stand for.

use super::*;

/// The first three of the four numbers of a sample, quantized as (q − 100) / 64.
const TEXT: &str = "opset 13
input x: f32[1,4]
const w: i8[4,3] = 64 0 0 0 64 0 0 0 64 0 0 0
const ws: f32[] = 0.015625
const wz: i8[] = 0
const s: f32[] = 0.015625
const z: u8[] = 100
xq = QuantizeLinear(x, s, z)
xr = DequantizeLinear(xq, s, z)
wr = DequantizeLinear(w, ws, wz)
m = MatMul(xr, wr)
y = QuantizeLinear(m, s, z)
output y
";

#[test]
fn codes_at_an_output_are_judged_as_the_numbers_that_they_stand_for() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("form.onnx"), onnx::file(TEXT)).unwrap();
    samples(folder.path(), TEXT);
    // The largest of the first three of (at · 37 mod 101) / 50 − 1 is at 2, 0, 2 and 1, computed by hand.
    let number = |at: usize| at * 37 % 101;
    let label = |sample: usize| (0..3).max_by_key(|place| number(4 * sample + place)).unwrap() as i64;
    let labels: Vec<u8> = (0..SAMPLES).flat_map(|sample| label(sample).to_le_bytes()).collect();
    fs::write(at("y.npy"), encode(NumberType::I64, &[SAMPLES], &labels)).unwrap();
    let config = "schema = 1\nmodel.file = 'form.onnx'\ntarget.use = ['generic-int8']\noutput.dir = 'artifact'\n\
                  calibration = { data = 'x.npy', cache = 'cache' }\n\
                  evaluation = { data = 'x.npy', labels = 'y.npy', metrics = ['top1', 'agreement', 'snr'] }\n";
    let session = Session::new(NonZeroUsize::MIN, Context::detect(), &Silent);
    let loaded = config::parse("form.toml", config.to_owned(), folder.path(), &[]).unwrap_or_else(|e| panic!("{e}"));
    let compiled = pipeline::compile(&loaded, targets::registry([]).unwrap(), &session);
    let report = compiled.unwrap_or_else(|stop| panic!("{stop}")).remove(0).report;
    let accuracy = report.accuracy.unwrap();
    let figure = |name: &str| accuracy.of(name).unwrap().integer.unwrap();
    for metric in ["top1", "agreement"] {
        assert_eq!(figure(metric).count, Some(SAMPLES as u64), "{metric}");
    }
    // The integers of the layer are those of the model.
    assert!(figure("snr").value >= 100.0, "{:?}", figure("snr"));
    assert!(report.sanity.outputs[0].unjudged.is_none(), "{:?}", report.sanity);
}
