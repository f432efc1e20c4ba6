//! The file of `quantize.params`: scale and zero point of some tensors, each with its place in the text.
//!
//! An artifact has such a file of all its tensors, and `strait params import` makes one of another tool's file. Everything that
//! can be seen without the model is checked here. All findings are reported at once, each with its line.

use std::{collections::BTreeMap, num::NonZeroU32, path::Path, sync::LazyLock};

use schemars::JsonSchema;
use serde::Deserialize;
use strait_core::{Elem, QuantParams};
use strait_document::{Any, Diagnostic, Diagnostics, Document, Format, KeyPath, Node, Shape, Source, codes};
use strait_requantize::Per;
use toml::Value;

/// A file of parameters may have at most this many bytes. Larger files are not read.
pub const MOST_PARAMS_BYTES: u64 = 256 << 20;

/// The origin of entries that only repeat what follows from another entry.
const PROPAGATED: &str = "propagated";

/// The scale and the zero point of tensors.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ParamsFile {
    /// The version of the file format.
    #[schemars(range(min = 1, max = 1))]
    #[serde(rename = "schema")]
    _schema: u32,
    /// True if the file was written by a compilation that moved scale between layers.
    #[serde(default)]
    migrated: bool,
    /// The digest of the factors by which it did.
    factors: Option<String>,
    /// The tensors.
    #[serde(default)]
    tensor: Vec<Tensor>,
}

/// The parameters of one tensor.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Tensor {
    /// The name of the tensor in the model.
    name: String,
    /// The layer that reads the tensor, if the entry is only for one of its operands.
    layer: Option<String>,
    /// The index of this operand, from 0.
    operand: Option<u32>,
    /// The scale, or a list with one for each channel or block.
    scale: Option<Any>,
    /// The zero point, or a list. Absent: 0.
    zero_point: Option<Any>,
    /// The axis along which the scales differ.
    axis: Option<u8>,
    /// How many elements along the axis share a scale.
    block: Option<NonZeroU32>,
    /// The smallest and the largest real number. Without `scale`, the target makes a grid for this range.
    #[schemars(length(min = 2, max = 2))]
    range: Option<Vec<f64>>,
    /// The width of the codes.
    bits: Option<u32>,
    /// False if the codes begin at 0. Absent: true.
    signed: Option<bool>,
    /// Who chose the parameters. Entries with `propagated` are not read.
    origin: Option<String>,
    /// The tensor whose grid this one has, if it is propagated.
    #[serde(rename = "of")]
    _of: Option<String>,
}

impl Document for ParamsFile {
    const NAME: &'static str = "the file of parameters";
    const SCHEMA: u32 = 1;
    const FORMATS: &'static [Format] = &[];

    fn shape() -> &'static Shape {
        static SHAPE: LazyLock<Shape> = LazyLock::new(Shape::of::<ParamsFile>);
        &SHAPE
    }
}

/// Parameters of some tensors, with their places in the file.
#[derive(Clone, Debug)]
pub struct Params {
    /// The parameters, in the order of the file, without entries that follow from others.
    pub tensors: Vec<GivenParams>,
    /// If the file was written by a compilation that moved scale between layers, the digest of the factors. The tensors are
    /// then those of the model divided by factors.
    pub factors: Option<String>,
    /// The text of the file.
    pub text: String,
    tree: Node,
}

/// The parameters of one tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct GivenParams {
    /// The name of the tensor.
    pub name: String,
    /// The layer and the index of the operand, if they are only for this operand.
    pub reader: Option<(String, usize)>,
    /// What is given.
    pub says: Says,
    at: KeyPath,
}

/// What a file of parameters gives to a tensor.
#[derive(Clone, Debug, PartialEq)]
pub enum Says {
    /// The type of the codes, scale and zero point.
    Grid(Elem, QuantParams),
    /// The range that the grid covers.
    Range([f32; 2]),
}

impl Params {
    /// Reads and checks a file of parameters.
    ///
    /// # Errors
    /// The file cannot be read or has errors.
    pub fn load(file: &Path) -> Result<Params, Diagnostics> {
        let name = file.display().to_string();
        let bytes = strait_mapped::read(file, MOST_PARAMS_BYTES).map_err(|error| error.to_string());
        let text = bytes.and_then(|bytes| strait_document::utf8("the file of parameters", bytes));
        let text = text.map_err(|error| {
            let nothing = Source::new(&name, String::new(), Path::new(""), 0);
            let message = format!("the file of parameters cannot be read: {error}");
            Diagnostic::error(codes::FILE, message).at(nothing.place(None).excerpt(""))
        })?;
        Params::parse(&name, text)
    }

