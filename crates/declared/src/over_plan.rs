//! Checks a folder against the limits of the app's plan before anything is sent, also for an app
//! that does not exist yet.

use milepost_model::snapshot::Unit;
use milepost_model::{PlanName, UnitKind, UnitName, UnitPut};

use super::{Declared, Next, Problem};

/// `present` are the current units of the app.
pub fn problems(declared: &Declared, plan: PlanName, present: &[Unit]) -> Vec<Problem> {
    let limits = plan.limits();
    let mut problems = Vec::new();
    let mut functions = 0;
    // Functions that other deployments own count too. Functions that this folder owned and no
    // longer declares are removed, and do not count.
    let stays = |unit: &&Unit| {
        let own = unit.deployment.as_ref().is_some_and(|owner| owner.id == declared.deployment.id);
        unit.kind == UnitKind::Function && !own && declared.unit(unit.kind, &unit.name).is_none()
    };
    let others = present.iter().filter(stays).count();
    let mut first_too_many = None;
    for unit in &declared.units {
        let UnitPut::Function(function) = &unit.put.unit else { continue };
        functions += 1;
        if first_too_many.is_none() && limits.functions.is_some_and(|bound| others + functions > bound as usize) {
            first_too_many = Some(unit.place.clone());
        }
        let name = &unit.put.name;
        let mut too_much = |what: &str, asked: String, bound: String| {
            let message = format!("function `{name}` requests {asked} {what}; the plan `{plan}` allows {bound}");
            problems.push(Problem::new(unit.place.clone(), message, None).next(Next::SetPlan));
        };
        if let (Some(asked), Some(bound)) = (function.memory, limits.memory)
            && asked > bound
        {
            too_much("of memory", format!("{} MiB", asked >> 20), format!("{} MiB", bound >> 20));
        }
        let max = function.scale.as_ref().and_then(|scale| scale.max);
        if let (Some(asked), Some(bound)) = (max, limits.instances)
            && asked > bound
        {
            too_much("instances", asked.to_string(), bound.to_string());
        }
    }
    // An app that already exceeds its plan may stay as it is or shrink. The server only rejects
    // added functions.
    let has = |name: &UnitName| present.iter().any(|unit| unit.kind == UnitKind::Function && unit.name == *name);
    let adds = declared.units.iter().any(|unit| matches!(unit.put.unit, UnitPut::Function(_)) && !has(&unit.put.name));
    if let (Some(place), Some(bound), true) = (first_too_many, limits.functions, adds) {
        let count = others + functions;
        let message = format!("the app would have {count} functions; the plan `{plan}` allows {bound}");
        problems.push(Problem::new(place, message, None).next(Next::SetPlan));
    }
    problems
}
