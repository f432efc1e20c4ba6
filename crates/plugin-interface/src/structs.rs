//! The structs. Each begins with its size, only grows at its end, and is never compared for equality.

use std::ffi::c_void;
use std::mem::{offset_of, size_of};

use crate::Status;

/// A struct of the interface.
///
/// # Safety
/// `repr(C)`, beginning with its size as `u32`; all fields are integers, pointers or nullable functions, and all of them 0
/// is [`Layout::EMPTY`].
#[allow(unsafe_code, reason = "what reads structs of the other side relies on it")]
pub unsafe trait Layout: Sized {
    /// Its name in C.
    const NAME: &'static str;
    /// Name and offset of each field, in order.
    const FIELDS: &'static [(&'static str, usize)];
    /// Everything 0 and `None`, but for the size, which is this side's.
    const EMPTY: Self;

    /// Says how many bytes there are.
    fn set_size(&mut self, size: u32);
}

/// The value of a field that is not there.
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

/// A struct, and its layout for both sides to look at.
macro_rules! layout {
    ($(#[$meta:meta])* pub struct $name:ident = $c:literal { $($(#[$field_meta:meta])* $field:ident: $ty:ty,)* }) => {
        $(#[$meta])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $ty,)*
        }

        #[allow(unsafe_code, reason = "see the trait")]
        // SAFETY: `repr(C)`, and `Zero` is for the admitted types alone. That the size comes first is asserted below.
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

/// [`Host::report`].
pub type Report = unsafe extern "C" fn(context: *mut c_void, severity: u32, node: u32, text: *const u8, size: u64);
/// [`Emit::write`].
pub type Write =
    unsafe extern "C" fn(sink: *mut c_void, path: *const u8, path_size: u64, bytes: *const u8, size: u64) -> Status;
/// [`Plugin::open`].
pub type OpenFn = unsafe extern "C" fn(host: *const Host, options: *const Open, target: *mut *mut c_void) -> Status;
/// [`Plugin::close`].
pub type CloseFn = unsafe extern "C" fn(target: *mut c_void);
/// [`Plugin::requantize`].
pub type RequantizeFn =
    unsafe extern "C" fn(host: *const Host, target: *mut c_void, form: *const Form, tile: *const Tile) -> Status;
/// [`Plugin::emit`].
pub type EmitFn = unsafe extern "C" fn(host: *const Host, target: *mut c_void, model: *const Emit) -> Status;
/// [`Node::refuse`].
pub type Refuse =
    unsafe extern "C" fn(sink: *mut c_void, code: *const u8, code_size: u64, text: *const u8, text_size: u64);
/// [`Plugin::admits`].
pub type AdmitsFn = unsafe extern "C" fn(host: *const Host, target: *mut c_void, node: *const Node) -> Status;
/// The one symbol of a plugin, [`ENTRY`](crate::ENTRY).
pub type Entry = unsafe extern "C" fn(interface_major: u32, interface_minor: u32) -> *const Plugin;

layout! {
    /// The host, as a plugin sees it. Valid until the call returns that it is handed to.
    pub struct Host = "strait_host" {
        /// Size of the struct, as the side that filled it knows it.
        struct_size: u32,
        /// Major version of the interface.
        interface_major: u32,
        /// Minor version of the interface.
        interface_minor: u32,
        /// The newest schema of tables that the host reads.
        table_schema: u32,
        /// Major version of the IR bytes that the host writes, or that `emit` reads.
        ir_major: u32,
        /// Minor version of them.
        ir_minor: u32,
        /// For `report`.
        context: *mut c_void,
        /// Says something to whoever runs Strait: severity, node, text and its size in bytes.
        report: Option<Report>,
    }
}

layout! {
    /// An option that the table declares, with the value that it has.
    pub struct OptionEntry = "strait_option" {
        /// Size of the struct, as the side that filled it knows it.
        struct_size: u32,
        /// One of the `OPTION_` constants.
        kind: u32,
        /// Its name.
        name: *const u8,
        /// In bytes.
        name_size: u64,
        /// Where the value is a text; else null.
        text: *const u8,
        /// In bytes.
        text_size: u64,
        /// Where the value is a number; 0 or 1 where it is a truth value.
        number: i64,
    }
}

layout! {
    /// Argument of [`Plugin::open`].
    pub struct Open = "strait_open" {
        /// Size of the struct, as the side that filled it knows it.
        struct_size: u32,
        /// Number of options.
        option_count: u32,
        /// All options of the table, in the order of their names.
        options: *const OptionEntry,
        /// Bytes from one to the next.
        option_stride: u64,
    }
}

layout! {
    /// A requantization: for each channel a family and its numbers. A number that a family does not have is 0.
    pub struct Form = "strait_form" {
        /// Size of the struct, as the side that filled it knows it.
        struct_size: u32,
        /// Number of entries in each array, not 0.
        channels: u32,
        /// 0: there is one entry, and it serves all channels.
        per_channel: u32,
        /// Type of the codes.
        out: u32,
        /// The least code.
        low: i32,
        /// The largest code.
        high: i32,
        /// Name of the form's row in the table.
        row: *const u8,
        /// In bytes.
        row_size: u64,
        /// The form as JSON, for who links Strait.
        json: *const u8,
        /// In bytes.
        json_size: u64,
        /// One of the `FAMILY_` constants.
        family: *const u32,
        /// One of the `ROUND_` constants.
        rounding: *const u32,
        /// See the header.
        factor: *const i32,
        /// See the header.
        addend: *const i64,
        /// See the header.
        shift: *const u32,
        /// See the header.
        zero_point: *const i32,
        /// See the header.
        scale: *const f64,
        /// See the header.
        second_scale: *const f64,
        /// See the header.
        offset: *const f64,
        /// The least accumulator on which the form is defined; one below counts as it.
        domain_low: *const i64,
        /// The largest accumulator on which the form is defined.
        domain_high: *const i64,
        /// Those of all channels one after the other.
        thresholds: *const i32,
        /// Number of thresholds of each channel.
        threshold_count: *const u32,
    }
}

layout! {
    /// Accumulators that are to become codes.
    pub struct Tile = "strait_tile" {
        /// Size of the struct, as the side that filled it knows it.
        struct_size: u32,
        /// 32 or 64.
        accumulator_bits: u32,
        /// Number of rows.
        rows: u64,
        /// Number of columns.
        columns: u64,
        /// One of the `CHANNELS_` constants.
        channel_axis: u32,
        /// Channel of the first row or column.
        first_channel: u32,
        /// `rows * columns` of them, row by row, aligned to [`ALIGNMENT`](crate::ALIGNMENT).
        accumulators: *const c_void,
        /// Room for as many codes, aligned to [`ALIGNMENT`](crate::ALIGNMENT).
        codes: *mut c_void,
        /// In bytes.
        codes_size: u64,
    }
}

layout! {
    /// A tensor of IR bytes.
    pub struct Tensor = "strait_tensor" {
        /// Size of the struct, as the side that filled it knows it.
        struct_size: u32,
        /// Type of its elements.
        element: u32,
        /// Its shape.
        extents: *const u64,
        /// Number of extents.
        rank: u64,
        /// Its elements, little-endian, row by row.
        data: *const u8,
        /// In bytes.
        data_size: u64,
    }
}

layout! {
    /// Argument of [`Plugin::emit`].
    pub struct Emit = "strait_emit" {
        /// Size of the struct, as the side that filled it knows it.
        struct_size: u32,
        /// Number of tensors.
        tensor_count: u32,
        /// As many as the IR bytes speak of, in their order.
        tensors: *const Tensor,
        /// Bytes from one to the next.
        tensor_stride: u64,
        /// The compiled model, in the integer stage.
        ir: *const u8,
        /// In bytes.
        ir_size: u64,
        /// For `write`.
        sink: *mut c_void,
        /// Appends to a file of the artifact: its name and bytes, both with their sizes.
        write: Option<Write>,
    }
}

layout! {
    /// An operand or the result of a [`Node`].
    pub struct Operand = "strait_operand" {
        /// Size of the struct, as the side that filled it knows it.
        struct_size: u32,
        /// Some of the `OPERAND_` constants.
        flags: u32,
        /// Type of its elements.
        element: u32,
        /// Number of extents.
        rank: u32,
        /// Its shape; null where not all of it is known.
        extents: *const u64,
    }
}

layout! {
    /// An attribute of a [`Node`].
    pub struct Attribute = "strait_attribute" {
        /// Size of the struct, as the side that filled it knows it.
        struct_size: u32,
        /// One of the `ATTRIBUTE_` constants.
        kind: u32,
        /// Its name.
        key: *const u8,
        /// In bytes.
        key_size: u64,
        /// As many of `int64_t`, `float` or bytes of text.
        values: *const c_void,
        /// Number of values.
        count: u64,
    }
}

layout! {
    /// Argument of [`Plugin::admits`]: a node of the float model that the table admits.
    pub struct Node = "strait_node" {
        /// Size of the struct, as the side that filled it knows it.
        struct_size: u32,
        /// Number of operands.
        operand_count: u32,
        /// Its name in the model.
        name: *const u8,
        /// In bytes.
        name_size: u64,
        /// The word under which the table speaks of its op.
        term: *const u8,
        /// In bytes.
        term_size: u64,
        /// All operands, in order.
        operands: *const Operand,
        /// Bytes from one to the next.
        operand_stride: u64,
        /// Its first result.
        result: *const Operand,
        /// All attributes, in order.
        attributes: *const Attribute,
        /// Number of attributes.
        attribute_count: u64,
        /// Bytes from one to the next.
        attribute_stride: u64,
        /// For `refuse`.
        sink: *mut c_void,
        /// Says that the node stays on the host: a code or null, and a sentence, both with their sizes.
        refuse: Option<Refuse>,
    }
}

layout! {
    /// A plugin: one target. It and all that it points to stay where they are for ever.
    pub struct Plugin = "strait_plugin" {
        /// Size of the struct, as the side that filled it knows it.
        struct_size: u32,
        /// Major version of the interface.
        interface_major: u32,
        /// Minor version of the interface.
        interface_minor: u32,
        /// The schema of its table.
        table_schema: u32,
        /// Major version of the IR bytes that the host writes, or that `emit` reads.
        ir_major: u32,
        /// Minor version of them.
        ir_minor: u32,
        /// Name and version.
        package: *const u8,
        /// In bytes.
        package_size: u64,
        /// The target's table, TOML.
        table: *const u8,
        /// In bytes.
        table_size: u64,
        /// Makes the target with these options.
        open: Option<OpenFn>,
        /// The end of what `open` made.
        close: Option<CloseFn>,
        /// Computes codes of a tile in the chip's own way.
        requantize: Option<RequantizeFn>,
        /// Writes the target's own files.
        emit: Option<EmitFn>,
        /// Refuses a node that the table admits, or does not.
        admits: Option<AdmitsFn>,
    }
}
/// Calls a macro with every struct.
#[macro_export]
macro_rules! for_each_struct {
    ($call:ident) => {
        $call! { Host OptionEntry Open Form Tile Tensor Emit Operand Attribute Node Plugin }
    };
}

// SAFETY of sharing: a `Plugin` is constant, and what it points to stays where it is for ever.
#[allow(unsafe_code, reason = "a plugin keeps its description in a static")]
// SAFETY: see above; nothing in it is ever written.
unsafe impl Sync for Plugin {}
