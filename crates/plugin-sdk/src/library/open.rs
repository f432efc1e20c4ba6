//! Implements `open` of the C interface: makes a target with values for its options.

use std::ffi::c_void;
use std::sync::Mutex;
use std::{slice, str};

use strait_kernels::Context;
use strait_plugin_interface::{Host, Layout, OPTION_BOOL, OPTION_INTEGER, OPTION_TEXT, Open, Status, received};
use strait_target::{OptionValue, Options, Registry};

use super::Exported;
use super::answer::{Failure, answer};
use crate::library::opened::Opened;

/// The target behind the host's pointer.
///
/// # Safety
/// The pointer must be null, or it must come from [`open`] and must not have been closed.
pub(super) unsafe fn opened<'a>(target: *mut c_void) -> Result<&'a Opened, Failure> {
    // SAFETY: the caller guarantees that the pointer is null or comes from `open` and has not been closed.
    unsafe { target.cast::<Opened>().as_ref() }.ok_or_else(|| Failure::argument("a call without a target"))
}

/// A slice that the host hands over.
///
/// # Safety
/// `at` must be null, or point to `count` elements that live until the call returns.
pub(super) unsafe fn items<'a, T>(at: *const T, count: u64) -> Result<&'a [T], Failure> {
    let usable = usize::try_from(count).ok().filter(|count| {
        let bytes = count.checked_mul(size_of::<T>());
        bytes.is_some_and(|bytes| isize::try_from(bytes).is_ok())
    });
    match usable {
        Some(0) => Ok(&[]),
        // SAFETY: the caller guarantees that there are `count` elements. The pointer is neither null nor unaligned, and
        // the slice is not longer than memory.
        Some(count) if !at.is_null() && at.is_aligned() => Ok(unsafe { slice::from_raw_parts(at, count) }),
        _ => Err(Failure::argument("an array that is null, unaligned or too long")),
    }
}

/// A text that the host hands over.
///
/// # Safety
/// As for [`items`].
pub(super) unsafe fn text<'a>(at: *const u8, size: u64) -> Result<&'a str, Failure> {
    // SAFETY: the caller guarantees that `at` is null or points to `size` bytes.
    str::from_utf8(unsafe { items(at, size) }?).map_err(|_| Failure::argument("a text that is not UTF-8"))
}

/// One struct of an array. If the host was built for a later version of the interface, the structs of the array may be
/// larger than this side's struct. `what` is the name of the struct in messages, with an article.
///
/// # Safety
/// The array must come from the host, and have this element.
pub(super) unsafe fn element<T: Layout>(first: *const T, index: u64, stride: u64, what: &str) -> Result<T, Failure> {
    let offset = index
        .checked_mul(stride)
        .and_then(|offset| usize::try_from(offset).ok());
    let at: *const T = match offset {
        Some(offset) if !first.is_null() => first.cast::<u8>().wrapping_add(offset).cast(),
        _ => return Err(Failure::argument("an array without elements")),
    };
    // SAFETY: the caller guarantees that the array has this element, which is a struct of the host.
    unsafe { received(at) }.ok_or_else(|| Failure::argument(format!("{what} without a size")))
}

/// The function that the library exports as [`Plugin::open`](strait_plugin_interface::Plugin).
pub(super) unsafe extern "C" fn open<T: Exported>(
    host: *const Host,
    options: *const Open,
    target: *mut *mut c_void,
) -> Status {
    answer(host, || {
        if target.is_null() {
            return Err(Failure::argument("no place for the target"));
        }
        // SAFETY: `options` is null, or it points to a struct of the host.
        let options = unsafe { given(options) }?;
        let mut registry = Registry::default();
        registry.add(&T::FACTORY).map_err(Failure::internal)?;
        let entry = registry.entries().next();
        let (_, entry) = entry.ok_or_else(|| Failure::internal("its table has no id"))?;
        let made = entry.unguarded(&options).map_err(Failure::internal)?;
        let opened = Box::new(Opened {
            target: made,
            registry,
            context: Context::detect(),
            forms: Mutex::default(),
        });
        // SAFETY: the host provides memory for one pointer.
        unsafe { target.write(Box::into_raw(opened).cast()) };
        Ok(())
    })
}

/// The values of the options that the host hands over.
///
/// # Safety
/// `open` must be null or point to a struct of the host.
unsafe fn given(open: *const Open) -> Result<Options, Failure> {
    // SAFETY: the caller guarantees that `open` is null or points to a struct of the host.
    let open = unsafe { received(open) }.ok_or_else(|| Failure::argument("no options"))?;
    let mut options = Options::new();
    for index in 0..u64::from(open.option_count) {
        // SAFETY: the host promises that there are this many options.
        let option = unsafe { element(open.options, index, open.option_stride, "an option") }?;
        // SAFETY: the texts of the option live until the call returns.
        let name = unsafe { text(option.name, option.name_size) }?;
        let value = match option.kind {
            // SAFETY: the text of the option lives until the call returns.
            OPTION_TEXT => OptionValue::String(unsafe { text(option.text, option.text_size) }?.to_owned()),
            OPTION_INTEGER => OptionValue::Integer(option.number),
            OPTION_BOOL => OptionValue::Bool(option.number != 0),
            _ => {
                return Err(Failure::argument(format!(
                    "the option `{name}` has a value of a kind that is new"
                )));
            }
        };
        options.insert(name.to_owned(), value);
    }
    Ok(options)
}
