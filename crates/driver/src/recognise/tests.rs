use super::*;

/// The parts of a zip file that the recognition reads: its first member and its directory.
fn zip(names: &[&str]) -> Vec<u8> {
    let mut bytes = b"PK\x03\x04".to_vec();
    names.iter().for_each(|name| bytes.extend(name.as_bytes()));
    bytes
}

fn bytes_field(number: u8, content: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, content.len() as u8], content].concat()
}

#[test]
fn each_format_is_told_by_its_bytes() {
    let node = [bytes_field(1, b"input"), bytes_field(2, b"Placeholder")].concat();
    let meta = bytes_field(1, &bytes_field(4, b"serve"));
    let header = b"{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}";
    let safetensors = [&(header.len() as u64).to_le_bytes()[..], header, &[0; 4]].concat();
    let mut tar = vec![0; 512];
    tar[257..262].copy_from_slice(b"ustar");
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (vec![], "an empty file"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n".to_vec(),
            "a Git LFS pointer",
        ),
        (b"\n<!DOCTYPE HTML><html>".to_vec(), "an HTML page"),
        (b"<html lang=\"en\">".to_vec(), "an HTML page"),
        (b"STRAITS5\0\0".to_vec(), "statistics of calibration samples"),
        (b"\x1c\0\0\0ORTM\x14\0".to_vec(), "a model in ONNX Runtime"),
        (b"\x89HDF\r\n\x1a\n\0".to_vec(), "a Keras model in HDF5"),
        (
            zip(&["metadata.json", "config.json", "model.weights.h5"]),
            "a Keras model",
        ),
        (
            zip(&["net/data.pkl", "net/code/__torch__.py", "net/constants.pkl"]),
            "a TorchScript model",
        ),
        (
            zip(&["archive/data.pkl", "archive/data/0", "archive/version"]),
            "a PyTorch checkpoint",
        ),
        (
            zip(&["serialized_exported_program.json", "version"]),
            "a program of torch.export",
        ),
        (
            b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.".to_vec(),
            "a PyTorch checkpoint",
        ),
        (b"\x80\x04\x95\x05\0\0\0}\x94.".to_vec(), "a pickle"),
        (b"\x93NUMPY\x01\0".to_vec(), "a file of NumPy arrays"),
        (zip(&["x.npy"]), "a file of NumPy arrays"),
        (safetensors, "a safetensors file"),
        (b"GGUF\x03\0".to_vec(), "a GGUF file"),
        (
            [&[0x08, 1][..], &bytes_field(2, &meta)].concat(),
            "a TensorFlow SavedModel",
        ),
        (
            [bytes_field(1, &meta), bytes_field(2, &bytes_field(1, &node))].concat(),
            "a TensorFlow MetaGraph",
        ),
        (
            b"\0\0\0\0\x57\xfb\x80\x8b\x24\x75\x47\xdb".to_vec(),
            "a TensorFlow checkpoint",
        ),
        (
            b"model_checkpoint_path: \"model.ckpt-1\"\n".to_vec(),
            "a TensorFlow checkpoint",
        ),
        (b"node {\n  name: \"x\"\n".to_vec(), "a TensorFlow graph as text"),
        (b"meta_info_def {\n".to_vec(), "a TensorFlow graph as text"),
        (
            b"ir_version: 8\nproducer_name: \"me\"\n".to_vec(),
            "an ONNX model as text",
        ),
        (
            b"<\n  ir_version: 8,\n>\nagraph (float[N] x) => (float[N] y)".to_vec(),
            "an ONNX model as text",
        ),
        (
            b"{\"irVersion\": \"8\", \"graph\": {}}".to_vec(),
            "an ONNX model as text",
        ),
        (b"\x1f\x8b\x08\0".to_vec(), "a compressed file"),
        (zip(&["readme.txt"]), "a compressed file"),
        (tar, "a compressed file"),
    ];
    for (bytes, expected) in &cases {
        let found = format(bytes).map_or("nothing", |format| format.name);
        assert!(found.starts_with(expected), "{found} is not {expected}");
    }
    for bytes in [
        &b"schema = 1\n[model]\n"[..],
        b"# ir_version: 8",
        b"\x08\x08\x12\x02me",
        b"\0\0\0\0",
    ] {
        assert!(format(bytes).is_none(), "{bytes:?}");
    }
}

#[test]
fn a_model_that_is_read_is_told_by_its_bytes_and_is_no_configuration() {
    let node = [bytes_field(1, b"input"), bytes_field(2, b"Placeholder")].concat();
    let graph = bytes_field(1, &node);
    let onnx = [&b"\x08\x08\x12\x02me"[..], &bytes_field(7, b"")].concat();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("model");
    for (bytes, name) in [
        (&graph[..], "TensorFlow"),
        (&onnx, "ONNX"),
        (b"\x1c\0\0\0TFL3\x14\0", "TFLite"),
    ] {
        let found = recognised(model::FORMATS, bytes).map(strait_import::Format::name);
        assert_eq!(found, Some(name));
        assert!(format(bytes).is_none());
        fs::write(&file, bytes).unwrap();
        let text = configuration(&file).unwrap_err().to_string();
        let expected = format!("model is a model of {name}, not a configuration");
        assert!(text.contains(&expected), "{text}");
    }
    assert!(recognised(model::FORMATS, b"\x08\x08\x12\x02me").is_none());
    fs::write(&file, [&graph[..], b"\x0a\x50cut"].concat()).unwrap();
    let found = refused_model(&file, "TensorFlow", "words");
    let expected = "is cut: at least 77 bytes of the TensorFlow model are missing";
    assert!(found.message.contains(expected), "{}", found.message);
}

#[test]
fn whatever_the_bytes_nothing_breaks() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x");
    for seed in 0..200u32 {
        let mut state = seed;
        let bytes: Vec<u8> = (0..seed)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            })
            .collect();
        fs::write(&file, &bytes).unwrap();
        let _ = configuration(&file);
        assert_eq!(refused_model(&file, "ONNX", "words").code, codes::MODEL);
    }
}
