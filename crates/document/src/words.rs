//! A macro for enums whose members are words of a document.

/// Declares an enum whose members are words of a document. The parser, the printer, the schema and the reference page
/// are all made from this one list of members.
#[macro_export]
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),* $(,)? }) => {
        $crate::described! {
            $(#[$doc])*
            #[derive(
                Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord,
                $crate::serde::Serialize, $crate::serde::Deserialize,
            )]
            #[serde(crate = "strait_document::serde")]
            pub enum $name { $($(#[$vdoc])* #[serde(rename = $word)] $variant),* }
        }

        impl $name {
            /// Every member, in the order in which the members are declared.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// The word of each member, in the same order.
            pub const NAMES: &'static [&'static str] = &[$($word),*];

            /// The word that stands for the member in a document.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $word),* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

/// Declares a type, and derives its JSON schema if this crate is built with the feature `schema`. The features of the
/// crate that uses the macro do not matter.
#[doc(hidden)]
#[macro_export]
#[cfg(feature = "schema")]
macro_rules! described {
    ($($type:tt)*) => {
        #[derive($crate::schemars::JsonSchema)]
        #[schemars(crate = "strait_document::schemars")]
        $($type)*
    };
}

#[doc(hidden)]
#[macro_export]
#[cfg(not(feature = "schema"))]
macro_rules! described {
    ($($type:tt)*) => { $($type)* };
}
