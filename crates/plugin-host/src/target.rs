//! A target that a library provides.

use std::sync::Arc;

use strait_core::{Elem, Module, Reason, bytes};
use strait_kernels::KernelError;
use strait_kernels::integer::{Axis, Loops, ThroughTile, Tile, TileKernel};
use strait_plugin_interface::UNSUPPORTED;
use strait_requantize::Requantization;
use strait_target::{
    Candidate, Emitted, Entry, LibraryOrigin, Options, Origin, Registry, RegistryError, Sink, TableTarget, Target,
    TargetError, TargetSpec,
};

use crate::held;
use crate::library::RegisteredForm;
use crate::node::NodeHeader;
use crate::wire::{TensorHeader, TileHeader};
use crate::{Library, PluginError};

/// The target of a library, with values for its options. When a model runs, Strait's own loops compute the forms of the
/// library's table. The library may also have its own model of its chip's arithmetic.
pub struct LibraryTarget {
    table: TableTarget,
    library: Arc<Library>,
    options: Options,
}

/// Adds the target of a library to a registry.
///
/// # Errors
/// If the table is wrong or asks for something that libraries cannot provide, or if the id is already taken.
pub fn register(registry: &mut Registry, library: Arc<Library>) -> Result<&Entry, RegistryError> {
    let origin = Origin::Library(Box::new(LibraryOrigin {
        package: library.description().package.clone(),
        path: library.path().display().to_string(),
        sha256: library.sha256().to_owned(),
        interface: library.description().interface,
    }));
    let table = library.table().to_owned();
    let emits = library.description().emits.is_some();
    let make = move |table: TableTarget| {
        let options = table.spec().chosen.clone();
        let target = LibraryTarget {
            table,
            library: library.clone(),
            options,
        };
        let opened = target.library.open(&target.options);
        opened.map_err(|error| target.failed(error))?;
        Ok(Arc::new(target) as Arc<dyn Target>)
    };
    registry.add_library(origin, table, emits, Arc::new(make))
}

impl LibraryTarget {
    fn failed(&self, message: impl ToString) -> TargetError {
        TargetError::Plugin {
            target: self.table.spec().id.to_string(),
            message: message.to_string(),
        }
    }

    fn kernel(&self, row: &str, error: KernelError) -> TargetError {
        TargetError::Kernel {
            target: self.spec().id.to_string(),
            form: row.to_owned(),
            error,
        }
    }

    /// Prepares a form for computation by the library. Also returns the name of the form's row in the table. Returns
    /// `None` if the library does not requantize at all, or if no row of the table accepts the form.
    fn tiles(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Option<(&str, Tiles)>, TargetError> {
        if !self.library.description().requantizes {
            return Ok(None);
        }
        let mut rows = self.spec().form.iter();
        let Some((row, _)) = rows.find(|(_, row)| row.accepts(form, clamp).is_ok()) else {
            return Ok(None);
        };
        let known =
            RegisteredForm::new(row, form).map_err(|message| self.kernel(row, KernelError::Requantization(message)))?;
        let mut tiles = Tiles {
            library: self.library.clone(),
            options: self.options.clone(),
            form: known,
            widths: [true; 2],
        };
        tiles.widths = tiles.probe(form).map_err(|error| self.failed(error))?;
        Ok(Some((row, tiles)))
    }
}

impl Target for LibraryTarget {
    fn spec(&self) -> &TargetSpec {
        self.table.spec()
    }

