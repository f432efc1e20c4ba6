//! The structs of the interface. Each begins with its size, and later versions only add fields at its end.

use std::ffi::c_void;
use std::mem::{offset_of, size_of};

use crate::Status;

/// A struct of the interface.
///
/// # Safety
/// The struct must be `repr(C)` and begin with its size as `u32`. All fields must be integers, pointers or nullable
/// functions, and setting all of them to 0 must give [`Layout::EMPTY`].
#[allow(unsafe_code, reason = "what reads structs of the other side relies on it")]
pub unsafe trait Layout: Sized {
    /// Name of the struct in C.
    const NAME: &'static str;
    /// Name and offset of each field, in order.
    const FIELDS: &'static [(&'static str, usize)];
    /// The struct with all fields 0 or `None`, except its size field, which has the size of the struct in this version.
    const EMPTY: Self;

    /// Sets the struct's size in bytes.
    fn set_size(&mut self, size: u32);
}

/// The types that fields of structs can have. `ZERO` is the value of a field that the other side does not have.
trait Zero {
    const ZERO: Self;
}

macro_rules! zero {
    ($($ty:ty = $zero:expr;)*) => { $(impl Zero for $ty { const ZERO: Self = $zero; })* };
}
zero! {
    u32 = 0;
    i32 = 0;
    u64 = 0;
    i64 = 0;
}
impl<T> Zero for *const T {
    const ZERO: Self = std::ptr::null();
}
impl<T> Zero for *mut T {
    const ZERO: Self = std::ptr::null_mut();
}
impl<T> Zero for Option<T> {
    const ZERO: Self = None;
}

/// Declares a struct together with its layout, so that a test can compare it with the layout in C.
macro_rules! layout {
    ($(#[$meta:meta])* pub struct $name:ident = $c:literal { $($(#[$field_meta:meta])* $field:ident: $ty:ty,)* }) => {
        $(#[$meta])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $ty,)*
        }

        #[allow(unsafe_code, reason = "see the trait")]
        // SAFETY: the struct is `repr(C)`, and only the permitted types implement `Zero`. It is asserted below that the
        // size is the first field.
        unsafe impl Layout for $name {
            const NAME: &'static str = $c;
            const FIELDS: &'static [(&'static str, usize)] = &[$((stringify!($field), offset_of!($name, $field)),)*];
            const EMPTY: $name = $name {
                struct_size: size_of::<$name>() as u32,
                ..$name { $($field: Zero::ZERO,)* }
            };

            fn set_size(&mut self, size: u32) {
                self.struct_size = size;
            }
        }

        const _: () = assert!(offset_of!($name, struct_size) == 0);
    };
}

/// Type of [`Host::report`].
pub type Report = unsafe extern "C" fn(context: *mut c_void, severity: u32, node: u32, text: *const u8, size: u64);
/// Type of [`Emit::write`].
pub type Write =
    unsafe extern "C" fn(sink: *mut c_void, path: *const u8, path_size: u64, bytes: *const u8, size: u64) -> Status;
/// Type of [`Plugin::open`].
pub type OpenFn = unsafe extern "C" fn(host: *const Host, options: *const Open, target: *mut *mut c_void) -> Status;
/// Type of [`Plugin::close`].
pub type CloseFn = unsafe extern "C" fn(target: *mut c_void);
/// Type of [`Plugin::requantize`].
pub type RequantizeFn =
    unsafe extern "C" fn(host: *const Host, target: *mut c_void, form: *const Form, tile: *const Tile) -> Status;
/// Type of [`Plugin::emit`].
pub type EmitFn = unsafe extern "C" fn(host: *const Host, target: *mut c_void, model: *const Emit) -> Status;
/// Type of [`Node::refuse`].
pub type Refuse =
    unsafe extern "C" fn(sink: *mut c_void, code: *const u8, code_size: u64, text: *const u8, text_size: u64);
/// Type of [`Plugin::admits`].
pub type AdmitsFn = unsafe extern "C" fn(host: *const Host, target: *mut c_void, node: *const Node) -> Status;
/// Type of the one function that a plugin exports, [`ENTRY`](crate::ENTRY).
pub type Entry = unsafe extern "C" fn(interface_major: u32, interface_minor: u32) -> *const Plugin;

layout! {
    /// The host as a plugin sees it. The struct is valid until the call to which it was given returns.
    pub struct Host = "strait_host" {
        /// Size of the struct in bytes, in the version of the interface for which the side that filled it was built.
        struct_size: u32,
        /// Major version of the interface.
        interface_major: u32,
        /// Minor version of the interface.
        interface_minor: u32,
        /// The newest schema of tables that the host reads.
        table_schema: u32,
        /// Major version of the IR bytes that the host writes, or that `emit` reads.
        ir_major: u32,
        /// Minor version of the IR bytes that the host writes, or that `emit` reads.
        ir_minor: u32,
        /// Pointer that the plugin passes to `report`.
        context: *mut c_void,
        /// Shows a message to the user of Strait. The arguments are the context, the severity, the node, the text and
        /// its size in bytes.
        report: Option<Report>,
    }
}

