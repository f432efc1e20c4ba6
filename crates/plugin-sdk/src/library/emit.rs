//! Implements `emit` of the C interface: lets the target write its own files.

use std::ffi::c_void;

use bytes::Bytes;
use strait_core::Module;
use strait_core::bytes::decode;
use strait_plugin_interface::{Emit, Host, INVALID_ARGUMENT, OK, Status, Write, received};
use strait_target::{Emitted, Sink, TargetError};

use super::answer::{Failure, answer};
use super::open::{element, items, opened};

/// The function that the library exports as [`Plugin::emit`](strait_plugin_interface::Plugin).
pub(super) unsafe extern "C" fn emit(host: *const Host, target: *mut c_void, model: *const Emit) -> Status {
    answer(host, || {
        // SAFETY: `target` is null, or `open` made it.
        let opened = unsafe { opened(target) }?;
        // SAFETY: `model` is null, or it points to a struct of the host.
        let model = unsafe { received(model) }.ok_or_else(|| Failure::argument("no model"))?;
        let write = model.write.ok_or_else(|| Failure::argument("no way to write"))?;
        // SAFETY: everything that the model points to lives until the call returns.
        let module = unsafe { module(&model) }?;
        let mut files = Files {
            sink: model.sink,
            write,
        };
        let id = opened.target.spec().id.to_string();
        // The host cannot tell a file that is written twice from a file that is written in pieces. So the check that no
        // file is written twice is made here.
        let mut emitted = Emitted::new(&mut files, &id);
        opened.target.emit(&module, &mut emitted)?;
        Ok(emitted.finish()?)
    })
}

/// Reads the model that the host hands over.
///
/// # Safety
/// The model must come from the host.
unsafe fn module(model: &Emit) -> Result<Module, Failure> {
    let mut tensors = Vec::new();
    for index in 0..u64::from(model.tensor_count) {
        // SAFETY: the host promises that there are this many tensors.
        let tensor = unsafe { element(model.tensors, index, model.tensor_stride, "a tensor") }?;
        // SAFETY: the host promises that the tensor has this many bytes. They are copied, since the module could
        // outlive the call.
        tensors.push(Bytes::copy_from_slice(unsafe { items(tensor.data, tensor.data_size) }?));
    }
    // SAFETY: the host promises that there are `ir_size` bytes.
    let ir = unsafe { items(model.ir, model.ir_size) }?;
    decode(ir, &|index| tensors.get(index).cloned()).map_err(|error| Failure::argument(error.to_string()))
}

/// Passes the files of the artifact on to the host.
struct Files {
    sink: *mut c_void,
    write: Write,
}

impl Sink for Files {
    fn bytes(&mut self, path: &str, content: &[u8]) -> Result<(), TargetError> {
        // SAFETY: the function and the sink are the host's, and the call to which the host has given them has not
        // returned yet.
        let status = unsafe {
            (self.write)(
                self.sink,
                path.as_ptr(),
                path.len() as u64,
                content.as_ptr(),
                content.len() as u64,
            )
        };
        let message = match status {
            OK => return Ok(()),
            INVALID_ARGUMENT => "the host refuses its name".to_owned(),
            other => format!("the host answers with status {other}"),
        };
        Err(TargetError::Sink {
            path: path.to_owned(),
            message,
        })
    }

    fn append(&mut self, path: &str, piece: &[u8]) -> Result<bool, TargetError> {
        self.bytes(path, piece).map(|()| true)
    }

    fn graph(&mut self, _: &str, format: &str, _: &Module) -> Result<(), TargetError> {
        Err(TargetError::Unsupported(format!(
            "the format `{format}` from a library"
        )))
    }
}
