//! Reads test cases from a folder.

use super::numbers;
use std::error::Error;
use std::path::Path;
use strait_execute::{Tensor, TensorView};
use strait_import::ReadOptions;

/// A model, some inputs, and the outputs that the other software computes for them.
pub(crate) struct Case {
    pub(crate) name: String,
    /// The operator that is tested, if the model has only one operator.
    pub(crate) operator: Option<String>,
    /// How far a number may differ from the expected value: `absolute` plus `relative` times the expected value.
    pub(crate) relative: f64,
    pub(crate) absolute: f64,
    pub(crate) options: ReadOptions,
    pub(crate) inputs: Vec<Tensor>,
    pub(crate) outputs: Vec<Tensor>,
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
                let elem = numbers::parse(kind).ok_or_else(|| format!("the element type {kind} is not known"))?;
                let shape: Vec<usize> = match *shape {
                    "-" => Vec::new(),
                    shape => shape.split('x').map(str::parse).collect::<Result<_, _>>()?,
                };
                let tensor = TensorView::new(elem, &shape, bytes)?.to_tensor();
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
