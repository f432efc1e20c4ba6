//! Calls by which a library shows that it computes the same in every call, on every thread and in every process, and that it
//! does nothing beside.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use strait_kernels::integer::{Axis, Tile};
use strait_requantize::Requantization;
use strait_target::Options;

use crate::PluginError;
use crate::library::{Library, NumberedForm, senseless};
use crate::wire::{Answer, Request, TileHeader};

/// The way in which a library is asked for the codes of tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trial {
    /// In one call.
    Once,
    /// Several times, with marks around accumulators and codes, and other bytes in the place of the codes each time.
    Alone,
    /// With everything in front of and behind memory that nobody may touch, and nothing but the codes in memory that may be
    /// written. What goes too far crashes.
    Fenced,
    /// All tiles at once, each on a thread of its own.
    Together {
        /// Calls of each.
        rounds: u32,
    },
    /// Some thousand times.
    Often,
}

/// Something that a library does in a call and should not. Positions are those of codes in their tile, and values the one
/// that came first and the other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Misdeed {
    /// It writes in front of the codes.
    Before,
    /// It writes behind the codes.
    Behind,
    /// It writes into the accumulators, or beside them.
    Accumulators,
    /// It writes into the form or the tile.
    Structs,
    /// It leaves a code as it is.
    Unwritten {
        /// Position.
        at: u64,
    },
    /// The next call gives another code.
    Again {
        /// Position.
        at: u64,
        /// Values.
        codes: [i32; 2],
    },
    /// A code depends on what lies around the accumulators.
    Around {
        /// Position.
        at: u64,
        /// Values.
        codes: [i32; 2],
    },
    /// Called on several threads at once, it gives another code.
    Together {
        /// Which tile.
        tile: u64,
        /// Position.
        at: u64,
        /// Values.
        codes: [i32; 2],
    },
}

/// A form as a library is told of it, once for all of its tiles.
#[derive(Debug)]
pub struct RegisteredForm(NumberedForm);

impl RegisteredForm {
    /// The form of a row of the table.
    ///
    /// # Errors
    /// A form that cannot be written, which no form of ours is.
    pub fn new(row: &str, form: &Requantization) -> Result<RegisteredForm, String> {
        NumberedForm::new(row, form)
            .map(RegisteredForm)
            .map_err(|error| error.to_string())
    }
}

/// A tile with its form and its accumulators.
#[derive(Clone, Copy, Debug)]
pub struct TileRequest<'a> {
    /// The form as the library was told of it.
    pub registered: &'a RegisteredForm,
    /// The form.
    pub form: &'a Requantization,
    /// Extents and channels.
    pub tile: Tile,
    /// True where accumulators have 64 bits.
    pub wide: bool,
    /// Accumulators, row by row, in the machine's order of bytes.
    pub accumulators: &'a [u8],
}

/// The codes of the first tile, and what else happened.
#[derive(Clone, Debug, Default)]
pub struct Tried {
    /// Codes, in the machine's order of bytes; none of calls that are made for something else.
    pub codes: Vec<u8>,
    /// Everything that should not have been done.
    pub misdeeds: Vec<Misdeed>,
}

/// The state of a process, as far as calls may change it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traces {
    /// True where the system tells.
    pub known: bool,
    /// The number of the process.
    pub process: u32,
    /// Threads.
    pub threads: u64,
    /// Files that are open.
    pub files: u64,
    /// Processes that it has started and that are there.
    pub children: u64,
    /// Bytes of memory.
    pub memory: u64,
    /// Settings that a call leaves as it finds them, by name.
    pub settings: BTreeMap<String, String>,
}

impl Library {
    /// Asks for the codes of tiles.
    ///
    /// # Errors
    /// [`PluginError`]: a library that does not compute a form, or fails; a worker that ends or hangs.
    pub fn attempt(&self, options: &Options, tiles: &[TileRequest<'_>], trial: Trial) -> Result<Tried, PluginError> {
        self.with("requantize", options, self.patience().call, |session, target, clock| {
            let mut headers = Vec::with_capacity(tiles.len());
            for request in tiles {
                session.form(&request.registered.0, clock)?;
                headers.push(request.header(target));
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

    /// The state of the library's process before the library was loaded into it, and now.
    ///
    /// # Errors
    /// A worker that does not start, ends or hangs.
    pub fn traces(&self, options: &Options) -> Result<[Traces; 2], PluginError> {
        self.with(
            "requantize",
            options,
            self.patience().call,
            |session, _, clock| match session.ask(&Request::Traces, &[], 0, clock)? {
                (Answer::Traced(traces), _) => Ok(*traces),
                _ => Err(senseless()),
            },
        )
    }

    /// The same library in a process of its own.
    ///
    /// # Errors
    /// As of [`Library::load`]; [`LoadError::Changed`](crate::LoadError::Changed) where it has another table there.
    pub fn again(&self) -> Result<Library, PluginError> {
        self.twin()
    }
}

impl TileRequest<'_> {
    fn header(&self, target: u32) -> TileHeader {
        TileHeader {
            target,
            form: self.registered.0.number(),
            out: self.form.out(),
            wide: self.wide,
            rows: self.tile.rows as u64,
            columns: self.tile.columns as u64,
            along_columns: self.tile.channels == Axis::Columns,
            first_channel: self.tile.first_channel as u32,
        }
    }
}
