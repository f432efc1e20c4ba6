//! Opens artifacts and runs them on NumPy arrays.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use numpy::{Element, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use strait::{Elem, SessionOptions, Tensor, TensorView};

use crate::failure::of_library;

/// A compiled model.
#[pyclass(frozen, module = "strait_compiler._strait")]
pub(crate) struct Artifact(strait::Artifact);

#[pymethods]
impl Artifact {
    /// Opens the artifact in a folder.
    #[staticmethod]
    fn open(py: Python<'_>, folder: PathBuf) -> PyResult<Artifact> {
        let opened = py.detach(|| strait::Artifact::open(folder));
        opened.map(Artifact).map_err(of_library)
    }

    /// Id of the target.
    #[getter]
    fn target(&self) -> &str {
        self.0.target()
    }

    /// Prepares the model for runs: with what lies behind its cut, or for the codes at its outputs.
    fn session(&self, py: Python<'_>, threads: Option<NonZeroUsize>, codes: bool) -> PyResult<Session> {
        let options = SessionOptions {
            threads: threads.unwrap_or(NonZeroUsize::MIN),
            ..SessionOptions::default()
        };
        let session = py.detach(|| match codes {
            true => self.0.session_of_codes(&options),
            false => self.0.session_of_whole(&options),
        });
        session.map(Session).map_err(of_library)
    }
}

/// A model that is ready to run.
#[pyclass(module = "strait_compiler._strait")]
pub(crate) struct Session(strait::Session);

/// Name, NumPy's name of the type, and shape of an input or output.
type Port = (String, &'static str, Vec<usize>);

#[pymethods]
impl Session {
    /// The inputs, in the order of the model.
    fn inputs(&self) -> PyResult<Vec<Port>> {
        self.0.inputs().into_iter().map(port).collect()
    }

    /// The outputs, in the order of the model.
    fn outputs(&self) -> PyResult<Vec<Port>> {
        self.0.outputs().into_iter().map(port).collect()
    }

    /// Runs the model on one sample: arrays without gaps by the names of inputs, booleans as bytes. Arrays are read where they are, and other
    /// Python threads go on meanwhile.
    fn run<'py>(&mut self, py: Python<'py>, inputs: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyDict>> {
        let ports = self.0.inputs();
        let mut held = Vec::with_capacity(inputs.len());
        for (name, array) in inputs {
            let name: String = name.extract()?;
            let elem = ports.iter().find(|port| port.name == name).map(|port| port.elem);
            let array = array
                .cast_into::<PyUntypedArray>()
                .map_err(|_| PyTypeError::new_err(format!("`{name}` is no array")))?;
            // The run refuses names that are no inputs.
            held.push((
                name,
                Held::of(&array, elem.unwrap_or(Elem::F32))?,
                array.shape().to_vec(),
            ));
        }
        let views = held
            .iter()
            .map(|(name, held, shape)| Ok((name.as_str(), held.view(shape)?)))
            .collect::<PyResult<Vec<_>>>()?;
        let session = &mut self.0;
        let outputs = py.detach(|| session.run(&views)).map_err(of_library)?;
        let made = PyDict::new(py);
        for (name, tensor) in outputs {
            made.set_item(name, array(py, &tensor)?)?;
        }
        Ok(made)
    }
}

/// Defines the types that arrays and tensors have in common.
macro_rules! types {
    ($($elem:ident $ty:ty, $name:literal;)*) => {
        /// An array that is held while its elements are read.
        enum Held<'py> {
            $($elem(PyReadonlyArrayDyn<'py, $ty>),)*
            /// Booleans as bytes.
            Bool(PyReadonlyArrayDyn<'py, u8>),
        }

        impl<'py> Held<'py> {
            fn of(array: &Bound<'py, PyUntypedArray>, elem: Elem) -> PyResult<Held<'py>> {
                match elem {
                    $(Elem::$elem => Ok(Held::$elem(readonly(array, $name)?)),)*
                    Elem::Bool => Ok(Held::Bool(readonly(array, "uint8")?)),
                    other => Err(no_type(other)),
                }
            }

            fn view<'a>(&'a self, shape: &'a [usize]) -> PyResult<TensorView<'a>> {
                match self {
                    $(Held::$elem(held) => TensorView::new(shape, elements(held)?).map_err(of_library),)*
                    Held::Bool(held) => TensorView::from_bytes(Elem::Bool, shape, elements(held)?).map_err(of_library),
                }
            }
        }

        fn port(port: strait::Port) -> PyResult<Port> {
            let name = match port.elem {
                $(Elem::$elem => $name,)*
                Elem::Bool => "bool",
                other => return Err(no_type(other)),
            };
            Ok((port.name, name, port.shape))
        }

        fn array<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
            match tensor.elem() {
                $(Elem::$elem => copied::<$ty>(py, tensor.shape(), tensor.values().map_err(of_library)?),)*
                Elem::Bool => copied::<u8>(py, tensor.shape(), tensor.bytes()),
                other => Err(no_type(other)),
            }
        }
    };
}

types! {
    F32 f32, "float32";
    F64 f64, "float64";
    I8 i8, "int8";
    U8 u8, "uint8";
    I16 i16, "int16";
    U16 u16, "uint16";
    I32 i32, "int32";
    U32 u32, "uint32";
    I64 i64, "int64";
}

fn elements<'a, T: Element>(held: &'a PyReadonlyArrayDyn<'_, T>) -> PyResult<&'a [T]> {
    held.as_slice().map_err(|_| PyValueError::new_err("the array has gaps"))
}

fn readonly<'py, T: Element>(array: &Bound<'py, PyUntypedArray>, name: &str) -> PyResult<PyReadonlyArrayDyn<'py, T>> {
    let typed = array.cast::<PyArrayDyn<T>>();
    let typed = typed.map_err(|_| PyTypeError::new_err(format!("the array has to be of type {name}")))?;
    Ok(typed.try_readonly()?)
}

fn copied<'py, T: Element + Copy>(py: Python<'py>, shape: &[usize], elements: &[T]) -> PyResult<Bound<'py, PyAny>> {
    let flat = numpy::PyArray1::from_slice(py, elements);
    Ok(flat.reshape(shape.to_vec())?.into_any())
}

fn no_type(elem: Elem) -> PyErr {
    PyTypeError::new_err(format!("NumPy has no type for {elem}"))
}
