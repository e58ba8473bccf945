//! The operations of a random user.

use proptest::prelude::*;

/// Positions (`u8`) are taken modulo the number of choices when the step runs.
#[derive(Debug, Clone)]
pub enum Operation {
    Deploy {
        function: u8,
        code: u8,
        force: bool,
        label: Option<u8>,
    },
    Configure {
        value: u8,
        release: bool,
    },
    Secret {
        value: u8,
    },
    /// A route or timer of the function, pinned to a version or following the release.
    Trigger {
        timer: bool,
        function: u8,
        version: Option<u8>,
    },
    Untrigger {
        timer: bool,
    },
    /// A job, webhook or execution of the function, at a version or the newest one.
    Use {
        kind: UseKind,
        function: u8,
        version: Option<u8>,
    },
    EndUse {
        user: u8,
    },
    /// Runs all executions.
    Drain,
    /// Lets due jobs and timers fire.
    Fire,
    Remove {
        function: u8,
    },
    Delete {
        function: u8,
        package: bool,
        version: u8,
    },
    DeleteAll {
        function: u8,
    },
    Alias {
        function: u8,
        name: u8,
        version: u8,
    },
    AliasBack {
        function: u8,
        name: u8,
    },
    AliasDelete {
        function: u8,
        name: u8,
    },
    Tag {
        name: u8,
        release: u8,
    },
    Untag {
        name: u8,
    },
    Pin {
        release: u8,
    },
    Follow,
    Rollback,
    Release {
        app_version: u8,
    },
    Expire {
        release: u8,
    },
    Sweep,
    DeployOnLive {
        function: u8,
        code: u8,
    },
    ConfigureOnLive {
        value: u8,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UseKind {
    Job,
    Webhook,
    Execution,
}

pub fn sequences() -> impl Strategy<Value = Vec<Operation>> {
    prop::collection::vec(operation(), 4..28)
}

fn operation() -> impl Strategy<Value = Operation> {
    let small = 0..2_u8;
    let any = any::<u8>();
    prop_oneof![
        8 => (small.clone(), 0..3_u8, prop::bool::weighted(0.2), prop::option::weighted(0.4, 0..4_u8))
            .prop_map(|(function, code, force, label)| Operation::Deploy { function, code, force, label }),
        3 => (0..3_u8, prop::bool::weighted(0.7)).prop_map(|(value, release)| Operation::Configure { value, release }),
        1 => (0..3_u8).prop_map(|value| Operation::Secret { value }),
        3 => (prop::bool::ANY, small.clone(), prop::option::of(any))
            .prop_map(|(timer, function, version)| Operation::Trigger { timer, function, version }),
        1 => prop::bool::ANY.prop_map(|timer| Operation::Untrigger { timer }),
        3 => (prop::sample::select(&[UseKind::Job, UseKind::Webhook, UseKind::Execution][..]), small.clone(), prop::option::of(any))
            .prop_map(|(kind, function, version)| Operation::Use { kind, function, version }),
        2 => any.prop_map(|user| Operation::EndUse { user }),
        1 => Just(Operation::Drain),
        1 => Just(Operation::Fire),
        1 => small.clone().prop_map(|function| Operation::Remove { function }),
        4 => (small.clone(), prop::bool::weighted(0.3), any)
            .prop_map(|(function, package, version)| Operation::Delete { function, package, version }),
        1 => small.clone().prop_map(|function| Operation::DeleteAll { function }),
        3 => (small.clone(), small.clone(), any).prop_map(|(function, name, version)| Operation::Alias { function, name, version }),
        1 => (small.clone(), small.clone()).prop_map(|(function, name)| Operation::AliasBack { function, name }),
        1 => (small.clone(), small.clone()).prop_map(|(function, name)| Operation::AliasDelete { function, name }),
        2 => (small.clone(), any).prop_map(|(name, release)| Operation::Tag { name, release }),
        2 => (small.clone(), 0..3_u8).prop_map(|(function, code)| Operation::DeployOnLive { function, code }),
        2 => (0..3_u8).prop_map(|value| Operation::ConfigureOnLive { value }),
        1 => small.prop_map(|name| Operation::Untag { name }),
        1 => any.prop_map(|release| Operation::Pin { release }),
        1 => Just(Operation::Follow),
        2 => Just(Operation::Rollback),
        1 => any.prop_map(|app_version| Operation::Release { app_version }),
        1 => any.prop_map(|release| Operation::Expire { release }),
        2 => Just(Operation::Sweep),
    ]
}
