//! Extracts the tensors and operators of a file from its flatbuffer.
//!
//! In a flatbuffer, many references may point to the same table. For example, a small file can have a million tensors
//! that all share a name of a megabyte. So the bytes of everything that is extracted are counted, and must stay below a
//! limit that normal files do not reach.

use bytes::Bytes;
use planus::ReadAsRoot;
use std::collections::{BTreeMap, BTreeSet};
use strait_core::shape::MAX_RANK;
use strait_core::{Elem, QuantParams, ReasonCode};
use strait_import::{ReadError, grid_of};

use crate::names;
use crate::schema;

/// The identifier of the format. It begins at byte 4 of a file.
pub(crate) const IDENTIFIER: &[u8; 4] = b"TFL3";

/// The only version of the format that exists.
const VERSION: i64 = 3;

/// Limit on the number of tensors of a graph, and on the number of its operators.
const MOST: usize = 1 << 20;

/// The extracted bytes may exceed the size of the file by at most this number. They can exceed it because a table that
/// several references share is extracted several times.
const SHARED: u64 = 1 << 24;

/// A tensor of the file.
#[derive(Clone, Debug)]
pub(crate) struct Tensor {
    /// The name, which is unique in the graph.
    pub(crate) name: String,
    /// The number of the element type.
    pub(crate) elem: i8,
    /// The extents; −1 stands for an unknown extent.
    pub(crate) shape: Vec<i32>,
    /// True if the shape is known. If it is not, `shape` is empty.
    pub(crate) has_shape: bool,
    /// The bytes in the file, if the tensor is a constant.
    pub(crate) data: Option<Bytes>,
    /// The grid, if the elements are codes. For floats this is `None`, even if the file gives a grid.
    pub(crate) grid: Option<QuantParams>,
    /// True if the file gives a grid, also one that is ignored.
    pub(crate) has_scale: bool,
    /// The scale that the file gives, if the tensor is a bias. The bias is read with the scale of the products instead,
    /// which may differ from this one.
    pub(crate) said: Option<f32>,
    /// True for a state that LiteRT keeps from one run to the next. Only some operators can take such a tensor.
    pub(crate) is_variable: bool,
    /// The reason why no operator can take the tensor, if that is so.
    pub(crate) refused: Option<&'static str>,
}

/// An operator of the file.
pub(crate) struct Node<'a> {
    pub(crate) view: schema::Operator<'a>,
    /// The kind of the operator, as an index in `codes`.
    pub(crate) code: usize,
    pub(crate) inputs: Vec<Option<usize>>,
    pub(crate) outputs: Vec<Option<usize>>,
}

/// The kind of an operator. Several operators may have the same kind.
#[derive(Clone, Debug)]
pub(crate) struct Code<'a> {
    /// The number of the builtin operator.
    pub(crate) number: i32,
    pub(crate) version: i32,
    /// The name of the operator, if it is a custom operator.
    pub(crate) custom: Option<&'a str>,
}

impl Code<'_> {
    /// The operator's name, such as `CONV_2D`, or the name of a custom operator.
    pub(crate) fn name(&self) -> String {
        match self.custom {
            Some(custom) => custom.chars().take(64).collect(),
            None => match usize::try_from(self.number)
                .ok()
                .and_then(|at| names::OPERATORS.get(at))
            {
                Some(name) => (*name).into(),
                None => format!("builtin operator {}", self.number),
            },
        }
    }
}

/// The main graph of a file.
pub(crate) struct Graph<'a> {
    pub(crate) tensors: Vec<Tensor>,
    pub(crate) nodes: Vec<Node<'a>>,
    pub(crate) codes: Vec<Code<'a>>,
    pub(crate) inputs: Vec<usize>,
    pub(crate) outputs: Vec<usize>,
}

/// The error for bytes that are not a model of this format.
pub(crate) fn undecoded(words: &str) -> ReadError {
    ReadError::undecoded("TFLite", words)
}

fn broken(error: planus::Error) -> ReadError {
    undecoded(&format!(
        "{}.{}: {}",
        error.source_location.type_, error.source_location.method, error.error_kind
    ))
}

/// The root table of a file.
pub(crate) fn root(bytes: &[u8]) -> Result<schema::Model<'_>, ReadError> {
    if bytes.get(4..8) != Some(IDENTIFIER) {
        return Err(undecoded("it does not begin with TFL3 at byte 4"));
    }
    let model = schema::Model::read_as_root(bytes).map_err(broken)?;
    let version = i64::from(model.version().map_err(broken)?);
    if version != VERSION {
        return Err(ReadError::Version {
            what: "schema version",
            found: version,
            range: (VERSION, VERSION),
        });
    }
    Ok(model)
}

