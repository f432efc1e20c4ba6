//! A target as a plugin in a shared library: every function of the C interface, filled from a
//! [`TargetFactory`]. [`export_plugin!`](crate::export_plugin) is the way in; nothing here is promised.

#![allow(unsafe_code, reason = "the C interface")]

mod admits;
mod answer;
mod emit;
mod open;
mod requantize;

use std::ffi::c_void;

use strait_core::bytes::{MAJOR, MINOR};
use strait_plugin_interface::Layout;
pub use strait_plugin_interface::Plugin;
use strait_plugin_interface::{INTERFACE_MAJOR, INTERFACE_MINOR, TABLE_SCHEMA};
use strait_target::TargetFactory;

/// The target that a library exports.
pub trait Exported {
    /// The same value that a program registers.
    const FACTORY: TargetFactory;
}

/// The description of a library's plugin.
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
        // Where the host computes every form, there is no model of the arithmetic.
        requantize: if T::FACTORY.has_kernels() || T::FACTORY.has_code() {
            Some(requantize::requantize)
        } else {
            None
        },
        emit: Some(emit::emit),
        // A table has said all already.
        admits: if T::FACTORY.has_code() {
            Some(admits::admits)
        } else {
            None
        },
        ..Plugin::EMPTY
    }
}

/// [`Plugin::close`].
unsafe extern "C" fn close(target: *mut c_void) {
    if target.is_null() {
        return;
    }
    // SAFETY: `open` made it, and the host does not use it any more.
    let opened = unsafe { Box::from_raw(target.cast::<open::Opened>()) };
    answer::quietly(move || drop(opened));
}

/// Makes a plugin in a shared library of a [`TargetFactory`], in a crate of the type `cdylib`:
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
/// The value is a constant: the one that the same crate, or another one, hands to `inventory::submit!`. A library has one
/// target.
///
/// - The forms for which the factory names a kernel of its own, or all where it has `code`, are computed by these loops, and
///   the host holds each code against its own. Of other forms the library says that the host computes them.
/// - [`Target::emit`](crate::Target::emit) writes its files; a graph for another writer
///   ([`Sink::graph`](crate::Sink::graph)) is not supported, since the writers are the host's.
/// - [`Target::admits`](crate::Target::admits) is asked about each node that the table admits, where the factory has `code`.
/// - [`Target::custom`](crate::Target::custom) is not asked: it is for targets that are linked. A table with a `custom` verb is
///   refused.
/// - A panic is caught and becomes the message of an error. It cannot be caught in a library that is built with
///   `panic = "abort"`, so that is an error of the compiler.
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
            // SAFETY: the name is Strait's, and a library has one entry.
            #[unsafe(no_mangle)]
            pub extern "C" fn strait_plugin_entry(
                _interface_major: u32,
                _interface_minor: u32,
            ) -> *const $crate::library::Plugin {
                // The host compares the versions, and says which side is too old.
                &PLUGIN
            }
        };
    };
}
