use super::constants::WIDEST;
use crate::simd::I32s;

/// Number of vectors that hold the elements of one vector of results.
pub(crate) trait Lanes {
    /// They.
    type Of<V: I32s>: Copy;
}

/// One, with each element in 32 bits.
pub(crate) struct One;
impl Lanes for One {
    type Of<V: I32s> = V;
}

/// Two: of 64 bits, the even elements and the odd ones; or of two operands.
pub(crate) struct Two;
impl Lanes for Two {
    type Of<V: I32s> = [V; 2];
}

/// Elements that a kernel reads, in the order of its results.
pub(crate) trait Source: Copy {
    /// Their shape.
    type Lanes: Lanes;

    /// Elements.
    fn len(self) -> usize;

    /// Some of them.
    fn part(self, from: usize, count: usize) -> Self;

    /// Those from `at` on, one vector's worth.
    ///
    /// # Safety
    /// So many are there, and the machine has the vectors' instruction set.
    unsafe fn load<V: I32s>(self, at: usize) -> <Self::Lanes as Lanes>::Of<V>;

    /// `count` of them from `at` on, at most a vector's worth, and 0 in the other lanes.
    ///
    /// # Safety
    /// So many are there, and the machine has the vectors' instruction set.
    unsafe fn load_first<V: I32s>(self, at: usize, count: usize) -> <Self::Lanes as Lanes>::Of<V>;
}

/// An element of an array that kernels read.
pub(crate) trait Element: Copy + Default + Send + Sync + 'static {
    /// Their shape.
    type Lanes: Lanes;

    /// One vector's worth.
    ///
    /// # Safety
    /// So many are readable, and the machine has the vectors' instruction set.
    unsafe fn load<V: I32s>(from: *const Self) -> <Self::Lanes as Lanes>::Of<V>;

    /// The first `count`, at most one vector's worth, and 0 in the other lanes.
    ///
    /// # Safety
    /// So many are readable, and the machine has the vectors' instruction set.
    #[inline(always)]
    unsafe fn load_first<V: I32s>(from: *const Self, count: usize) -> <Self::Lanes as Lanes>::Of<V> {
        let mut all = [Self::default(); WIDEST];
        // SAFETY: the caller's promise; the widest vector has no more lanes than there is room for.
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
        // SAFETY: the caller's promise.
        unsafe { T::load(self.as_ptr().add(at)) }
    }

    #[inline(always)]
    unsafe fn load_first<V: I32s>(self, at: usize, count: usize) -> <T::Lanes as Lanes>::Of<V> {
        // SAFETY: the caller's promise.
        unsafe { T::load_first(self.as_ptr().wrapping_add(at), count) }
    }
}

/// Two operands of the same length.
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
        // SAFETY: the caller's promise.
        unsafe { [self[0].load(at), self[1].load(at)] }
    }

    #[inline(always)]
    unsafe fn load_first<V: I32s>(self, at: usize, count: usize) -> [V; 2] {
        // SAFETY: the caller's promise.
        unsafe { [self[0].load_first(at, count), self[1].load_first(at, count)] }
    }
}

macro_rules! elements {
    ($($t:ty: $lanes:ident = $load:ident $($load_first:ident)?;)*) => {$(
        impl Element for $t {
            type Lanes = $lanes;

            #[inline(always)]
            unsafe fn load<V: I32s>(from: *const $t) -> <$lanes as Lanes>::Of<V> {
                // SAFETY: the caller's promise; a float is loaded as the bits that it is.
                unsafe { V::$load(from.cast()) }
            }

            $(#[inline(always)]
            unsafe fn load_first<V: I32s>(from: *const $t, count: usize) -> V {
                // SAFETY: as above.
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