/// How many more bytes may be extracted from a file.
struct Budget(u64);

impl Budget {
    fn take(&mut self, bytes: usize) -> Result<(), ReadError> {
        let left = self.0.checked_sub(bytes as u64);
        self.0 = left.ok_or_else(|| undecoded("its tables say the same bytes over and over"))?;
        Ok(())
    }

    /// The numbers of a vector, which may be absent.
    fn numbers<'a, T>(&mut self, vector: Option<planus::Vector<'a, T>>) -> Result<Vec<T>, ReadError>
    where
        T: planus::VectorRead<'a>,
    {
        let Some(vector) = vector else {
            return Ok(Vec::new());
        };
        self.take(vector.len().saturating_mul(size_of::<T>()))?;
        Ok(vector.into_iter().collect())
    }
}

impl<'a> Graph<'a> {
    /// Extracts the main graph from the bytes of a file.
    pub(crate) fn new(bytes: &'a Bytes) -> Result<Graph<'a>, ReadError> {
        let model = root(bytes)?;
        let mut budget = Budget((bytes.len() as u64).saturating_add(SHARED));
        let codes = codes(&model, &mut budget)?;
        let graphs = model.subgraphs().map_err(broken)?;
        let graphs = graphs.ok_or_else(|| undecoded("there is no graph in it"))?;
        let main = graphs
            .get(0)
            .ok_or_else(|| undecoded("there is no graph in it"))?
            .map_err(broken)?;
        let mut graph = Graph {
            tensors: tensors(bytes, &model, &main, &mut budget)?,
            nodes: Vec::new(),
            codes,
            inputs: Vec::new(),
            outputs: Vec::new(),
        };
        graph.inputs = graph.ports(main.inputs().map_err(broken)?, &mut budget)?;
        // Older files do not distinguish a scalar from an unknown shape. Inputs need a known shape, so the shape of an
        // input counts as known.
        for &input in &graph.inputs {
            graph.tensors[input].has_shape = true;
        }
        graph.outputs = graph.ports(main.outputs().map_err(broken)?, &mut budget)?;
        let operators = main.operators().map_err(broken)?;
        for operator in operators.into_iter().flatten() {
            budget.take(64)?;
            if graph.nodes.len() == MOST {
                return Err(too_many("operators"));
            }
            let view = operator.map_err(broken)?;
            let code = view.opcode_index().map_err(broken)? as usize;
            if code >= graph.codes.len() {
                let text = format!(
                    "an operator is of kind {code}, of which there are {}",
                    graph.codes.len()
                );
                return Err(ReadError::model(ReasonCode::Operands, text));
            }
            let node = Node {
                inputs: graph.operands(view.inputs().map_err(broken)?, &mut budget)?,
                outputs: graph.operands(view.outputs().map_err(broken)?, &mut budget)?,
                view,
                code,
            };
            graph.nodes.push(node);
        }
        graph.place_summands();
        Ok(graph)
    }

    /// Decides which grids tensors with integers of 32 bits or more have. The bias of a convolution or matrix product
    /// is on the grid of the products, whatever grid the file gives, because LiteRT adds the integers of the bias to
    /// the products unchanged. All other tensors of these types are positions and counts. If a file gives a grid for
    /// such a tensor, the grid is ignored.
    fn place_summands(&mut self) {
        let mut summands: BTreeMap<usize, Option<QuantParams>> = BTreeMap::new();
        for (position, node) in self.nodes.iter().enumerate() {
            let [x, w, bias] = match self.code(position).name().as_str() {
                "CONV_2D" | "DEPTHWISE_CONV_2D" | "FULLY_CONNECTED" | "CONV_3D" => [0, 1, 2],
                "TRANSPOSE_CONV" => [2, 1, 3],
                _ => continue,
            };
            let operand = |at: usize| node.inputs.get(at).copied().flatten();
            let grid = |at: usize| self.tensors.get(operand(at)?)?.grid.as_ref();
            if let Some(index) = operand(bias) {
                let product = grid(x).zip(grid(w)).and_then(|(x, w)| x.product(w, Some(0)));
                summands.entry(index).or_insert(product);
            }
        }
        for (index, tensor) in self.tensors.iter_mut().enumerate() {
            let wide = |grid: &QuantParams| matches!(grid.codes, Some(Elem::I32 | Elem::I64));
            if !tensor.grid.as_ref().is_some_and(wide) {
                continue;
            }
            match summands.remove(&index) {
                None => tensor.grid = None,
                Some(None) => {}
                Some(Some(product)) => {
                    let own = tensor.grid.take();
                    tensor.said = own.as_ref().and_then(QuantParams::as_tensor).map(|(scale, _)| scale);
                    tensor.grid = own.and_then(|own| Some(product.of_codes(own.codes?)));
                }
            }
        }
    }

    /// The kind of the operator at a position.
    pub(crate) fn code(&self, node: usize) -> &Code<'a> {
        &self.codes[self.nodes[node].code]
    }

