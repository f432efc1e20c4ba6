//! File formats that Strait cannot read but recognizes, so that it can tell the user how to convert the file.

use strait_import::{
    Format as _,
    wire::{Value, fields},
};
use strait_onnx::LFS_POINTER;
use strait_tensorflow::{FREEZE, TensorFlow};

/// A file format that Strait recognizes but cannot read.
#[derive(Debug)]
pub(super) struct Format {
    /// Name of the format, to be shown after "this is".
    pub(super) name: &'static str,
    /// A command that converts the file. `{file}` stands for its path.
    pub(super) help: &'static str,
    pub(super) is: fn(&[u8]) -> bool,
}

/// PyTorch's format, for files that can only be recognized by their file extension.
pub(super) const TORCH: Format = Format {
    name: "a file of PyTorch, which holds weights and maybe Python objects",
    help: "export the model to ONNX where its class is: load the weights into the model, then \
           `torch.onnx.export(model.eval(), (sample,), 'model.onnx')` in Python",
    is: |_| false,
};

/// The formats in the order in which they are tried. The first format that matches is taken. A format that uses another
/// format as its container comes before that container format.
pub(super) const FORMATS: &[Format] = &[
    Format {
        name: "an empty file",
        help: "copy or download the file again",
        is: <[u8]>::is_empty,
    },
    Format {
        name: "a Git LFS pointer, which stands for the file",
        help: "fetch the file itself, in its repository: `git lfs pull --include {file}`",
        is: |bytes| bytes.starts_with(LFS_POINTER),
    },
    Format {
        name: "an HTML page",
        help: "download the file and not the page about it: `curl -L -o {file} URL`, with the address of the file itself",
        is: |bytes| {
            let text = start_of_text(bytes).to_ascii_lowercase();
            text.starts_with(b"<!doctype html") || text.starts_with(b"<html")
        },
    },
    Format {
        name: "statistics of calibration samples",
        help: "`strait calibrate merge` joins the statistics of shares; a compilation finds those of all samples in the folder \
               that `cache` of [calibration] names",
        is: |bytes| bytes.starts_with(b"STRAITS"),
    },
    Format {
        name: "a model in ONNX Runtime's own format",
        help: "take the .onnx that it was made from",
        is: |bytes| bytes.get(4..8) == Some(b"ORTM"),
    },
    Format {
        name: "a Keras model in HDF5",
        help: "export and convert it: `python -c \"import tensorflow as tf; \
               tf.keras.models.load_model('{file}').export('saved_model')\"`, then \
               `python -m tf2onnx.convert --saved-model saved_model --output model.onnx`",
        is: |bytes| bytes.starts_with(b"\x89HDF\r\n\x1a\n"),
    },
    Format {
        name: "a Keras model",
        help: "export and convert it: `python -c \"import keras; \
               keras.models.load_model('{file}').export('saved_model')\"`, then \
               `python -m tf2onnx.convert --saved-model saved_model --output model.onnx`",
        is: |bytes| is_zip(bytes) && holds(bytes, b"model.weights.h5"),
    },
    Format {
        name: "a TorchScript model",
        help: "export the model that it was made from: `torch.onnx.export(model.eval(), (sample,), 'model.onnx')` in Python",
        is: |bytes| is_zip(bytes) && holds(bytes, b"/constants.pkl"),
    },
    Format {
        name: "a program of torch.export",
        help: "export it to ONNX: `torch.onnx.export(torch.export.load('{file}'), f='model.onnx')` in Python",
        is: |bytes| {
            is_zip(bytes) && (holds(bytes, b"serialized_exported_program.json") || holds(bytes, b"archive_format"))
        },
    },
    Format {
        name: "a PyTorch checkpoint, which holds weights and maybe Python objects, but no graph",
        help: "export it where the model's class is: load the weights into the model, then \
               `torch.onnx.export(model.eval(), (sample,), 'model.onnx')` in Python",
        is: |bytes| is_zip(bytes) && holds(bytes, b"/data.pkl") || bytes.starts_with(OLD_PYTORCH),
    },
    Format {
        name: "a file of NumPy arrays",
        help: "samples are given as --calibration or --data, and the model as --model",
        is: |bytes| bytes.starts_with(b"\x93NUMPY") || is_zip(bytes) && holds(bytes, b".npy"),
    },
    Format {
        name: "a pickle of Python objects, perhaps a PyTorch checkpoint",
        help: "export the model where its class is: `torch.onnx.export(model.eval(), (sample,), 'model.onnx')` in Python",
        is: |bytes| matches!(bytes, [0x80, 2..=5, .., b'.']),
    },
    Format {
        name: "a safetensors file, which holds weights and no graph",
        help: "export the model that the weights belong to: `optimum-cli export onnx --model FOLDER out` for one of \
               Hugging Face, otherwise `torch.onnx.export(model.eval(), (sample,), 'model.onnx')` in Python",
        is: is_safetensors,
    },
    Format {
        name: "a GGUF file, which holds weights and no graph",
        help: "export the model that it was made from to ONNX",
        is: |bytes| bytes.starts_with(b"GGUF"),
    },
    Format {
        name: "a TensorFlow SavedModel without its folder",
        help: FREEZE,
        is: is_saved_model,
    },
    Format {
        name: "a TensorFlow MetaGraph, whose variables are in the checkpoint beside it",
        help: FREEZE,
        is: is_meta_graph,
    },
    Format {
        name: "a TensorFlow checkpoint, which holds weights and no graph",
        help: FREEZE,
        is: |bytes| bytes.ends_with(TABLE) || start_of_text(bytes).starts_with(b"model_checkpoint_path:"),
    },
    Format {
        name: "a TensorFlow graph as text",
        help: "save it in its binary form: `python -c \"import tensorflow as tf; from google.protobuf import text_format; \
               graph = text_format.Parse(open('{file}').read(), tf.compat.v1.GraphDef()); \
               open('model.pb', 'wb').write(graph.SerializeToString())\"`; it has to be frozen, too",
        is: is_graph_text,
    },
    Format {
        name: "an ONNX model as text",
        help: "save it in its binary form: `python -c \"import onnx; onnx.save(onnx.load('{file}', \
               format='textproto'), 'model.onnx')\"`; the format may also be 'onnxtxt' or 'json'",
        is: is_onnx_text,
    },
    Format {
        name: "a compressed file or an archive",
        help: "unpack it first",
        is: |bytes| {
            is_zip(bytes)
                || [
                    &b"\x1f\x8b"[..],
                    b"\x28\xb5\x2f\xfd",
                    b"\xfd7zXZ\0",
                    b"7z\xbc\xaf\x27\x1c",
                    b"BZh",
                ]
                .iter()
                .any(|magic| bytes.starts_with(magic))
                || bytes.get(257..262) == Some(b"ustar")
        },
    },
];

