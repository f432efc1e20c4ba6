//! Test calls that show whether a library computes the same codes in every call, on every thread and in every process,
//! and whether it also does something that it must not do.

use crate::conduct::{Misdeed, Traces, Trial};

use strait_kernels::integer::Tile;
use strait_requantize::Requantization;
use strait_target::Options;

use crate::PluginError;
use crate::library::{Library, RegisteredForm, senseless};
use crate::wire::{Answer, Request, TileHeader};

/// A tile, with its form and its accumulators.
#[derive(Clone, Copy, Debug)]
pub struct TileRequest<'a> {
    /// The form as it was sent to the library.
    pub registered: &'a RegisteredForm,
    /// The form, with which the codes are compared.
    pub form: &'a Requantization,
    /// Rows, columns and channels of the tile.
    pub tile: Tile,
    /// True if accumulators have 64 bits.
    pub wide: bool,
    /// The accumulators, row by row, in the byte order of the machine.
    pub accumulators: &'a [u8],
}

/// The result of test calls: the codes of the first tile, and what the library did although it must not.
#[derive(Clone, Debug, Default)]
pub struct Tried {
    /// The codes, in the byte order of the machine. Empty for calls that do not return codes.
    pub codes: Vec<u8>,
    /// What the library did although it must not.
    pub misdeeds: Vec<Misdeed>,
}

impl Library {
    /// Asks the library for the codes of tiles.
    ///
    /// # Errors
    /// [`PluginError`] if the library does not compute a form or fails, or if the worker ends or hangs.
    pub fn attempt(&self, options: &Options, tiles: &[TileRequest<'_>], trial: Trial) -> Result<Tried, PluginError> {
        self.with("requantize", options, self.patience.call, |session, target, clock| {
            let mut headers = Vec::with_capacity(tiles.len());
            for request in tiles {
                session.form(request.registered, clock)?;
                let header = TileHeader::new(
                    request.registered.number,
                    request.form.out(),
                    request.wide,
                    &request.tile,
                );
                headers.push(TileHeader { target, ..header });
            }
            let first = headers.first().filter(|_| matches!(trial, Trial::Once | Trial::Alone));
            let most = first.map_or(0, TileHeader::room);
            let body: Vec<&[u8]> = tiles.iter().map(|request| request.accumulators).collect();
            let request = Request::Try { tiles: headers, trial };
            match session.ask(&request, &body, most, clock)? {
                (Answer::Tried(misdeeds), codes) if codes.len() as u64 == most => Ok(Tried { codes, misdeeds }),
                _ => Err(senseless()),
            }
        })
    }

    /// Returns the state that the library's process had before the library was loaded, and the state that it has now.
    ///
    /// # Errors
    /// If a worker does not start, ends or hangs.
    pub fn traces(&self, options: &Options) -> Result<[Traces; 2], PluginError> {
        self.with(
            "requantize",
            options,
            self.patience.call,
            |session, _, clock| match session.ask(&Request::Traces, &[], 0, clock)? {
                (Answer::Traced(traces), _) => Ok(*traces),
                _ => Err(senseless()),
            },
        )
    }
}