layout! {
    /// An option of the target's table, with its value.
    pub struct OptionEntry = "strait_option" {
        /// Size of the struct in bytes, in the version of the interface for which the side that filled it was built.
        struct_size: u32,
        /// Kind of the value: one of the `OPTION_` constants.
        kind: u32,
        /// Name of the option.
        name: *const u8,
        /// Size of the name in bytes.
        name_size: u64,
        /// The value if it is a text; otherwise null.
        text: *const u8,
        /// Size of the text in bytes.
        text_size: u64,
        /// The value if it is a number, or 0 or 1 if it is a truth value.
        number: i64,
    }
}

layout! {
    /// Argument of [`Plugin::open`]: the values of the target's options.
    pub struct Open = "strait_open" {
        /// Size of the struct in bytes, in the version of the interface for which the side that filled it was built.
        struct_size: u32,
        /// Number of options.
        option_count: u32,
        /// All options of the table, sorted by name.
        options: *const OptionEntry,
        /// Distance in bytes from one option to the next.
        option_stride: u64,
    }
}

layout! {
    /// A requantization: for each channel, a family of arithmetic and the numbers in its formula. Numbers that a family
    /// does not use are 0.
    pub struct Form = "strait_form" {
        /// Size of the struct in bytes, in the version of the interface for which the side that filled it was built.
        struct_size: u32,
        /// Number of entries in each array; at least 1.
        channels: u32,
        /// 1 if each channel has its own entry. 0 if there is one entry for all channels.
        per_channel: u32,
        /// Type of the codes.
        out: u32,
        /// Smallest code.
        low: i32,
        /// Largest code.
        high: i32,
        /// Name of the form's row in the table.
        row: *const u8,
        /// Size of the name in bytes.
        row_size: u64,
        /// The form as JSON, for plugins that link Strait.
        json: *const u8,
        /// Size of the JSON in bytes.
        json_size: u64,
        /// Array of channel entries: the family of arithmetic, one of the `FAMILY_` constants.
        family: *const u32,
        /// Array of channel entries: the rounding, one of the `ROUND_` constants.
        rounding: *const u32,
        /// Array of channel entries: the factor in the family's formula.
        factor: *const i32,
        /// Array of channel entries: the addend in the family's formula.
        addend: *const i64,
        /// Array of channel entries: the shift in the family's formula.
        shift: *const u32,
        /// Array of channel entries: the zero point in the family's formula.
        zero_point: *const i32,
        /// Array of channel entries: the scale in the family's formula.
        scale: *const f64,
        /// Array of channel entries: the second scale in the family's formula.
        second_scale: *const f64,
        /// Array of channel entries: the offset in the family's formula.
        offset: *const f64,
        /// Array of channel entries: the smallest accumulator for which the form is defined. All smaller accumulators
        /// have the same result as this one.
        domain_low: *const i64,
        /// Array of channel entries: the largest accumulator for which the form is defined. All larger accumulators
        /// have the same result as this one.
        domain_high: *const i64,
        /// The thresholds of all channels, one channel after the other.
        thresholds: *const i32,
        /// Array of channel entries: the number of thresholds.
        threshold_count: *const u32,
    }
}

layout! {
    /// Accumulators that are to be requantized.
    pub struct Tile = "strait_tile" {
        /// Size of the struct in bytes, in the version of the interface for which the side that filled it was built.
        struct_size: u32,
        /// Size of one accumulator in bits: 32 or 64.
        accumulator_bits: u32,
        /// Number of rows of the tile.
        rows: u64,
        /// Number of columns of the tile.
        columns: u64,
        /// Axis of the channels: one of the `CHANNELS_` constants.
        channel_axis: u32,
        /// Channel of the first row or column.
        first_channel: u32,
        /// The accumulators: `rows * columns` of them, row by row, aligned to [`ALIGNMENT`](crate::ALIGNMENT).
        accumulators: *const c_void,
        /// Memory for one code per accumulator, aligned to [`ALIGNMENT`](crate::ALIGNMENT).
        codes: *mut c_void,
        /// Size of the memory for codes, in bytes.
        codes_size: u64,
    }
}

layout! {
    /// A tensor that belongs to IR bytes.
    pub struct Tensor = "strait_tensor" {
        /// Size of the struct in bytes, in the version of the interface for which the side that filled it was built.
        struct_size: u32,
        /// Type of the tensor's elements.
        element: u32,
        /// Shape of the tensor.
        extents: *const u64,
        /// Number of dimensions.
        rank: u64,
        /// Elements of the tensor, little-endian, row by row.
        data: *const u8,
        /// Size of the elements in bytes.
        data_size: u64,
    }
}