/// The magic number at the end of LevelDB's sorted tables. TensorFlow checkpoints are such tables.
const TABLE: &[u8] = b"\x57\xfb\x80\x8b\x24\x75\x47\xdb";

/// The start of files that PyTorch wrote before version 1.6: PyTorch's magic number as a pickle.
const OLD_PYTORCH: &[u8] = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.";

/// The names of an archive's members are searched for in this many bytes at its end.
const DIRECTORY: usize = 1 << 20;

fn is_zip(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04")
}

/// True if the archive seems to have a member whose name contains `name`.
fn holds(archive: &[u8], name: &[u8]) -> bool {
    let end = &archive[archive.len().saturating_sub(DIRECTORY)..];
    end.windows(name.len()).any(|window| window == name)
}

/// The beginning of a text, without leading blanks.
pub(super) fn start_of_text(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let bytes = bytes.trim_ascii_start();
    &bytes[..bytes.len().min(4096)]
}

/// A safetensors file begins with the length of a header, and the header is a JSON object.
fn is_safetensors(bytes: &[u8]) -> bool {
    let Some((length, header)) = bytes.split_first_chunk::<8>() else {
        return false;
    };
    let length = u64::from_le_bytes(*length);
    (2..=100 << 20).contains(&length) && header.starts_with(b"{\"")
}

/// A SavedModel begins with the version of its schema, which is 1, and a graph with its metadata.
fn is_saved_model(bytes: &[u8]) -> bool {
    let mut outer = fields(bytes);
    match (outer.next(), outer.next()) {
        (Some((1, Value::Number(1))), Some((2, Value::Bytes(graph)))) => {
            matches!(fields(graph).next(), Some((1 | 2, Value::Bytes(_))))
        }
        _ => false,
    }
}

/// A MetaGraph begins with a description of where it comes from, followed by a graph.
fn is_meta_graph(bytes: &[u8]) -> bool {
    let mut outer = fields(bytes);
    match (outer.next(), outer.next()) {
        (Some((1, Value::Bytes(_))), Some((2, Value::Bytes(graph)))) => TensorFlow.recognises(graph),
        _ => false,
    }
}

/// The text form of Protocol Buffers for a TensorFlow graph, a MetaGraph or a SavedModel.
fn is_graph_text(bytes: &[u8]) -> bool {
    let text = start_of_text(bytes);
    let begins = |word: &[u8]| {
        text.strip_prefix(word)
            .is_some_and(|rest| rest.trim_ascii_start().starts_with(b"{"))
    };
    begins(b"node") || begins(b"meta_info_def") || text.starts_with(b"saved_model_schema_version:")
}

/// ONNX in the text form of Protocol Buffers, in ONNX's own text form, or in JSON.
fn is_onnx_text(bytes: &[u8]) -> bool {
    let text = start_of_text(bytes);
    let says = |what: &[u8]| text.windows(what.len()).any(|window| window == what);
    match text.first() {
        Some(b'{') => says(b"\"irVersion\"") || says(b"\"opsetImport\""),
        Some(b'<') => says(b"ir_version:"),
        _ => text.starts_with(b"ir_version:"),
    }
}
