use super::constants::WIDEST;
use crate::simd::I32s;

/// How many vectors a kernel reads to compute one vector of results.
pub(crate) trait Lanes {
    /// The vectors that a kernel reads for one vector of results: `V`, or an array of `V`.
    type Of<V: I32s>: Copy;
}

/// One vector. Each lane has one element, in 32 bits.
pub(crate) struct One;
impl Lanes for One {
    type Of<V: I32s> = V;
}

/// Two vectors: the even and the odd elements of 64 bits, or the elements of two operands.
pub(crate) struct Two;
impl Lanes for Two {
    type Of<V: I32s> = [V; 2];
}

/// The elements that a kernel reads, in the order of the results.
pub(crate) trait Source: Copy {
    /// How many vectors of elements are loaded for one vector of results.
    type Lanes: Lanes;

    /// Number of elements that the source has.
    fn len(self) -> usize;

    /// The part of the source with `count` elements from index `from` on.
    fn part(self, from: usize, count: usize) -> Self;

    /// Loads the elements for one vector of results, from index `at` on.
    ///
    /// # Safety
    /// The source must have that many elements, and the machine must have the instruction set of the vectors `V`.
    unsafe fn load<V: I32s>(self, at: usize) -> <Self::Lanes as Lanes>::Of<V>;

    /// Loads `count` elements from index `at` on, at most as many as for one vector of results. All other lanes are 0.
    ///
    /// # Safety
    /// The source must have that many elements, and the machine must have the instruction set of the vectors `V`.
    unsafe fn load_first<V: I32s>(self, at: usize, count: usize) -> <Self::Lanes as Lanes>::Of<V>;
}

/// An element of an array that kernels read.
pub(crate) trait Element: Copy + Default + Send + Sync + 'static {
    /// How many vectors of elements are loaded for one vector of results.
    type Lanes: Lanes;

    /// Loads the elements for one vector of results.
    ///
    /// # Safety
    /// That many elements must be readable, and the machine must have the instruction set of the vectors `V`.
    unsafe fn load<V: I32s>(from: *const Self) -> <Self::Lanes as Lanes>::Of<V>;

    /// Loads the first `count` elements, at most as many as for one vector of results. All other lanes are 0.
    ///
    /// # Safety
    /// That many elements must be readable, and the machine must have the instruction set of the vectors `V`.
    #[inline(always)]
    unsafe fn load_first<V: I32s>(from: *const Self, count: usize) -> <Self::Lanes as Lanes>::Of<V> {
        let mut all = [Self::default(); WIDEST];
        // SAFETY: the caller upholds this function's safety contract, and the buffer has as many lanes as the widest
        // vector.
        unsafe {
            all.as_mut_ptr().copy_from_nonoverlapping(from, count);
            Self::load(all.as_ptr())
        }
    }
}

impl<T: Element> Source for &[T] {
    type Lanes = T::Lanes;

    #[inline(always)]
    fn len(self) -> usize {
        <[T]>::len(self)
    }

    #[inline(always)]
    fn part(self, from: usize, count: usize) -> Self {
        &self[from..][..count]
    }

    #[inline(always)]
    unsafe fn load<V: I32s>(self, at: usize) -> <T::Lanes as Lanes>::Of<V> {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe { T::load(self.as_ptr().add(at)) }
    }

    #[inline(always)]
    unsafe fn load_first<V: I32s>(self, at: usize, count: usize) -> <T::Lanes as Lanes>::Of<V> {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe { T::load_first(self.as_ptr().wrapping_add(at), count) }
    }
}

/// Pairs of elements from two operands of the same length.
impl<T: Element<Lanes = One>> Source for [&[T]; 2] {
    type Lanes = Two;

    #[inline(always)]
    fn len(self) -> usize {
        self[0].len().min(self[1].len())
    }

    #[inline(always)]
    fn part(self, from: usize, count: usize) -> Self {
        [self[0].part(from, count), self[1].part(from, count)]
    }

    #[inline(always)]
    unsafe fn load<V: I32s>(self, at: usize) -> [V; 2] {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe { [self[0].load(at), self[1].load(at)] }
    }

    #[inline(always)]
    unsafe fn load_first<V: I32s>(self, at: usize, count: usize) -> [V; 2] {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe { [self[0].load_first(at, count), self[1].load_first(at, count)] }
    }
}

macro_rules! elements {
    ($($t:ty: $lanes:ident = $load:ident $($load_first:ident)?;)*) => {$(
        impl Element for $t {
            type Lanes = $lanes;

            #[inline(always)]
            unsafe fn load<V: I32s>(from: *const $t) -> <$lanes as Lanes>::Of<V> {
                // SAFETY: the caller upholds the trait method's safety contract. A float is loaded as its bits.
                unsafe { V::$load(from.cast()) }
            }

            $(#[inline(always)]
            unsafe fn load_first<V: I32s>(from: *const $t, count: usize) -> V {
                // SAFETY: the caller upholds the trait method's safety contract, as above.
                unsafe { V::$load_first(from.cast(), count) }
            })?
        }
    )*};
}
elements! {
    i8: One = load_i8;
    u8: One = load_u8;
    i16: One = load_i16;
    u16: One = load_u16;
    i32: One = load load_first;
    f32: One = load load_first;
    i64: Two = load_wide;
}
