//! Asks the library for the codes of tiles of accumulators.

#![allow(unsafe_code, reason = "the C interface")]

use std::ffi::c_void;

use strait_core::Elem;
use strait_plugin_interface as c;
use strait_plugin_interface::Layout;

use super::calls::{Fault, Plugin, Reports};
use super::forms::Arrays;
use super::memory::Aligned;
use crate::wire::TileHeader;

/// A tile with its accumulators. It has been checked that its form, its size and its channels fit together.
pub(super) struct CheckedTile<'a> {
    function: c::RequantizeFn,
    target: *mut c_void,
    package: &'a str,
    pub(super) arrays: &'a Arrays,
    pub(super) header: TileHeader,
    pub(super) accumulators: &'a [u8],
}

// SAFETY: the library promises that several threads may call a target; everything else is only read.
unsafe impl Sync for CheckedTile<'_> {}

impl<'a> CheckedTile<'a> {
    pub(super) fn new(
        plugin: &'a Plugin,
        header: TileHeader,
        accumulators: &'a [u8],
    ) -> Result<CheckedTile<'a>, Fault> {
        let function = plugin.plugin.requantize.ok_or_else(|| Fault {
            status: c::UNSUPPORTED,
            node: None,
            message: "it has no `requantize`".into(),
        })?;
        let target = plugin.target(header.target)?;
        let arrays = plugin.form(header.form)?;
        let along = if header.along_columns {
            header.columns
        } else {
            header.rows
        };
        let channels = arrays.channels().map_or(u64::MAX, |channels| channels as u64);
        if header.size() != Some(accumulators.len()) {
            return Err(Fault::ours("a tile of another size than its accumulators"));
        }
        if u64::from(header.first_channel).saturating_add(along) > channels {
            return Err(Fault::ours("a tile with more channels than its form"));
        }
        Ok(CheckedTile {
            function,
            target,
            package: plugin.package(),
            arrays,
            header,
            accumulators,
        })
    }

    /// Size of one code of the tile in bytes.
    pub(super) fn width(&self) -> usize {
        Elem::from(self.header.out).size()
    }

    /// Size of all codes of the tile in bytes.
    pub(super) fn room(&self) -> usize {
        self.accumulators.len() / self.header.bytes() * self.width()
    }

    /// The C struct of the tile, with the given pointers to accumulators and codes.
    pub(super) fn tile(&self, accumulators: *const u8, codes: *mut u8) -> c::Tile {
        c::Tile {
            accumulator_bits: 8 * self.header.bytes() as u32,
            rows: self.header.rows,
            columns: self.header.columns,
            channel_axis: match self.header.along_columns {
                true => c::CHANNELS_ALONG_COLUMNS,
                false => c::CHANNELS_ALONG_ROWS,
            },
            first_channel: self.header.first_channel,
            accumulators: accumulators.cast(),
            codes: codes.cast(),
            codes_size: self.room() as u64,
            ..c::Tile::EMPTY
        }
    }

    /// Calls the library's `requantize` with these structs.
    ///
    /// # Safety
    /// Both pointers must point to structs of the interface, and everything that the structs point to must live until
    /// the call returns.
    pub(super) unsafe fn call(&self, form: *const c::Form, tile: *const c::Tile) -> Result<(), Fault> {
        // SAFETY: the caller guarantees that the structs are valid until the call returns.
        Reports::new(self.package).of(|host| unsafe { (self.function)(host, self.target, form, tile) })
    }
}

impl Plugin {
    /// Computes the codes of a tile. `codes` is filled with 0 first, so that a code that the library does not write is
    /// 0.
    pub(super) fn requantize(
        &self,
        tile: TileHeader,
        accumulators: &Aligned,
        codes: &mut Aligned,
    ) -> Result<(), Fault> {
        let checked = CheckedTile::new(self, tile, accumulators.bytes())?;
        codes.resize(checked.room());
        let form = checked.arrays.form();
        let tile = checked.tile(accumulators.bytes().as_ptr(), codes.bytes_mut().as_mut_ptr());
        // SAFETY: all arguments live until the call returns, and arrays and tiles have the sizes that are stated.
        unsafe { checked.call(&raw const form, &raw const tile) }
    }
}