    /// Like [`Params::load`], for a text that has already been read.
    ///
    /// # Errors
    /// The text has errors.
    pub fn parse(name: &str, text: String) -> Result<Params, Diagnostics> {
        let source = Source::new(name, text.clone(), Path::new(""), 0);
        let mut tree = strait_document::syntax(&source)?;
        let file: ParamsFile = strait_document::read(&mut tree)?;
        if file.migrated && file.factors.is_none() {
            let path = KeyPath::of(&["migrated"]);
            let message = "these are the parameters of tensors that the optimisation divided by factors, and the file does not say by \
                           which";
            let finding = tree.error(codes::VALUE, &path, message, "");
            let help = "compile again and take the params.toml of that artifact, which has their digest";
            return Err(finding.help(help).into());
        }
        let (mut tensors, mut findings, mut known) = (Vec::new(), Vec::new(), BTreeMap::new());
        for (index, tensor) in file.tensor.into_iter().enumerate() {
            if tensor.origin.as_deref() == Some(PROPAGATED) {
                continue;
            }
            let at = KeyPath::of(&["tensor"]).index(index);
            let place = Place { tree: &tree, at: &at };
            match place.given(&tensor) {
                Err(found) => findings.extend(found),
                Ok(given) => {
                    let key = (given.name.clone(), given.reader.clone());
                    if known.insert(key, index).is_some() {
                        findings.push(place.error("name", format!("`{}` is here a second time", given.name)));
                    } else {
                        tensors.push(given);
                    }
                }
            }
        }
        Diagnostics(findings).or(())?;
        Ok(Params {
            tensors,
            factors: file.factors.filter(|_| file.migrated),
            text,
            tree,
        })
    }

    /// An error about the factors of the file.
    pub fn factors_error(&self, code: &str, message: impl Into<String>) -> Diagnostic {
        self.tree.error(code, &KeyPath::of(&["factors"]), message, "")
    }

    /// An error about one key of the entry, or about the whole entry if it lacks the key.
    pub fn error(&self, code: &str, given: &GivenParams, key: &str, message: impl Into<String>) -> Diagnostic {
        self.tree.error(code, &given.at.clone().key(key), message, "")
    }
}

/// One entry of the file.
struct Place<'a> {
    tree: &'a Node,
    at: &'a KeyPath,
}

