//! Folders that are applied repeatedly: the final state of the app depends only on the last apply
//! of each folder, and the history keeps all of them.

use std::collections::BTreeMap;

use milepost_model::change::Change;
use milepost_model::unit_put::{ConfigPut, FunctionPut, PackagePut, Put};
use milepost_model::{AppName, Code, Digest, PlanName, UnitPut};
use proptest::prelude::*;

use crate::common::*;
use crate::invariants;
use crate::world::World;

/// One apply of a folder. There are few names, so the two folders often want the same unit; then
/// the second is rejected.
#[derive(Debug, Clone)]
pub struct Apply {
    folder: u8,
    functions: BTreeMap<u8, Function>,
    secrets: BTreeMap<u8, u8>,
    config: Option<u8>,
    item: Option<u8>,
}

#[derive(Debug, Clone)]
struct Function {
    package: u8,
    memory: u8,
    secret: bool,
    route: bool,
    timer: bool,
}

/// Applies, each with the code that its packages hold.
pub fn sequences() -> impl Strategy<Value = Vec<(Apply, u8)>> {
    prop::collection::vec((apply(), 0..3_u8), 2..14)
}

fn apply() -> impl Strategy<Value = Apply> {
    let function = (0..2_u8, 0..2_u8, any::<bool>(), any::<bool>(), any::<bool>())
        .prop_map(|(package, memory, secret, route, timer)| Function { package, memory, secret, route, timer });
    let functions = prop::collection::btree_map(0..3_u8, function, 0..3);
    let secrets = prop::collection::btree_map(0..3_u8, 0..2_u8, 0..2);
    let config = prop::option::weighted(0.3, 0..2_u8);
    let item = prop::option::weighted(0.3, 0..3_u8);
    (0..2_u8, functions, secrets, config, item).prop_map(|(folder, functions, secrets, config, item)| Apply {
        folder,
        functions,
        secrets,
        config,
        item,
    })
}

impl Apply {
    /// Returns the folder as a change. It contains everything that it refers to, so it can be
    /// applied to an empty app.
    fn change(&self, trees: &[Digest], code: u8) -> Change {
        let mut puts: Vec<Put> = Vec::new();
        let mut packages: Vec<u8> = self.functions.values().map(|function| function.package).collect();
        packages.sort_unstable();
        packages.dedup();
        for number in packages {
            let name = format!("e{number}");
            puts.push(environment(&name, "3.12"));
            let environment = Some(reference(&name, "latest"));
            let deployment = Some(trees[usize::from(code)]);
            let package = PackagePut { environment, deployment, ..PackagePut::default() };
            puts.push(put(&format!("p{number}"), UnitPut::Package(package)));
        }
        for (number, function) in &self.functions {
            let name = format!("f{number}");
            let package = Some(reference(&format!("p{}", function.package), "latest"));
            let memory = Some(u64::from(function.memory + 1) << 25);
            let secrets = if function.secret { [format!("S{number}").parse().unwrap()].into() } else { [].into() };
            puts.push(function_with(&name, FunctionPut { package, memory, secrets, ..FunctionPut::default() }));
            if function.route {
                puts.push(route(&format!("GET /{name}"), &name, "latest"));
            }
            if function.timer {
                puts.push(timer(&format!("t{number}"), &name, "latest"));
            }
        }
        let mut secrets = self.secrets.clone();
        for number in self.functions.iter().filter(|(_, function)| function.secret).map(|(number, _)| *number) {
            secrets.entry(number).or_insert(0);
        }
        puts.extend(secrets.iter().map(|(name, value)| secret(&format!("S{name}"), &value.to_string())));
        puts.extend(self.config.map(|value| {
            let document = Some(serde_json::json!({ "value": value }));
            put("config", UnitPut::Config(ConfigPut { document, ..ConfigPut::default() }))
        }));
        puts.extend(self.item.map(|tree| static_item("/s", trees[usize::from(tree)])));
        let mut change = declared(&format!("folder{}", self.folder), puts);
        if let Some(declaration) = &mut change.deployment {
            declaration.prune_secrets = true;
        }
        change
    }
}

pub async fn the_last_change_of_each_deployment_wins(t: &mut Fixture, sequence: &Vec<(Apply, u8)>) {
    let mut trees = Vec::new();
    for code in 0..3 {
        trees.push(t.tree(&format!("code {code}")).await);
    }
    let mut last: Vec<Change> = Vec::new();
    let t = &*t;
    let mut world = World::new(t);
    for (apply, code) in sequence {
        let change = apply.change(&trees, *code);
        let before = state(t, &t.app).await;
        match t.send(change.clone()).await {
            Ok(outcome) => {
                last.retain(|earlier| earlier.deployment != change.deployment);
                last.push(change);
                if outcome.changed {
                    world.absorb(outcome, *code);
                } else {
                    assert_eq!(state(t, &t.app).await, before);
                }
            }
            Err(error) => {
                assert_eq!(refused::<()>(Err(error)).code, Code::OwnedElsewhere);
                assert_eq!(state(t, &t.app).await, before, "a refused change leaves nothing");
            }
        }
        invariants::invariant_3_app_versions_are_complete_and_stay_as_they_were(&world).await;
        invariants::invariant_5_referenced_blobs_are_never_swept(&world).await;
    }
    let fresh: AppName = format!("{}-fresh", t.app).parse().unwrap();
    t.catalog.app_create(&fresh, PlanName::Free, "ann").await.unwrap();
    for change in last {
        t.catalog.change(&fresh, input(change)).await.unwrap();
    }
    assert_eq!(state(t, &t.app).await, state(t, &fresh).await);
}

/// Returns every unit that the app has, with the digest of its content and its owner.
async fn state(t: &Fixture, app: &AppName) -> BTreeMap<String, (Digest, String)> {
    let units = t.catalog.unit_list(app, None, None, None, 1000).await.unwrap().items;
    let told = |unit: milepost_model::snapshot::Unit| {
        let owner = unit.deployment.map(|deployment| deployment.id).unwrap_or_default();
        (format!("{} {}", unit.kind, unit.name), (unit.current.digest, owner))
    };
    units.into_iter().map(told).collect()
}
