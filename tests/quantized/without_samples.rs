//! Tests that a quantized model which has all scales needs no samples. If some are missing, the error names the layers
//! that need samples.

use super::*;

/// Compiles a form for a target with or without samples. Returns the bytes of the model and the remarks.
fn compiled(text: &str, with_samples: bool) -> Result<(Vec<u8>, Vec<String>), String> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("form.onnx"), onnx::file(text)).unwrap();
    samples(folder.path(), text);
    let mut config =
        "schema = 1\nmodel.file = 'form.onnx'\ntarget.use = ['generic-int8']\noutput.dir = 'artifact'\n".to_owned();
    if with_samples {
        config += "calibration.data = 'x.npy'\ncalibration.cache = 'cache'\n";
    }
    let session = Session::new(NonZeroUsize::MIN, Context::detect(), &Silent);
    let loaded = config::parse("form.toml", config, folder.path(), &[]).map_err(|error| error.to_string())?;
    let compiled = pipeline::compile(&loaded, targets::registry([]).unwrap(), &session);
    let compiled = compiled.map_err(|stop| stop.to_string())?.remove(0);
    let remarks = compiled.report.remarks.iter().map(|remark| remark.text.clone());
    Ok((
        fs::read(compiled.folder.join("model.strait")).unwrap(),
        remarks.collect(),
    ))
}

/// The text of the form with this name, without the expected results.
fn form(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("quantized").join(name);
    fs::read_to_string(path)
        .unwrap()
        .split(RESULT)
        .next()
        .unwrap()
        .to_owned()
}

#[test]
fn a_model_with_all_grids_has_the_same_bytes_without_samples() {
    for name in [
        "saturation/conv.txt",
        "saturation/residual.txt",
        "forms/layers_of_codes.txt",
    ] {
        let text = form(name);
        let [(with, _), (without, remarks)] = [true, false].map(|samples| compiled(&text, samples).unwrap());
        assert!(with == without, "{name}");
        assert!(
            remarks.iter().any(|text| text.contains("there are no samples")),
            "{name}: {remarks:?}"
        );
    }
}

#[test]
fn a_layer_without_a_grid_needs_samples_and_is_named() {
    let error = compiled(&form("forms/hidden_activation.txt"), false).unwrap_err();
    assert!(
        error.contains("the model has no grid for 1 layer, and there are no samples: `y`"),
        "{error}"
    );
}

#[test]
fn a_float_model_needs_samples() {
    let error = compiled("opset 13\ninput x: f32[1,2]\ny = Relu(x)\noutput y\n", false).unwrap_err();
    assert!(error.contains("the model has none of its own"), "{error}");
}
