//! Enums that travel as data, with one value of each variant for the tests of the front ends.

/// Makes a value for [`sampled`].
pub trait Sample {
    fn sample() -> Self;
}

impl Sample for String {
    fn sample() -> Self {
        "hello".to_owned()
    }
}

impl<T: Sample> Sample for Option<T> {
    fn sample() -> Self {
        Some(T::sample())
    }
}

impl<T: Sample> Sample for Vec<T> {
    fn sample() -> Self {
        vec![T::sample(), T::sample()]
    }
}

impl Sample for bool {
    fn sample() -> Self {
        true
    }
}

impl Sample for i64 {
    fn sample() -> Self {
        7
    }
}

impl Sample for u64 {
    fn sample() -> Self {
        7
    }
}

impl Sample for crate::UnitKind {
    fn sample() -> Self {
        Self::Function
    }
}

/// Defines an enum and `samples()`, which a test of a phraser goes through: a new variant is in it
/// without another line.
macro_rules! sampled {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[$of_variant:meta])* $variant:ident $({ $($field:ident: $type:ty),* $(,)? })?,)*
        }
    ) => {
        $(#[$meta])*
        pub enum $name {
            $($(#[$of_variant])* $variant $({ $($field: $type),* })?,)*
        }

        impl $name {
            /// One value of each variant.
            #[doc(hidden)]
            pub fn samples() -> Vec<Self> {
                vec![$(Self::$variant $({ $($field: crate::refusal::sampled::Sample::sample()),* })?),*]
            }
        }

        impl crate::refusal::sampled::Sample for $name {
            fn sample() -> Self {
                Self::samples().swap_remove(0)
            }
        }
    };
}

pub(crate) use sampled;
