//! Tests bytes that are not a model, and data in other files.

use super::make::*;
use super::*;
use crate::proto::*;

#[test]
fn nested_graphs_and_bad_text_are_clean_errors() {
    // Subgraphs in subgraphs: attribute (field 5 of a node, 6 of an attribute), ten thousand deep.
    let mut bytes: Vec<u8> = Vec::new();
    for depth in 0..10_000 {
        let mut wrapped = Vec::new();
        prost::encoding::encode_key(
            [1, 5, 6][depth % 3],
            prost::encoding::WireType::LengthDelimited,
            &mut wrapped,
        );
        prost::encoding::encode_varint(bytes.len() as u64, &mut wrapped);
        wrapped.extend(&bytes);
        bytes = wrapped;
    }
    let mut file = Vec::new();
    prost::encoding::encode_key(7, prost::encoding::WireType::LengthDelimited, &mut file);
    prost::encoding::encode_varint(bytes.len() as u64, &mut file);
    file.extend(&bytes);
    assert!(Model::decode(file.into(), Path::new("")).is_err());

    let whole = model(
        13,
        graph(&["x: f32[2]"], vec![], vec![node("yyyy = Relu(x)", vec![])], &["yyyy"]),
    )
    .encode_to_vec();
    let garbled: Vec<u8> = whole.iter().map(|&b| if b == b'y' { 0xff } else { b }).collect();
    let error = Model::decode(garbled.into(), Path::new("")).unwrap_err().to_string();
    assert!(error.contains("UTF-8"), "{error}");
    assert!(Model::decode(Bytes::new(), Path::new("")).is_err());
}

#[test]
fn data_files_are_read_inside_of_the_folder_only() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("data")).unwrap();
    std::fs::write(
        folder.path().join("data/weights"),
        [0f32, 1.0, 2.0].map(f32::to_le_bytes).concat(),
    )
    .unwrap();
    std::fs::write(folder.path().join("outside"), [0; 8]).unwrap();
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n";
    std::fs::write(folder.path().join("data/pointer"), pointer).unwrap();
    let read = |entries: &[(&str, &str)]| {
        let external = entries.iter().map(|(key, value)| StringStringEntryProto {
            key: (*key).into(),
            value: (*value).into(),
        });
        let tensor = TensorProto {
            name: "w".into(),
            dims: vec![2],
            data_type: 1,
            data_location: 1,
            external_data: external.collect(),
            ..TensorProto::default()
        };
        let model = model(
            13,
            graph(
                &["x: f32[2]"],
                vec![tensor],
                vec![node("y = Add(x, w)", vec![])],
                &["y"],
            ),
        );
        let model = Model::decode(model.encode_to_vec().into(), &folder.path().join("data"))?;
        assert_eq!(model.data_files(), []);
        let module = model.read(&ReadOptions::default())?;
        let files: Vec<(String, usize)> = model
            .data_files()
            .into_iter()
            .map(|(name, b)| (name, b.len()))
            .collect();
        assert_eq!(files, [("weights".to_owned(), 12)]);
        Ok::<_, ReadError>(module.pool()[0].to_f32().unwrap().into_owned())
    };
    assert_eq!(
        read(&[("location", "weights"), ("offset", "4"), ("length", "8")]).unwrap(),
        [1.0, 2.0]
    );
    assert_eq!(read(&[("location", "./weights"), ("offset", "4")]).unwrap(), [1.0, 2.0]);
    // Without a length, as many bytes are read as the tensor has. The bytes after them do not matter.
    assert_eq!(read(&[("location", "weights")]).unwrap(), [0.0, 1.0]);
    let absolute = folder.path().join("outside");
    let absolute = absolute.to_str().unwrap();
    let cases = [
        (
            vec![("location", "weights"), ("offset", "8"), ("length", "8")],
            "outside of the 12 bytes of `weights`",
        ),
        (
            vec![
                ("location", "weights"),
                ("offset", "18446744073709551615"),
                ("length", "8"),
            ],
            "outside of the 12 bytes",
        ),
        (
            vec![("location", "weights"), ("offset", "-1")],
            "the offset of its data is `-1`",
        ),
        (
            vec![("location", "weights"), ("length", "12")],
            "takes 8 bytes, but there are 12",
        ),
        (vec![("location", "../outside")], "is outside of the model's folder"),
        (vec![("location", absolute)], "is outside of the model's folder"),
        (vec![("location", "nowhere")], "cannot be opened"),
        (vec![("location", ".")], "not a regular file"),
        (vec![], "which is not named"),
        (vec![("location", "pointer")], "`pointer` is a Git LFS pointer"),
    ];
    for (entries, expect) in cases {
        let error = read(&entries).unwrap_err().to_string();
        assert!(error.contains(expect), "expected {expect}\nfound    {error}");
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../outside", folder.path().join("data/link")).unwrap();
        let error = read(&[("location", "link")]).unwrap_err().to_string();
        assert!(error.contains("is a symbolic link"), "{error}");
    }
}

#[test]
fn all_data_files_that_are_missing_are_named_at_once() {
    let external = |name: &str, location: &str| TensorProto {
        name: name.into(),
        dims: vec![2],
        data_type: 1,
        data_location: 1,
        external_data: vec![StringStringEntryProto {
            key: "location".into(),
            value: location.into(),
        }],
        ..TensorProto::default()
    };
    let nodes = vec![node("a = Add(x, v)", vec![]), node("y = Mul(a, w)", vec![])];
    let constants = vec![
        external("v", "one.bin"),
        external("w", "two.bin"),
        external("unused", "three.bin"),
    ];
    let model = model(13, graph(&["x: f32[2]"], constants, nodes, &["y"]));
    let folder = tempfile::tempdir().unwrap();
    let model = Model::decode(model.encode_to_vec().into(), folder.path()).unwrap();
    let Err(ReadError::DataFiles(faults)) = model.read(&ReadOptions::default()) else {
        panic!("nothing is missing")
    };
    let names: Vec<&str> = faults.iter().map(|fault| fault.location.as_str()).collect();
    assert_eq!(names, ["one.bin", "two.bin"]);
}