    fn tensor(&self, index: i32) -> Result<usize, ReadError> {
        let found = usize::try_from(index).ok().filter(|&index| index < self.tensors.len());
        found.ok_or_else(|| {
            let text = format!("there is no tensor {index}, of {} in all", self.tensors.len());
            ReadError::model(ReasonCode::MissingTensor, text)
        })
    }

    /// The inputs or outputs of the graph.
    fn ports(&self, vector: Option<planus::Vector<'a, i32>>, budget: &mut Budget) -> Result<Vec<usize>, ReadError> {
        let numbers = budget.numbers(vector)?;
        numbers.into_iter().map(|index| self.tensor(index)).collect()
    }

    /// The operands or results of an operator. In the file, −1 stands for an operand or result that is omitted.
    fn operands(
        &self,
        vector: Option<planus::Vector<'a, i32>>,
        budget: &mut Budget,
    ) -> Result<Vec<Option<usize>>, ReadError> {
        let numbers = budget.numbers(vector)?;
        let one = |index| match index {
            -1 => Ok(None),
            index => self.tensor(index).map(Some),
        };
        numbers.into_iter().map(one).collect()
    }
}

fn too_many(things: &str) -> ReadError {
    ReadError::model(ReasonCode::Limit, format!("there are more than {MOST} {things}"))
}

fn codes<'a>(model: &schema::Model<'a>, budget: &mut Budget) -> Result<Vec<Code<'a>>, ReadError> {
    let mut codes = Vec::new();
    let all = model.operator_codes().map_err(broken)?;
    for code in all.into_iter().flatten() {
        budget.take(64)?;
        let code: schema::OperatorCode<'a> = code.map_err(broken)?;
        // Newer files have the number of an operator above 127 in a second field. Older files only have the first
        // field.
        let old = i32::from(code.deprecated_builtin_code().map_err(broken)?);
        let number = code.builtin_code().map_err(broken)?.max(old);
        let custom = code.custom_code().map_err(broken)?;
        let is_custom = names::OPERATORS.get(number as usize) == Some(&"CUSTOM");
        codes.push(Code {
            number,
            version: code.version().map_err(broken)?,
            custom: is_custom.then_some(custom.unwrap_or("")),
        });
    }
    Ok(codes)
}

/// Reads the tensors of a graph. Each tensor gets a unique name: if its name in the file is missing or already used,
/// the number of the tensor is added to the name.
fn tensors<'a>(
    bytes: &'a Bytes,
    model: &schema::Model<'a>,
    main: &schema::SubGraph<'a>,
    budget: &mut Budget,
) -> Result<Vec<Tensor>, ReadError> {
    let buffers = model.buffers().map_err(broken)?;
    let all = main.tensors().map_err(broken)?;
    let mut tensors = Vec::new();
    let mut taken = BTreeSet::new();
    for (index, view) in all.into_iter().flatten().enumerate() {
        budget.take(64)?;
        if index == MOST {
            return Err(too_many("tensors"));
        }
        let view: schema::Tensor<'a> = view.map_err(broken)?;
        let name = view.name().map_err(broken)?.unwrap_or("");
        budget.take(name.len())?;
        let mut unique = if name.is_empty() {
            format!("tensor:{index}")
        } else {
            name.to_owned()
        };
        while !taken.insert(unique.clone()) {
            unique = format!("{unique}:{index}");
        }
        let fixed = budget.numbers(view.shape().map_err(broken)?)?;
        let signature = budget.numbers(view.shape_signature().map_err(broken)?)?;
        let data = data(bytes, &view, buffers.as_ref())?;
        let has_shape = !fixed.is_empty() || view.has_rank().map_err(broken)? || data.is_some();
        let shape = match signature.len() == fixed.len() && data.is_none() {
            true => signature,
            false => fixed,
        };
        if shape.len() > MAX_RANK {
            let text = format!("`{unique}` has {} axes, at most {MAX_RANK} are read", shape.len());
            return Err(ReadError::model(ReasonCode::Limit, text));
        }
        let elem = view.type_().map_err(broken)?;
        let (grid, not_read) = grid(&view, elem, budget)?;
        let refused = if view.sparsity().map_err(broken)?.is_some() {
            Some("is sparse")
        } else if view.external_buffer().map_err(broken)? != 0 {
            Some("stands in another file")
        } else {
            not_read
        };
        tensors.push(Tensor {
            name: unique,
            elem,
            shape,
            has_shape,
            data,
            has_scale: grid.is_some(),
            grid,
            said: None,
            is_variable: view.is_variable().map_err(broken)?,
            refused,
        });
    }
    Ok(tensors)
}

