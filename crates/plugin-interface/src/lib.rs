//! The C interface between Strait and a plugin in a shared library: structs, status codes and versions.
//! `include/strait_plugin.h` defines the interface and says what each part means. This crate defines the same for Rust,
//! and tests compare the sizes and offsets of both.
//!
//! This crate calls no function of a plugin. A host reads the structs of a plugin with [`received`], which copies the
//! bytes that both sides know. Fields that are missing become 0, and functions that are missing become `None`.

mod structs;

pub use structs::*;

use std::mem::size_of;

/// Major version of the interface. A side with another major version is refused.
pub const INTERFACE_MAJOR: u32 = 1;
/// Minor version of the interface. Later minor versions add fields at the end of structs.
pub const INTERFACE_MINOR: u32 = 0;
/// The schema of target tables that this version reads.
pub const TABLE_SCHEMA: u32 = 2;
/// Major version of IR bytes, the binary form in which a model is handed to a plugin.
pub const IR_MAJOR: u32 = 2;
/// Minor version of IR bytes, the binary form in which a model is handed to a plugin.
pub const IR_MINOR: u32 = 0;

/// Name of the function that a plugin exports. Its type is [`Entry`].
pub const ENTRY: &str = "strait_plugin_entry";

/// Alignment of accumulators and codes in a [`Tile`], in bytes.
pub const ALIGNMENT: usize = 64;

/// The value of `node` in a report that is not about a node.
pub const NO_NODE: u32 = u32::MAX;

/// The status code that a call returns.
pub type Status = i32;

macro_rules! numbers {
    ($(#[$of:meta])* $ty:ty: $($(#[$meta:meta])* $name:ident = $value:literal,)*) => {
        $($(#[$meta])* pub const $name: $ty = $value;)*
    };
}

numbers! { Status:
    /// The call succeeded.
    OK = 0,
    /// The plugin does not support what the host asks for.
    UNSUPPORTED = 1,
    /// An argument makes no sense. The caller is at fault.
    INVALID_ARGUMENT = 2,
    /// A panic or an exception was caught.
    PANIC = 3,
    /// The side that returns this status has a bug.
    INTERNAL = 4,
    /// There is not enough memory or disk space.
    RESOURCE = 5,
    /// The versions do not fit together.
    VERSION = 6,
}

numbers! { u32:
    /// Severity of a report: a remark.
    REMARK = 0,
    /// Severity of a report: a warning.
    WARNING = 1,
    /// Severity of a report: the message of a call that fails.
    ERROR = 2,

    /// Kind of an option: its value is a text.
    OPTION_TEXT = 0,
    /// Kind of an option: its value is a number.
    OPTION_INTEGER = 1,
    /// Kind of an option: its value is 0 or 1.
    OPTION_BOOL = 2,

    /// Flag of an operand: it is optional, and the node does not have it.
    OPERAND_ABSENT = 1,
    /// Flag of an operand: it is a constant of the model.
    OPERAND_CONSTANT = 2,

    /// Kind of an attribute: a number, or a truth value as 0 or 1.
    ATTRIBUTE_INT = 0,
    /// Kind of an attribute: a list of numbers.
    ATTRIBUTE_INTS = 1,
    /// Kind of an attribute: a float.
    ATTRIBUTE_FLOAT = 2,
    /// Kind of an attribute: a list of floats.
    ATTRIBUTE_FLOATS = 3,
    /// Kind of an attribute: a text.
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
    /// `zero_point` plus the number of thresholds that are less than or equal to x
    FAMILY_STEPS = 5,

    /// Rounds towards minus infinity.
    ROUND_FLOOR = 0,
    /// Rounds towards plus infinity.
    ROUND_CEIL = 1,
    /// Rounds towards zero.
    ROUND_TOWARD_ZERO = 2,
    /// Rounds to the nearest, ties towards plus infinity.
    ROUND_HALF_UP = 3,
    /// Rounds to the nearest, ties towards minus infinity.
    ROUND_HALF_DOWN = 4,
    /// Rounds to the nearest, ties away from zero.
    ROUND_HALF_AWAY = 5,
    /// Rounds to the nearest, ties towards zero.
    ROUND_HALF_TOWARD_ZERO = 6,
    /// Rounds to the nearest, ties to the even one.
    ROUND_HALF_EVEN = 7,

    /// All accumulators of a row belong to the same channel.
    CHANNELS_ALONG_ROWS = 0,
    /// All accumulators of a column belong to the same channel.
    CHANNELS_ALONG_COLUMNS = 1,
}

/// Copies the part of a struct of the other side that both sides know.
///
/// In the copy, `struct_size` is the size up to the end of the last field that both sides have completely. All fields
/// after that field are 0 or `None`. The result is `None` for a null pointer, and for a struct that states a size
/// smaller than its size field.
///
/// # Safety
/// `from` must be null or point to a struct of the other side. The struct must begin with its size and have at least as
/// many bytes.
#[allow(unsafe_code, reason = "the one place where a struct of the other side is read")]
pub unsafe fn received<T: Layout>(from: *const T) -> Option<T> {
    if from.is_null() {
        return None;
    }
    // SAFETY: the caller guarantees that the struct begins with a size. The size is read unaligned, since the other
    // side need not align the struct as this side does.
    let size = unsafe { from.cast::<u32>().read_unaligned() };
    let size = usize::try_from(size).ok()?;
    // A field ends where the next one begins, and the last field ends where the struct ends. A field that is only
    // partly there does not count.
    let ends = T::FIELDS.iter().skip(1).map(|&(_, at)| at).chain([size_of::<T>()]);
    let known = ends.filter(|&end| end <= size).max()?;
    let mut own = T::EMPTY;
    // SAFETY: both structs have `known` bytes. All fields are integers, pointers or nullable functions, for which every
    // bit pattern from the other side is a valid value.
    unsafe { std::ptr::copy_nonoverlapping(from.cast::<u8>(), std::ptr::from_mut(&mut own).cast::<u8>(), known) };
    own.set_size(known as u32);
    Some(own)
}