    fn loops(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, TargetError> {
        self.table.loops(form, clamp)
    }

    fn own_loops(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Option<Box<dyn Loops>>, TargetError> {
        // If the library does not compute the form, the host computes it.
        let tiles = self.tiles(form, clamp)?.filter(|(_, tiles)| tiles.widths != [false; 2]);
        let Some((row, tiles)) = tiles else {
            return Ok(None);
        };
        let loops = ThroughTile::new(tiles, form.clone(), clamp).map_err(|error| self.kernel(row, error))?;
        Ok(Some(Box::new(loops)))
    }

    fn models(&self, form: &Requantization, clamp: Option<[i32; 2]>, wide: bool) -> Result<Option<bool>, TargetError> {
        if !self.library.description().requantizes {
            return Ok(None);
        }
        let tiles = self.tiles(form, clamp)?;
        Ok(Some(tiles.is_some_and(|(_, tiles)| tiles.widths[usize::from(wide)])))
    }

    fn admits(&self, node: &Candidate<'_>) -> Result<(), TargetError> {
        let reasons = self.refusals(std::slice::from_ref(node))?;
        match reasons.into_iter().flatten().next() {
            Some(reason) => Err(reason.into()),
            None => Ok(()),
        }
    }

    fn refusals(&self, nodes: &[Candidate<'_>]) -> Result<Vec<Option<Reason>>, TargetError> {
        if !self.library.description().admits {
            return Ok(vec![None; nodes.len()]);
        }
        let headers: Vec<NodeHeader> = nodes.iter().map(NodeHeader::from).collect();
        self.library
            .refusals(&self.options, &headers)
            .map_err(|(at, error)| match nodes.get(at) {
                Some(node) => self.failed(format!("of the node `{}`: {error}", node.name())),
                None => self.failed(error),
            })
    }

    fn emit(&self, module: &Module, sink: &mut dyn Sink) -> Result<(), TargetError> {
        let own = [bytes::MAJOR, bytes::MINOR].map(u32::from);
        match self.library.description().emits {
            None => return Err(TargetError::Unsupported("the format `package`".into())),
            Some([major, minor]) if major != own[0] => {
                return Err(self.failed(format!(
                    "its writer reads IR bytes of version {major}.{minor}, and these are {}.{}",
                    own[0], own[1]
                )));
            }
            Some(_) => {}
        }
        let encoded = bytes::encode(module).map_err(|error| self.failed(error))?;
        let headers = encoded.tensors.iter().map(|tensor| TensorHeader {
            element: tensor.elem().tag(),
            extents: tensor.shape().to_vec(),
            size: tensor.bytes().len() as u64,
        });
        let data: Vec<&[u8]> = encoded.tensors.iter().map(|tensor| &tensor.bytes()[..]).collect();
        let id = self.spec().id.to_string();
        let model = (&encoded.ir[..], headers.collect(), &data[..]);
        let mut files = Emitted::new(sink, &id);
        let emitted = self.library.emit(&self.options, model, &mut files);
        emitted.map_err(|error| self.failed(named(error, module)))??;
        files.finish()
    }
}

/// Adds the name of the node to an error that has only the index of the node.
fn named(error: PluginError, module: &Module) -> PluginError {
    match error {
        PluginError::Failed {
            plugin,
            call,
            node: Some(position),
            status,
            message,
        } => {
            let graph = module.main();
            let order = graph.topological_order().unwrap_or_default();
            let node = order.get(position as usize).and_then(|&id| graph.node(id));
            let name = node.map_or_else(
                || format!("node {position}"),
                |node| format!("`{}`", module.name(node.name)),
            );
            PluginError::Failed {
                plugin,
                call,
                node: None,
                status,
                message: format!("{name}: {message}"),
            }
        }
        error => error,
    }
}

/// The number of accumulators for which one call computes codes. Sending a call to another process and back takes as
/// long as copying some ten thousand accumulators.
const PIECE: usize = 1 << 16;

/// One form that the library computes, tile by tile.
struct Tiles {
    library: Arc<Library>,
    options: Options,
    form: RegisteredForm,
    /// Whether the library computes the form for accumulators of 32 bits, and whether it does so for accumulators of 64
    /// bits. If the library does not compute one of these widths, Strait evaluates the form for that width.
    widths: [bool; 2],
}

impl Tiles {
    /// Finds out whether the library computes the form on accumulators of 32 and of 64 bits, by asking for one tile
    /// with an accumulator of each channel. If the library computes this tile, it also has to compute all later tiles
    /// of the form.
    fn probe(&self, form: &Requantization) -> Result<[bool; 2], PluginError> {
        let channels = form.channels().unwrap_or(1);
        let nearest = |channel| {
            let (low, high) = form.domain(channel).into_inner();
            0i64.max(low).min(high)
        };
        let accumulators: Vec<i64> = (0..channels).map(nearest).collect();
        let tile = Tile {
            rows: channels,
            columns: 1,
            channels: Axis::Rows,
            first_channel: 0,
        };
        let mut codes = vec![0; channels * Elem::from(form.out()).size()];
        let mut computes = |wide, bytes: &[u8]| match self.call(form, &tile, wide, bytes, &mut codes) {
            Ok(()) => Ok(true),
            Err(PluginError::Failed {
                call: "requantize",
                status: UNSUPPORTED,
                ..
            }) => Ok(false),
            Err(error) => Err(error),
        };
        let narrow = |&x: &i64| x.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
        let narrow: Vec<i32> = accumulators.iter().map(narrow).collect();
        Ok([
            computes(false, bytemuck::cast_slice(&narrow))?,
            computes(true, bytemuck::cast_slice(&accumulators))?,
        ])
    }

    fn call(
        &self,
        form: &Requantization,
        tile: &Tile,
        wide: bool,
        accumulators: &[u8],
        codes: &mut [u8],
    ) -> Result<(), PluginError> {
        let header = TileHeader::new(self.form.number, form.out(), wide, tile);
        self.library
            .requantize(&self.options, &self.form, header, accumulators, codes)
    }

    /// Computes the codes of a tile. If the library's codes are to be checked, compares them with those that the form
    /// computes.
    fn codes<T: bytemuck::NoUninit + Into<i64>>(
        &self,
        form: &Requantization,
        tile: &Tile,
        accumulators: &[T],
        codes: &mut [u8],
    ) -> Result<(), KernelError> {
        let wide = size_of::<T>() == size_of::<i64>();
        if !self.widths[usize::from(wide)] {
            return tile.defined(form, accumulators, codes);
        }
        let done = self.call(form, tile, wide, bytemuck::cast_slice(accumulators), codes);
        done.map_err(|error| stopped(&error))?;
        let differs = self.library.is_held();
        let differs = differs.then(|| held::differing(form, &self.form.row, tile, accumulators, codes));
        match differs.flatten() {
            Some(text) => {
                let package = &self.library.description().package;
                Err(KernelError::Tile(format!("the plugin {package}: {text}")))
            }
            None => Ok(()),
        }
    }
}

impl TileKernel for Tiles {
    fn piece(&self) -> usize {
        PIECE
    }

    fn run(&self, form: &Requantization, tile: &Tile, accumulators: &[i32], out: &mut [u8]) -> Result<(), KernelError> {
        self.codes(form, tile, accumulators, out)
    }

    fn run_wide(
        &self,
        form: &Requantization,
        tile: &Tile,
        accumulators: &[i64],
        out: &mut [u8],
    ) -> Result<(), KernelError> {
        self.codes(form, tile, accumulators, out)
    }
}

/// The error that stops a run because a call of the library failed.
fn stopped(error: &PluginError) -> KernelError {
    KernelError::Tile(match error {
        PluginError::Failed {
            status: UNSUPPORTED, ..
        } => format!("{error} (STRAIT_UNSUPPORTED), of a form that it computes for other accumulators"),
        _ => error.to_string(),
    })
}
