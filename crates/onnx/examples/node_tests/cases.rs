//! Reads the folder of test cases.

use crate::numbers;
use std::error::Error;
use std::path::Path;
use strait_core::Elem;

/// An input or output of a case.
pub(crate) struct Tensor {
    pub(crate) elem: Elem,
    pub(crate) shape: Vec<usize>,
    /// The elements, row-major and little-endian.
    pub(crate) bytes: Vec<u8>,
}

/// One node test.
pub(crate) struct Case {
    pub(crate) name: String,
    /// The operator under test, if the model has only one.
    pub(crate) operator: Option<String>,
    /// How far a float may be from the expected value: `absolute` plus `relative` times the expected value.
    pub(crate) relative: f64,
    pub(crate) absolute: f64,
    pub(crate) inputs: Vec<Tensor>,
    pub(crate) outputs: Vec<Tensor>,
}

/// A group of cases that are counted together.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    Plain,
    /// The model is the body of the function that defines the operator.
    Expanded,
    /// Operands that determine shapes are inputs of the model instead of constants.
    Late,
}

impl Case {
    pub(crate) fn group(&self) -> Group {
        match self.name.contains("_expanded") {
            true => Group::Expanded,
            false if self.name.ends_with(".late") => Group::Late,
            false => Group::Plain,
        }
    }
}

/// The cases of a folder, in the order in which the folder lists them.
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
                inputs: Vec::new(),
                outputs: Vec::new(),
            }),
            ([side @ ("in" | "out"), kind, shape, offset, length], Some(case)) => {
                let (offset, length): (usize, usize) = (offset.parse()?, length.parse()?);
                let bytes = elements.get(offset..offset + length).ok_or("tensors.bin is cut")?;
                let tensor = Tensor {
                    elem: numbers::parse(kind).ok_or_else(|| format!("the element type {kind} is not known"))?,
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
