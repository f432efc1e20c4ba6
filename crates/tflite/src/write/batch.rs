//! Files that take any number of samples.
//!
//! A file is made for two numbers of samples. Where the two files differ, something depends on the number: in the file
//! for any number, the extent of a tensor is then open, and so is the extent in the constant shape of a RESHAPE or in
//! the constant ends of a STRIDED_SLICE. Any other difference is something that the format can only express for a fixed
//! number.

use super::emitter::Refused;
use super::file::{File, Operator, Tensor};
use super::flatbuffer::Field;
use bytes::Bytes;
use std::collections::BTreeMap;
use strait_core::Elem;

/// The two numbers of samples. They are primes, so that an extent of the model is rarely a multiple of one of them.
pub(super) const COUNTS: [u64; 2] = [1009, 1013];

/// The slot of the shape in the options of a RESHAPE.
const SHAPE: u16 = 0;

/// The slot in the options of a STRIDED_SLICE with a bit for each axis whose end is not read, because the slice goes to
/// the end of the axis.
const END_MASK: u16 = 1;

/// Makes the file for any number of samples of the files for [`COUNTS`]. `origins` has the name of the node of each
/// operator.
///
/// # Errors
/// The name of the first node that depends on the number of samples in a way that the format cannot express.
pub(super) fn joined([mut file, other]: [File; 2], origins: &[&str]) -> Result<File, (String, Refused)> {
    let origin = |at: usize| origins.get(at).copied().unwrap_or_default().to_owned();
    let lengths = |file: &File| (file.tensors.len(), file.operators.len());
    if lengths(&file) != lengths(&other) {
        return Err((
            origin(0),
            "the file has other operators for other numbers of samples".into(),
        ));
    }
    let maker = |file: &File, tensor: usize| {
        let has = |list: &[i32]| list.iter().any(|&own| own as usize == tensor);
        let mut operators = file.operators.iter();
        operators.position(|operator| has(&operator.outputs) || has(&operator.inputs))
    };
    // For each constant list that depends on the number of samples: the position of the number that does.
    let mut lists = BTreeMap::new();
    for at in 0..file.tensors.len() {
        let place = differing(&file.tensors[at], &other.tensors[at]);
        let place = place.map_err(|why| (origin(maker(&file, at).unwrap_or_default()), why))?;
        let tensor = &mut file.tensors[at];
        match place {
            Place::Nowhere => {}
            Place::Axis(axis) => {
                tensor.shape[axis] /= COUNTS[0];
                tensor.batch = Some(axis);
            }
            Place::Number(position) => {
                open(tensor, position);
                lists.insert(at as i32, position);
            }
        }
    }
    for (at, (own, other)) in file.operators.iter_mut().zip(other.operators).enumerate() {
        opened(own, other, &lists).map_err(|why| (origin(at), why))?;
    }
    Ok(file)
}

/// Where two tensors differ.
enum Place {
    Nowhere,
    /// In the extent of this axis.
    Axis(usize),
    /// In a number of a list of numbers.
    Number(usize),
}

fn differing(own: &Tensor, other: &Tensor) -> Result<Place, Refused> {
    let same = own.name == other.name && own.elem == other.elem && own.grid == other.grid;
    let is_list = own.elem == Elem::I32 && own.shape == other.shape && own.shape.len() == 1;
    match (&own.data, &other.data) {
        _ if !same => Err("it has other tensors for other numbers of samples".into()),
        (None, None) => {
            let extents = |tensor: &Tensor| tensor.shape.iter().map(|&extent| extent as i64).collect::<Vec<_>>();
            Ok(only(&extents(own), &extents(other))?.map_or(Place::Nowhere, Place::Axis))
        }
        (Some(a), Some(b)) if own.shape == other.shape && a == b => Ok(Place::Nowhere),
        (Some(a), Some(b)) if is_list => Ok(only(&numbers(a), &numbers(b))?.map_or(Place::Nowhere, Place::Number)),
        _ => Err("one of its constants is for a fixed number of samples".into()),
    }
}

fn numbers(bytes: &Bytes) -> Vec<i64> {
    let (numbers, _) = bytes.as_chunks::<4>();
    numbers.iter().map(|bytes| i32::from_le_bytes(*bytes).into()).collect()
}

/// The only position at which two lists differ, if at this position both have the same multiple of the number of samples.
fn only(own: &[i64], other: &[i64]) -> Result<Option<usize>, Refused> {
    let [first, second] = COUNTS.map(|count| count as i64);
    let pairs = own.iter().zip(other);
    let mut places = pairs.enumerate().filter(|(_, (own, other))| own != other);
    let place = places.next();
    let is_multiple =
        |&(_, (&a, &b)): &(usize, (&i64, &i64))| a % first == 0 && b % second == 0 && a / first == b / second;
    let is_known = place.as_ref().is_none_or(is_multiple) && places.next().is_none();
    match is_known && own.len() == other.len() {
        true => Ok(place.map(|(at, _)| at)),
        false => Err("two extents depend on the number of samples".into()),
    }
}

/// Replaces a number of a constant list by −1.
fn open(tensor: &mut Tensor, position: usize) {
    let Some(data) = &tensor.data else { return };
    let mut bytes = data.to_vec();
    if let Some(number) = bytes.as_chunks_mut::<4>().0.get_mut(position) {
        *number = (-1i32).to_le_bytes();
    }
    tensor.data = Some(bytes.into());
}

/// Changes the options of an operator if it reads a list in which a number is open.
fn opened(own: &mut Operator, other: Operator, lists: &BTreeMap<i32, usize>) -> Result<(), Refused> {
    let place = |at: usize| own.inputs.get(at).and_then(|input| lists.get(input)).copied();
    let open = own.inputs.iter().filter(|input| lists.contains_key(input)).count();
    match (own.name, open) {
        (_, 0) => {}
        ("RESHAPE", 1) => {
            if let (Some(position), Some((_, options))) = (place(1), &mut own.options)
                && let Some(Field::Ints(shape)) = options.get_mut(SHAPE)
                && let Some(extent) = shape.get_mut(position)
            {
                *extent = -1;
                return Ok(());
            }
            return Err("its shape is not known".into());
        }
        ("STRIDED_SLICE", 1) => {
            let position = place(2).ok_or("it begins behind the first samples")?;
            let options = own.options.take().ok_or("it has no options")?;
            let mask = 1i32.checked_shl(position as u32).ok_or("it has too many axes")?;
            own.options = Some((options.0, options.1.int(END_MASK, mask, 0)));
            return Ok(());
        }
        (name, _) => return Err(format!("{name} takes a shape for a fixed number of samples")),
    }
    let same = (own.name, own.version, &own.inputs, &own.outputs, &own.options)
        == (other.name, other.version, &other.inputs, &other.outputs, &other.options);
    match same {
        true => Ok(()),
        false => Err("it has other operators for other numbers of samples".into()),
    }
}
