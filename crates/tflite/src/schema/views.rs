//! Macros for views of enums, tables and unions over bytes. The views use the functions that `planus` provides for
//! generated code: a field is only read and checked when the program accesses it.

const _: () = planus::check_version_compatibility("planus-1.3.0");

/// Declares enums of one byte.
macro_rules! enums {
    ($($(#[$doc:meta])* $name:ident { $($variant:ident = $number:literal),* })*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name { $($variant = $number),* }

        impl<'a> planus::TableRead<'a> for $name {
            fn from_buffer(
                buffer: planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> Result<Self, planus::errors::ErrorKind> {
                match <i8 as planus::TableRead>::from_buffer(buffer, offset)? {
                    $($number => Ok($name::$variant),)*
                    tag => Err(planus::errors::UnknownEnumTagKind { tag: tag.into() }.into()),
                }
            }
        }
    )* };
}

/// Declares tables with the fields that we read. A field is declared by its slot, its name, its type, and its default.
/// A field without a default may be absent. In a file, a union takes two fields, first its kind and then its value;
/// here it is declared by the slot of its kind.
macro_rules! tables {
    ($a:lifetime $($(#[$doc:meta])* $name:ident {
        $($slot:literal $field:ident: $type:ty $(= $default:expr)?;)*
        $(union $kind:literal $union:ident: $members:ty;)*
    })*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name<$a>(
            #[allow(dead_code, reason = "of some it is enough that they are there")] planus::table_reader::Table<$a>,
        );

        impl<$a> $name<$a> {
            $(pub(crate) fn $field(&self) -> planus::Result<tables!(@type $type $(, $default)?)> {
                let field = self.0.access($slot, stringify!($name), stringify!($field))?;
                Ok(tables!(@value field $(, $default)?))
            })*
            $(pub(crate) fn $union(&self) -> planus::Result<Option<$members>> {
                self.0.access_union($kind, stringify!($name), stringify!($union))
            })*
        }

        impl<$a> planus::TableRead<$a> for $name<$a> {
            fn from_buffer(
                buffer: planus::SliceWithStartOffset<$a>,
                offset: usize,
            ) -> Result<Self, planus::errors::ErrorKind> {
                Ok($name(planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        impl<$a> planus::VectorReadInner<$a> for $name<$a> {
            type Error = planus::Error;
            const STRIDE: usize = 4;

            // SAFETY: the trait guarantees that the offset is inside of the buffer, and reading a table checks this
            // again.
            unsafe fn from_buffer(buffer: planus::SliceWithStartOffset<$a>, offset: usize) -> planus::Result<Self> {
                let table = planus::TableRead::from_buffer(buffer, offset);
                table.map_err(|error| error.with_error_location(stringify!($name), "get", buffer.offset_from_start))
            }
        }
    )* };
    (@type $type:ty) => { Option<$type> };
    (@type $type:ty, $default:expr) => { $type };
    (@value $field:ident) => { $field };
    (@value $field:ident, $default:expr) => { $field.unwrap_or($default) };
}

/// Declares a union of option tables. Only the tables that we read are its members.
macro_rules! options {
    ($(#[$doc:meta])* $name:ident { $($tag:literal $table:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) enum $name<'a> {
            $($table($table<'a>),)*
            /// A kind of options that we do not read.
            Other,
        }

        impl<'a> planus::TableReadUnion<'a> for $name<'a> {
            fn from_buffer(
                buffer: planus::SliceWithStartOffset<'a>,
                tag: u8,
                offset: usize,
            ) -> Result<Self, planus::errors::ErrorKind> {
                match tag {
                    $($tag => Ok($name::$table(planus::TableRead::from_buffer(buffer, offset)?)),)*
                    _ => Ok($name::Other),
                }
            }
        }
    };
}

pub(super) use {enums, options, tables};
