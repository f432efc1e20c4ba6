//! Implements methods that are not much more than an intrinsic.

/// Implements methods that consist of a single expression.
macro_rules! intrinsics {
    ($($name:ident($($args:tt)*) $(-> $result:ty)? = $value:expr;)*) => {$(
        #[inline(always)]
        unsafe fn $name($($args)*) $(-> $result)? {
            // SAFETY: the caller upholds the safety contract of this method.
            unsafe { $value }
        }
    )*};
}
pub(crate) use intrinsics;

/// Implements methods that consist of a single f32 intrinsic, between casts from and to integers.
macro_rules! floats {
    ($to:ident, $from:ident: $($name:ident($($other:ident),*) = $intrinsic:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name(self $(, $other: Self)*) -> Self {
            // SAFETY: the caller upholds the safety contract of this method.
            unsafe { $from($intrinsic($to(self) $(, $to($other))*)) }
        }
    )*};
}
pub(crate) use floats;
