//! Enums whose members are written as words.

/// Declares an enum whose members are written as words. The members are ordered as they are declared.
macro_rules! named {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$vmeta])* $variant),* }

        impl $name {
            /// All members, in declaration order.
            pub const ALL: [$name; [$($word),*].len()] = [$($name::$variant),*];

            /// Returns the word that stands for the member in the text form, IR bytes, tables and reports.
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $word),* }
            }

            /// Returns the member that is written as this word; the inverse of `name`.
            pub fn parse(word: &str) -> Option<$name> {
                match word { $($word => Some($name::$variant),)* _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}
pub(crate) use named;
