//! Enums whose members are words of a document.

/// An enum whose members are words of a document: one list gives parser, printer, schema and the reference page's
/// explanations.
#[macro_export]
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord,
            $crate::serde::Serialize, $crate::serde::Deserialize, $crate::schemars::JsonSchema,
        )]
        #[serde(crate = "strait_document::serde")]
        #[schemars(crate = "strait_document::schemars")]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $word)] $variant),* }

        impl $name {
            /// Every member, in the order of the declaration.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// The word of each member, in the same order.
            pub const NAMES: &'static [&'static str] = &[$($word),*];

            /// The word in the document.
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
