//! Tensors: bytes with an element type and a shape, owned or borrowed.

use strait_core::tensor::Element;

use crate::{Elem, Error};

/// A tensor. Its elements are stored row by row, without gaps.
///
/// ```
/// let x = strait::Tensor::new(&[1, 3], &[0.5f32, 1.0, -2.0])?;
/// assert_eq!(x.values::<f32>()?, [0.5, 1.0, -2.0]);
/// # Ok::<(), strait::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tensor(pub(crate) strait_execute::Tensor);

/// A borrowed tensor.
///
/// ```
/// let pixels = [0u8; 12];
/// let view = strait::TensorView::new(&[1, 3, 2, 2], &pixels)?;
/// assert_eq!(view.shape(), [1, 3, 2, 2]);
/// # Ok::<(), strait::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct TensorView<'a>(pub(crate) strait_execute::TensorView<'a>);

impl std::fmt::Debug for TensorView<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{:?}", self.elem(), self.shape())
    }
}

impl Tensor {
    /// Makes a tensor with a copy of these values.
    ///
    /// # Errors
    /// If the number of values does not fit the shape.
    pub fn new<T: Element>(shape: &[usize], values: &[T]) -> Result<Tensor, Error> {
        Ok(Tensor(strait_execute::Tensor::from_values(shape, values)?))
    }

    /// Makes a tensor with a copy of these bytes, which are little-endian.
    ///
    /// # Errors
    /// If the number of bytes does not fit type and shape.
    pub fn from_bytes(elem: Elem, shape: &[usize], bytes: &[u8]) -> Result<Tensor, Error> {
        Ok(Tensor(strait_execute::Tensor::from_bytes(elem, shape, bytes)?))
    }

    /// A view that borrows this tensor.
    pub fn view(&self) -> TensorView<'_> {
        TensorView(self.0.view())
    }

    /// Type of the elements.
    pub fn elem(&self) -> Elem {
        self.0.elem()
    }

    /// Shape of the tensor, outermost dimension first.
    pub fn shape(&self) -> &[usize] {
        self.0.shape()
    }

    /// The elements, row by row.
    ///
    /// # Errors
    /// If the elements have another type.
    pub fn values<T: Element>(&self) -> Result<&[T], Error> {
        Ok(self.0.values()?)
    }

    /// The elements as bytes, little-endian.
    pub fn bytes(&self) -> &[u8] {
        self.0.view().bytes()
    }
}

impl<'a> TensorView<'a> {
    /// Makes a view that borrows these values.
    ///
    /// # Errors
    /// If the number of values does not fit the shape.
    pub fn new<T: Element>(shape: &'a [usize], values: &'a [T]) -> Result<TensorView<'a>, Error> {
        Ok(TensorView(strait_execute::TensorView::of(shape, values)?))
    }

    /// Makes a view that borrows these bytes, which are little-endian.
    ///
    /// # Errors
    /// If the number of bytes does not fit type and shape.
    pub fn from_bytes(elem: Elem, shape: &'a [usize], bytes: &'a [u8]) -> Result<TensorView<'a>, Error> {
        Ok(TensorView(strait_execute::TensorView::new(elem, shape, bytes)?))
    }

    /// Type of the elements.
    pub fn elem(&self) -> Elem {
        self.0.elem()
    }

    /// Shape of the tensor, outermost dimension first.
    pub fn shape(&self) -> &'a [usize] {
        self.0.shape()
    }
}

#[cfg(feature = "ndarray")]
mod arrays {
    use ndarray::{ArrayBase, ArrayViewD, Data, Dimension};

    use super::{Element, Error, Tensor};

    impl Tensor {
        /// Makes a tensor with the elements of an array. The elements may have any order in memory.
        ///
        /// ```
        /// let array = ndarray::array![[1.0f32, 2.0], [3.0, 4.0]];
        /// let tensor = strait::Tensor::from_array(&array.t())?;
        /// assert_eq!(tensor.values::<f32>()?, [1.0, 3.0, 2.0, 4.0]);
        /// assert_eq!(tensor.array::<f32>()?, array.t().into_dyn());
        /// # Ok::<(), strait::Error>(())
        /// ```
        ///
        /// # Errors
        /// If there are more elements than fit into memory.
        pub fn from_array<T: Element, S: Data<Elem = T>, D: Dimension>(
            array: &ArrayBase<S, D>,
        ) -> Result<Tensor, Error> {
            let values = array.as_standard_layout();
            let values: Vec<T> = values.iter().copied().collect();
            Tensor::new(array.shape(), &values)
        }

        /// The elements of this tensor as an array that borrows them.
        ///
        /// # Errors
        /// If the elements have another type.
        pub fn array<T: Element>(&self) -> Result<ArrayViewD<'_, T>, Error> {
            let shaped = ArrayViewD::from_shape(self.shape(), self.values()?);
            shaped.map_err(Error::defect)
        }
    }
}
