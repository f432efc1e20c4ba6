//! Makes a plugin in a shared library from a [`TargetFactory`]: it implements every function of the C interface. Use
//! [`export_plugin!`](crate::export_plugin); the rest of this module may change at any time.

#![allow(unsafe_code, reason = "the C interface")]

mod admits;
mod answer;
mod emit;
mod open;
mod opened;
mod requantize;

use std::ffi::c_void;

use strait_core::bytes::{MAJOR, MINOR};
use strait_plugin_interface::Layout;
pub use strait_plugin_interface::Plugin;
use strait_plugin_interface::{INTERFACE_MAJOR, INTERFACE_MINOR, TABLE_SCHEMA};
use strait_target::TargetFactory;

/// The target that a library exports.
pub trait Exported {
    /// The target's factory. A program would register the same value.
    const FACTORY: TargetFactory;
}

/// The struct by which the library describes itself.
pub const fn plugin<T: Exported>() -> Plugin {
    let (package, table) = (T::FACTORY.origin(), T::FACTORY.table());
    Plugin {
        interface_major: INTERFACE_MAJOR,
        interface_minor: INTERFACE_MINOR,
        table_schema: TABLE_SCHEMA,
        ir_major: MAJOR as u32,
        ir_minor: MINOR as u32,
        package: package.as_ptr(),
        package_size: package.len() as u64,
        table: table.as_ptr(),
        table_size: table.len() as u64,
        open: Some(open::open::<T>),
        close: Some(close),
        // If the host computes every form, the library has no `requantize`.
        requantize: if T::FACTORY.has_kernels() || T::FACTORY.has_code() {
            Some(requantize::requantize)
        } else {
            None
        },
        emit: Some(emit::emit),
        // If the target has no code, its table alone decides about nodes.
        admits: if T::FACTORY.has_code() {
            Some(admits::admits)
        } else {
            None
        },
        ..Plugin::EMPTY
    }
}

/// The function that the library exports as [`Plugin::close`].
unsafe extern "C" fn close(target: *mut c_void) {
    if target.is_null() {
        return;
    }
    // SAFETY: `open` made the target, and the host does not use it any more.
    let opened = unsafe { Box::from_raw(target.cast::<opened::Opened>()) };
    answer::quietly(move || drop(opened));
}

/// Makes a plugin in a shared library from a [`TargetFactory`], in a crate of the type `cdylib`:
///
/// ```
/// use strait_plugin_sdk::{FormKernel, TargetFactory, export_plugin};
///
/// export_plugin! {
///     TargetFactory::new(
///         concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION")),
///         "schema = 1 # include_str!(\"../target.toml\")",
///     )
///     .kernels(&[FormKernel::host("scale31")])
/// }
/// ```
///
/// The factory must be a constant. The same constant may also be passed to `inventory::submit!`. A library has one
/// target.
///
/// - The target's own loops compute the forms for which the factory names a kernel, or all forms if the factory has
///   `code`. The host compares each code with the one that it computes itself. Other forms are left to the host.
/// - [`Target::emit`](crate::Target::emit) writes the target's files. A graph for a writer of another format
///   ([`Sink::graph`](crate::Sink::graph)) is not supported, since the writers belong to the host.
/// - [`Target::admits`](crate::Target::admits) is asked about each node that the table admits, if the factory has
///   `code`.
/// - [`Target::custom`](crate::Target::custom) is never called: only targets that are linked into a program may have
///   it. A table with a `custom` verb is refused.
/// - A panic is caught and becomes the message of an error. With `panic = "abort"` it could not be caught, so such a
///   library does not compile.
#[macro_export]
macro_rules! export_plugin {
    ($factory:expr) => {
        #[cfg(panic = "abort")]
        ::core::compile_error!(
            "a plugin with `panic = \"abort\"` would end the program at its first panic, which nobody could report: build \
             it with `panic = \"unwind\"`"
        );

        const _: () = {
            enum Exported {}

            impl $crate::library::Exported for Exported {
                const FACTORY: $crate::TargetFactory = $factory;
            }

            static PLUGIN: $crate::library::Plugin = $crate::library::plugin::<Exported>();

            #[allow(unsafe_code, reason = "the one symbol of a plugin")]
            // SAFETY: the symbol's name belongs to Strait, and a library has one entry.
            #[unsafe(no_mangle)]
            pub extern "C" fn strait_plugin_entry(
                _interface_major: u32,
                _interface_minor: u32,
            ) -> *const $crate::library::Plugin {
                // The host compares the versions and says which side is too old.
                &PLUGIN
            }
        };
    };
}