impl Place<'_> {
    fn error(&self, key: &str, message: impl Into<String>) -> Diagnostic {
        self.tree.error(codes::VALUE, &self.at.clone().key(key), message, "")
    }

    fn given(&self, tensor: &Tensor) -> Result<GivenParams, Vec<Diagnostic>> {
        let mut findings = Vec::new();
        let reader = match (&tensor.layer, tensor.operand) {
            (None, None) => None,
            (Some(layer), Some(operand)) => Some((layer.clone(), operand as usize)),
            _ => {
                let finding = self.error("name", format!("`{}` has one of `layer` and `operand`", tensor.name));
                findings.push(finding.help("an entry for one operand has both keys, any other entry has neither"));
                None
            }
        };
        let says = self.says(tensor).map_err(|found| findings.extend(found));
        match says {
            Ok(says) if findings.is_empty() => Ok(GivenParams {
                name: tensor.name.clone(),
                reader,
                says,
                at: self.at.clone(),
            }),
            _ => Err(findings),
        }
    }

    fn says(&self, tensor: &Tensor) -> Result<Says, Vec<Diagnostic>> {
        let range = tensor
            .range
            .as_deref()
            .and_then(|range| <[f64; 2]>::try_from(range).ok());
        if let Some([low, high]) = range
            && !(low <= high && low.abs() <= f64::from(f32::MAX) && high.abs() <= f64::from(f32::MAX))
        {
            return Err(vec![
                self.error("range", "`range` is two numbers, the smaller one first"),
            ]);
        }
        let Some(scale) = &tensor.scale else {
            let Some([low, high]) = range.filter(|_| tensor.zero_point.is_none()) else {
                let finding = self.error("name", format!("`{}` has neither `scale` nor `range`", tensor.name));
                return Err(vec![finding.help("`scale` with `zero_point`, or `range` alone")]);
            };
            return Ok(Says::Range([low as f32, high as f32]));
        };
        let mut findings = Vec::new();
        let elem = self.elem(tensor).map_err(|found| findings.extend(found.0)).ok();
        let scales = self
            .scales(scale, tensor.block.is_some())
            .map_err(|found| findings.extend(found.0))
            .ok();
        let zeros = (self.zeros(tensor.zero_point.as_ref(), elem))
            .map_err(|found| findings.extend(found.0))
            .ok();
        let (Some(elem), Some(scales), Some(zeros)) = (elem, scales, zeros) else {
            return Err(findings);
        };
        let params = self.params(tensor, scales, zeros).map_err(|found| found.0)?;
        if let Some(range) = range {
            self.agrees(range, elem, &params).map_err(|found| found.0)?;
        }
        Ok(Says::Grid(elem, params))
    }

    fn elem(&self, tensor: &Tensor) -> Result<Elem, Diagnostics> {
        let bits = tensor.bits.unwrap_or(8);
        let all = [Elem::I4, Elem::I8, Elem::I16, Elem::U4, Elem::U8, Elem::U16];
        let signed = tensor.signed.unwrap_or(true);
        let is_it = |elem: &Elem| u32::from(elem.bits()) == bits && is_signed(*elem) == signed;
        all.into_iter().find(is_it).ok_or_else(|| {
            let finding = self.error("bits", format!("there are no codes of {bits} bits"));
            finding.help("`bits` is 4, 8 or 16").into()
        })
    }

    fn scales(&self, scale: &Any, is_block: bool) -> Result<(Vec<f32>, bool), Diagnostics> {
        let (all, is_list) = list(scale);
        let number = |value: &Value| match value {
            Value::Float(number) => Some(*number as f32),
            Value::Integer(number) => Some(*number as f32),
            _ => None,
        };
        // Only the scale of a block may be negative.
        let legal = |scale: &f32| (*scale > 0.0 || (is_block && *scale < 0.0)) && scale.is_finite();
        let scales: Option<Vec<f32>> = all.iter().map(|value| number(value).filter(legal)).collect();
        match scales.filter(|scales| !scales.is_empty()) {
            Some(scales) => Ok((scales, is_list)),
            None => Err(self
                .error("scale", "a scale is a number above 0 and finite in 32 bits")
                .into()),
        }
    }

    fn zeros(&self, zero: Option<&Any>, elem: Option<Elem>) -> Result<(Vec<i32>, bool), Diagnostics> {
        let Some(zero) = zero else { return Ok((vec![0], false)) };
        let (least, most) = elem
            .and_then(Elem::integers)
            .unwrap_or((i32::MIN.into(), i32::MAX.into()));
        let (all, is_list) = list(zero);
        let number = |value: &Value| match value {
            Value::Integer(number) if (least..=most).contains(number) => i32::try_from(*number).ok(),
            _ => None,
        };
        let zeros: Option<Vec<i32>> = all.into_iter().map(number).collect();
        match zeros.filter(|zeros| !zeros.is_empty()) {
            Some(zeros) => Ok((zeros, is_list)),
            None => {
                let finding = self.error(
                    "zero_point",
                    format!("a zero point is an integer from {least} to {most}"),
                );
                Err(finding
                    .help("these are the codes of `bits` and `signed`; codes that begin at 0 have `signed = false`")
                    .into())
            }
        }
    }

    fn params(
        &self,
        tensor: &Tensor,
        (scales, many): (Vec<f32>, bool),
        (zeros, many_zeros): (Vec<i32>, bool),
    ) -> Result<QuantParams, Diagnostics> {
        if many_zeros && zeros.len() != scales.len() {
            let message = format!("there are {} scales and {} zero points", scales.len(), zeros.len());
            return Err(self.error("zero_point", message).into());
        }
        if many != tensor.axis.is_some() || (!many && (many_zeros || tensor.block.is_some())) {
            let finding = self.error("scale", "a list of scales has an `axis`, and a single scale has none");
            return Err(finding
                .help("scales for the outputs of a layer's weights have `axis = 0`")
                .into());
        }
        Ok(QuantParams {
            scale: per(scales, many),
            zero_point: per(zeros, many_zeros),
            axis: tensor.axis,
            block: tensor.block,
            codes: None,
        })
    }

    /// Checks that the range is the one that scale and zero point lead to, for all codes of the type or without the smallest.
    fn agrees(&self, [low, high]: [f64; 2], elem: Elem, params: &QuantParams) -> Result<(), Diagnostics> {
        let (least, most) = elem.integers().unwrap_or_default();
        let mut ends = [[f64::INFINITY, f64::NEG_INFINITY]; 2];
        for part in 0..params.scale.channels().unwrap_or(1) {
            let (Some(&scale), Some(&zero)) = (params.scale.get(part), params.zero_point.get(part)) else {
                continue;
            };
            for (ends, least) in ends.iter_mut().zip([least, least + 1]) {
                let real = |code: i64| f64::from(scale) * (code - i64::from(zero)) as f64;
                *ends = [ends[0].min(real(least)), ends[1].max(real(most))];
            }
        }
        let near = |[a, b]: &[f64; 2]| {
            let allowed = 1e-4 * (b - a);
            (a - low).abs() <= allowed && (b - high).abs() <= allowed
        };
        if ends.iter().any(near) {
            return Ok(());
        }
        let [[a, b], _] = ends;
        let finding = self.error("range", format!("scale and zero point give the range [{a}, {b}]"));
        Err(finding
            .help("remove `range` to keep scale and zero point, or remove `scale` and `zero_point` to keep the range")
            .into())
    }
}

fn is_signed(elem: Elem) -> bool {
    elem.integers().is_some_and(|(least, _)| least < 0)
}

/// The elements of a list, or the single value. Also returns true for a list.
fn list(any: &Any) -> (Vec<&Value>, bool) {
    match &any.0 {
        Value::Array(all) => (all.iter().collect(), true),
        one => (vec![one], false),
    }
}

fn per<T: Copy + Clone>(values: Vec<T>, many: bool) -> Per<T>
where
    Per<T>: FromIterator<T>,
{
    match (many, values.first()) {
        (false, Some(&one)) => Per::Tensor(one),
        _ => values.into_iter().collect(),
    }
}