/// The grid of a tensor that has codes, or the reason why we do not read the grid. A tensor without scales has no grid.
fn grid(
    view: &schema::Tensor<'_>,
    elem: i8,
    budget: &mut Budget,
) -> Result<(Option<QuantParams>, Option<&'static str>), ReadError> {
    let Some(quantization) = view.quantization().map_err(broken)? else {
        return Ok((None, None));
    };
    if quantization.details().map_err(broken)?.is_some() {
        return Ok((
            None,
            Some("has a quantization of its own kind (blocks, several axes or a custom one)"),
        ));
    }
    let scales = budget.numbers(quantization.scale().map_err(broken)?)?;
    let zeros: Vec<i64> = budget.numbers(quantization.zero_point().map_err(broken)?)?;
    let elem = names::elem(elem).ok();
    let elem = elem.filter(|elem| elem.int_type().is_some() || *elem == Elem::I64);
    let (Some(elem), false) = (elem, scales.is_empty()) else {
        return Ok((None, None));
    };
    let axis = usize::try_from(quantization.quantized_dimension().map_err(broken)?).ok();
    let is_wide = matches!(elem, Elem::I32 | Elem::I64);
    let zeros: Result<Vec<i32>, _> = zeros.into_iter().map(i32::try_from).collect();
    let zeros = zeros.ok().map(|zeros| if zeros.is_empty() { vec![0] } else { zeros });
    let zeros = zeros.filter(|zeros| zeros.len() == scales.len() || zeros == &[0]);
    match zeros.and_then(|zeros| grid_of(&scales, &zeros, elem, axis, None)) {
        Some(grid) => Ok((Some(grid), None)),
        None if is_wide => Ok((None, None)),
        None => Ok((
            None,
            Some("has a grid that is none: a scale that is not positive, or zero points that are too many or no codes"),
        )),
    }
}

/// The bytes in the file, if the tensor is a constant.
fn data<'a>(
    bytes: &'a Bytes,
    tensor: &schema::Tensor<'a>,
    buffers: Option<&planus::Vector<'a, planus::Result<schema::Buffer<'a>>>>,
) -> Result<Option<Bytes>, ReadError> {
    let index = tensor.buffer().map_err(broken)?;
    // Buffer 0 is always empty. A tensor that refers to it has no data.
    if index == 0 {
        return Ok(None);
    }
    let buffer = buffers.and_then(|buffers| buffers.get(index as usize));
    let Some(buffer) = buffer else {
        return Err(ReadError::model(
            ReasonCode::Constant,
            format!("there is no buffer {index}"),
        ));
    };
    let buffer = buffer.map_err(broken)?;
    if let Some(data) = buffer.data().map_err(broken)?
        && !data.is_empty()
    {
        return Ok(Some(bytes.slice_ref(data)));
    }
    let (offset, size) = (buffer.offset().map_err(broken)?, buffer.size().map_err(broken)?);
    // Data may be stored after the flatbuffer. The offsets 0 and 1 are placeholders that have not been replaced.
    if offset <= 1 || size == 0 {
        return Ok(None);
    }
    let range = usize::try_from(offset).ok().zip(usize::try_from(size).ok());
    let range = range.and_then(|(offset, size)| Some(offset..offset.checked_add(size)?));
    match range.filter(|range| range.end <= bytes.len()) {
        Some(range) => Ok(Some(bytes.slice(range))),
        None => {
            let text = format!("buffer {index} is {size} bytes at {offset}, of {} in all", bytes.len());
            Err(ReadError::model(ReasonCode::Constant, text))
        }
    }
}
