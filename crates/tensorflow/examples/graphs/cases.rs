//! Reads test cases from a folder.

use std::error::Error;
use std::path::Path;

use strait_core::Elem;
use strait_import::ReadOptions;

/// An input or an output of a test case.
pub(crate) struct Tensor {
    pub(crate) elem: Elem,
    pub(crate) shape: Vec<usize>,
    /// The elements, row-major and little-endian.
    pub(crate) bytes: Vec<u8>,
}

/// A graph, some inputs, and the outputs that TensorFlow computes for them.
pub(crate) struct Case {
    pub(crate) name: String,
    /// The operator that is tested, if the graph has only one operator.
    pub(crate) operator: Option<String>,
    /// How far a float may differ from the expected value: `absolute` plus `relative` times the expected value.
    pub(crate) relative: f64,
    pub(crate) absolute: f64,
    pub(crate) options: ReadOptions,
    pub(crate) inputs: Vec<Tensor>,
    pub(crate) outputs: Vec<Tensor>,
}

fn element(name: &str) -> Option<Elem> {
    Some(match name {
        "float16" => Elem::F16,
        "float" => Elem::F32,
        "double" => Elem::F64,
        "bool" => Elem::Bool,
        "int8" => Elem::I8,
        "int16" => Elem::I16,
        "int32" => Elem::I32,
        "int64" => Elem::I64,
        "uint8" => Elem::U8,
        "uint16" => Elem::U16,
        "uint32" => Elem::U32,
        _ => return None,
    })
}

/// The test cases in a folder, in the order of the folder's list.
pub(crate) fn read(folder: &Path) -> Result<Vec<Case>, Box<dyn Error>> {
    let elements = std::fs::read(folder.join("tensors.bin"))?;
    let mut cases: Vec<Case> = Vec::new();
    for line in std::fs::read_to_string(folder.join("cases.txt"))?.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match (words.as_slice(), cases.last_mut()) {
            (["case", name, relative, absolute, operator], _) => cases.push(Case {
                name: (*name).into(),
                operator: Some(*operator).filter(|name| *name != "-").map(Into::into),
                relative: relative.parse()?,
                absolute: absolute.parse()?,
                options: ReadOptions::default(),
                inputs: Vec::new(),
                outputs: Vec::new(),
            }),
            (["begin", tensor], Some(case)) => case.options.inputs.push((*tensor).into()),
            (["end", tensor], Some(case)) => case.options.outputs.push((*tensor).into()),
            (["bind", key, number], Some(case)) => drop(case.options.bind.insert((*key).into(), number.parse()?)),
            (["hybrid"], Some(case)) => case.options.hybrid_as_float = true,
            ([side @ ("in" | "out"), kind, shape, offset, length], Some(case)) => {
                let (offset, length): (usize, usize) = (offset.parse()?, length.parse()?);
                let bytes = elements.get(offset..offset + length).ok_or("tensors.bin is cut")?;
                let tensor = Tensor {
                    elem: element(kind).ok_or_else(|| format!("the element type {kind} is not known"))?,
                    shape: match *shape {
                        "-" => Vec::new(),
                        shape => shape.split('x').map(str::parse).collect::<Result<_, _>>()?,
                    },
                    bytes: bytes.into(),
                };
                match *side {
                    "in" => case.inputs.push(tensor),
                    _ => case.outputs.push(tensor),
                }
            }
            _ => return Err(format!("cases.txt: `{line}`").into()),
        }
    }
    Ok(cases)
}
