//! Implements `requantize` of the C interface: computes the codes of a tile with the target's own loops.

use crate::library::opened::{Opened, Prepared};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::mem::offset_of;
use std::slice;
use std::sync::PoisonError;

use strait_core::Elem;
use strait_plugin_interface::{CHANNELS_ALONG_COLUMNS, CHANNELS_ALONG_ROWS, Form, Host, Status, Tile, received};
use strait_requantize::{IntType, Requantization};

use super::answer::{Failure, answer};
use super::open::{items, opened, text};

/// At most this many prepared forms are kept. Models usually have far fewer forms. If there are more, all prepared
/// forms are dropped, and they are prepared again when they are needed.
const MOST_FORMS: usize = 4096;

/// The function that the library exports as [`Plugin::requantize`](strait_plugin_interface::Plugin).
pub(super) unsafe extern "C" fn requantize(
    host: *const Host,
    target: *mut c_void,
    form: *const Form,
    tile: *const Tile,
) -> Status {
    answer(host, || {
        // SAFETY: `target` is null, or `open` made it.
        let opened = unsafe { opened(target) }?;
        // SAFETY: both are null, or they point to structs of the host.
        let (form, tile) = unsafe { (received(form), received(tile)) };
        // A form has its numbers both in arrays and as JSON. This code reads them from the JSON.
        let form = form.filter(|form| !form.family.is_null());
        let form = form.ok_or_else(|| Failure::argument("no form, or one without numbers"))?;
        let whole = |tile: &Tile| tile.struct_size as usize >= offset_of!(Tile, codes_size) + size_of::<u64>();
        let tile = tile.filter(whole).ok_or_else(|| Failure::argument("no tile"))?;
        // SAFETY: everything that form and tile point to lives until the call returns.
        unsafe { codes(opened, &form, &tile) }
    })
}

/// Computes the codes of a tile.
///
/// # Safety
/// Form and tile must come from the host.
unsafe fn codes(opened: &Opened, form: &Form, tile: &Tile) -> Result<(), Failure> {
    // SAFETY: texts and arrays of the form have the lengths that it states.
    let (row, json) = unsafe { (text(form.row, form.row_size)?, items(form.json, form.json_size)?) };
    let mut entries = opened.registry.entries();
    if !entries.any(|(_, entry)| entry.computes(row)) {
        return Err(Failure::unsupported(format!(
            "the form `{row}` is computed by the host"
        )));
    }
    let mut forms = opened.forms.lock().unwrap_or_else(PoisonError::into_inner);
    if !forms.contains_key(json) {
        if forms.len() >= MOST_FORMS {
            forms.clear();
        }
        forms.insert(json.to_vec(), read(json)?);
    }
    let prepared = forms
        .get_mut(json)
        .ok_or_else(|| Failure::internal("a form that was forgotten"))?;

    let size = |size: u64| usize::try_from(size).map_err(|_| Failure::argument("a tile that is too large"));
    let (rows, columns) = (size(tile.rows)?, size(tile.columns)?);
    let count = rows
        .checked_mul(columns)
        .ok_or_else(|| Failure::argument("a tile that is too large"))?;
    let along = match tile.channel_axis {
        CHANNELS_ALONG_ROWS => rows,
        CHANNELS_ALONG_COLUMNS => columns,
        _ => return Err(Failure::argument("channels along an axis that is new")),
    };
    if count == 0 {
        return Ok(());
    }
    let first = size(tile.first_channel.into())?;
    let channels = first..first.saturating_add(along);
    let one = prepared.form.channels().is_none();
    let loops = prepared.of(opened, if one { 0..0 } else { channels })?;
    let extents = match tile.channel_axis {
        _ if one => [1, 1, count],
        CHANNELS_ALONG_ROWS => [1, rows, columns],
        _ => [rows, columns, 1],
    };

    let bytes = count.checked_mul(Elem::from(loops.out()).size());
    let room = usize::try_from(tile.codes_size).ok();
    let bytes = bytes.filter(|&bytes| room.is_some_and(|room| bytes <= room) && isize::try_from(bytes).is_ok());
    let (Some(bytes), false) = (bytes, tile.codes.is_null()) else {
        return Err(Failure::argument("less room than codes"));
    };
    // SAFETY: the host provides this many bytes for the codes, and nobody else uses them until the call returns.
    let out = unsafe { slice::from_raw_parts_mut(tile.codes.cast::<u8>(), bytes) };
    let done = match tile.accumulator_bits {
        32 => {
            // SAFETY: the tile has `count` accumulators. As arrays of bytes they need no alignment.
            let input = unsafe { items(tile.accumulators.cast::<[u8; 4]>(), count as u64) }?;
            loops.requantize(&opened.context, extents, IntType::I32, input.as_flattened(), out)
        }
        64 => {
            // SAFETY: the tile has `count` accumulators of 64 bits.
            let input = unsafe { items(tile.accumulators.cast::<i64>(), count as u64) }?;
            loops.requantize_wide(&opened.context, extents, input, out)
        }
        bits => return Err(Failure::unsupported(format!("accumulators of {bits} bits"))),
    };
    done.map_err(Failure::internal)
}

/// Reads a form from its JSON. If the form is of a kind that only later versions know, the error says that the form is
/// not supported.
fn read(json: &[u8]) -> Result<Prepared, Failure> {
    let form: Requantization =
        serde_json::from_slice(json).map_err(|error| Failure::unsupported(format!("this form: {error}")))?;
    form.check().map_err(|error| Failure::argument(error.to_string()))?;
    Ok(Prepared {
        form,
        loops: BTreeMap::new(),
    })
}
