//! The C interface between Strait and a plugin in a shared library, as `include/strait_plugin.h` lays it down: structs,
//! status codes and versions. The header says what each of them means; this crate is the same for Rust, and both sides hold
//! sizes and offsets against the same list.
//!
//! Nothing here calls anything. A host reads what a plugin hands over by [`received`], which copies as many bytes as both
//! sides know: what is missing is 0, and a function that is missing is `None`.

mod structs;

pub use structs::*;

use std::mem::size_of;

/// Major version of the interface. Another one is refused.
pub const INTERFACE_MAJOR: u32 = 1;
/// Minor version of the interface: later ones add at the end of structs.
pub const INTERFACE_MINOR: u32 = 0;
/// The newest schema of target tables.
pub const TABLE_SCHEMA: u32 = 1;
/// Major version of IR bytes.
pub const IR_MAJOR: u32 = 2;
/// Minor version of IR bytes.
pub const IR_MINOR: u32 = 0;

/// The symbol that a plugin exports, an [`Entry`].
pub const ENTRY: &str = "strait_plugin_entry";

/// Alignment of accumulators and codes in a [`Tile`], in bytes.
pub const ALIGNMENT: usize = 64;

/// A report that is about no node.
pub const NO_NODE: u32 = u32::MAX;

/// Answer of a call.
pub type Status = i32;

macro_rules! numbers {
    ($(#[$of:meta])* $ty:ty: $($(#[$meta:meta])* $name:ident = $value:literal,)*) => {
        $($(#[$meta])* pub const $name: $ty = $value;)*
    };
}

numbers! { Status:
    /// Done.
    OK = 0,
    /// The plugin does not do this.
    UNSUPPORTED = 1,
    /// An argument makes no sense: the fault of the caller.
    INVALID_ARGUMENT = 2,
    /// A panic or an exception was caught.
    PANIC = 3,
    /// The fault of whoever answers.
    INTERNAL = 4,
    /// Memory or space is short.
    RESOURCE = 5,
    /// The versions do not fit.
    VERSION = 6,
}

numbers! { u32:
    /// Severity of a report.
    REMARK = 0,
    /// Severity of a report.
    WARNING = 1,
    /// Severity of a report: the message of a failure.
    ERROR = 2,

    /// The value of an option is a text.
    OPTION_TEXT = 0,
    /// The value of an option is a number.
    OPTION_INTEGER = 1,
    /// The value of an option is 0 or 1.
    OPTION_BOOL = 2,

    /// An optional operand that the node does not have.
    OPERAND_ABSENT = 1,
    /// A tensor of the model.
    OPERAND_CONSTANT = 2,

    /// The attribute is a number, or a truth value as 0 or 1.
    ATTRIBUTE_INT = 0,
    /// The attribute is a list of numbers.
    ATTRIBUTE_INTS = 1,
    /// The attribute is a float.
    ATTRIBUTE_FLOAT = 2,
    /// The attribute is a list of floats.
    ATTRIBUTE_FLOATS = 3,
    /// The attribute is a text.
    ATTRIBUTE_TEXT = 4,

    /// `round((x * factor + addend) / 2^shift) + zero_point`
    FAMILY_AFFINE = 0,
    /// `half_away(half_up((x * factor + addend) / 2^31) / 2^(shift - 31)) + zero_point`
    FAMILY_DOUBLING = 1,
    /// `half_even(f32(x) * scale) + zero_point`
    FAMILY_FLOAT = 2,
    /// `half_away(x * scale) + zero_point`
    FAMILY_DOUBLE = 3,
    /// `half_even(f32(x) * scale * second_scale + offset)`
    FAMILY_FLOAT_AFFINE = 4,
    /// `zero_point` and the number of thresholds that are at most x
    FAMILY_STEPS = 5,

    /// Towards minus infinity.
    ROUND_FLOOR = 0,
    /// Towards plus infinity.
    ROUND_CEIL = 1,
    /// Towards zero.
    ROUND_TOWARD_ZERO = 2,
    /// To the nearest, ties towards plus infinity.
    ROUND_HALF_UP = 3,
    /// To the nearest, ties towards minus infinity.
    ROUND_HALF_DOWN = 4,
    /// To the nearest, ties away from zero.
    ROUND_HALF_AWAY = 5,
    /// To the nearest, ties towards zero.
    ROUND_HALF_TOWARD_ZERO = 6,
    /// To the nearest, ties to the even one.
    ROUND_HALF_EVEN = 7,

    /// The channel of an accumulator is that of its row.
    CHANNELS_ALONG_ROWS = 0,
    /// The channel of an accumulator is that of its column.
    CHANNELS_ALONG_COLUMNS = 1,
}

/// A struct that the other side handed over, as far as both sides know it. `struct_size` is the end of the last field that is
/// whole on both sides; fields behind it are 0 and `None`. `None` for a null pointer, or a struct that says of itself that it is
/// smaller than its size.
///
/// # Safety
/// `from` is null, or points to a struct of the other side that begins with its size and has at least so many bytes.
#[allow(unsafe_code, reason = "the one place where a struct of the other side is read")]
pub unsafe fn received<T: Layout>(from: *const T) -> Option<T> {
    if from.is_null() {
        return None;
    }
    // SAFETY: the caller says that a size is there; the other side need not have aligned the struct as this one does.
    let size = unsafe { from.cast::<u32>().read_unaligned() };
    let size = usize::try_from(size).ok()?;
    // A field ends where the next one begins, and the last one with the struct: half a function is none.
    let ends = T::FIELDS.iter().skip(1).map(|&(_, at)| at).chain([size_of::<T>()]);
    let known = ends.filter(|&end| end <= size).max()?;
    let mut own = T::EMPTY;
    // SAFETY: both have `known` bytes, and every pattern of bits that the other side may put into integers, pointers and
    // nullable functions is one of this side's.
    unsafe { std::ptr::copy_nonoverlapping(from.cast::<u8>(), std::ptr::from_mut(&mut own).cast::<u8>(), known) };
    own.set_size(known as u32);
    Some(own)
}