layout! {
    /// Argument of [`Plugin::emit`]: a compiled model.
    pub struct Emit = "strait_emit" {
        /// Size of the struct in bytes, in the version of the interface for which the side that filled it was built.
        struct_size: u32,
        /// Number of tensors.
        tensor_count: u32,
        /// The tensors of the model, in the order in which the IR bytes refer to them.
        tensors: *const Tensor,
        /// Distance in bytes from one tensor to the next.
        tensor_stride: u64,
        /// The compiled model in the integer stage, as IR bytes.
        ir: *const u8,
        /// Size of the IR bytes.
        ir_size: u64,
        /// Pointer that the plugin passes to `write`.
        sink: *mut c_void,
        /// Appends bytes to a file of the artifact. The arguments are the sink, the file's name with its size, and the
        /// bytes with their size.
        write: Option<Write>,
    }
}

layout! {
    /// An operand or the result of a [`Node`].
    pub struct Operand = "strait_operand" {
        /// Size of the struct in bytes, in the version of the interface for which the side that filled it was built.
        struct_size: u32,
        /// Any of the `OPERAND_` constants, combined.
        flags: u32,
        /// Type of the elements.
        element: u32,
        /// Number of dimensions.
        rank: u32,
        /// Shape of the operand; null if any dimension is unknown.
        extents: *const u64,
    }
}

layout! {
    /// An attribute of a [`Node`].
    pub struct Attribute = "strait_attribute" {
        /// Size of the struct in bytes, in the version of the interface for which the side that filled it was built.
        struct_size: u32,
        /// Kind of the value: one of the `ATTRIBUTE_` constants.
        kind: u32,
        /// Name of the attribute.
        key: *const u8,
        /// Size of the name in bytes.
        key_size: u64,
        /// The values, as `int64_t`, `float` or bytes of text.
        values: *const c_void,
        /// Number of values.
        count: u64,
    }
}

layout! {
    /// Argument of [`Plugin::admits`]: a node of the float model that is within the limits of the table.
    pub struct Node = "strait_node" {
        /// Size of the struct in bytes, in the version of the interface for which the side that filled it was built.
        struct_size: u32,
        /// Number of operands.
        operand_count: u32,
        /// Name of the node in the model.
        name: *const u8,
        /// Size of the name in bytes.
        name_size: u64,
        /// The word by which target tables call the node's op.
        term: *const u8,
        /// Size of the word in bytes.
        term_size: u64,
        /// All operands, in order.
        operands: *const Operand,
        /// Distance in bytes from one operand to the next.
        operand_stride: u64,
        /// The node's first result.
        result: *const Operand,
        /// All attributes, in order.
        attributes: *const Attribute,
        /// Number of attributes.
        attribute_count: u64,
        /// Distance in bytes from one attribute to the next.
        attribute_stride: u64,
        /// Pointer that the plugin passes to `refuse`.
        sink: *mut c_void,
        /// Says that the node must run on the host. The arguments are the sink, a code with its size, and a sentence
        /// with its size. The code may be null.
        refuse: Option<Refuse>,
    }
}

layout! {
    /// A plugin, which provides one target. The struct and everything that it points to must stay valid for as long as
    /// the process runs.
    pub struct Plugin = "strait_plugin" {
        /// Size of the struct in bytes, in the version of the interface for which the side that filled it was built.
        struct_size: u32,
        /// Major version of the interface.
        interface_major: u32,
        /// Minor version of the interface.
        interface_minor: u32,
        /// Schema of the plugin's table.
        table_schema: u32,
        /// Major version of the IR bytes that the host writes, or that `emit` reads.
        ir_major: u32,
        /// Minor version of the IR bytes that the host writes, or that `emit` reads.
        ir_minor: u32,
        /// Name and version of the package.
        package: *const u8,
        /// Size of the text in `package`, in bytes.
        package_size: u64,
        /// The target's table, in TOML.
        table: *const u8,
        /// Size of the table in bytes.
        table_size: u64,
        /// Makes the target, with the given values of its options.
        open: Option<OpenFn>,
        /// Called when the target that `open` made is no longer used.
        close: Option<CloseFn>,
        /// Computes the codes of a tile as the chip does.
        requantize: Option<RequantizeFn>,
        /// Writes the target's own files.
        emit: Option<EmitFn>,
        /// Decides about a node that is within the limits of the table, and may refuse it.
        admits: Option<AdmitsFn>,
    }
}
/// Calls a macro with the name of every struct.
#[macro_export]
macro_rules! for_each_struct {
    ($call:ident) => {
        $call! { Host OptionEntry Open Form Tile Tensor Emit Operand Attribute Node Plugin }
    };
}

#[allow(unsafe_code, reason = "a plugin keeps its description in a static")]
// SAFETY: a `Plugin` is constant, and so is everything that it points to, which stays valid for as long as the process
// runs.
unsafe impl Sync for Plugin {}
