//! Reasons: the fields or files because of which a unit gets a new version.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::digest::Digest;
use crate::kind::UnitKind;
use crate::spec::{PinRole, UnitSpec};
use crate::tree::FileChange;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Reason {
    /// The unit is new.
    New,
    /// The user requested a version, whether or not the content differs.
    Asked,
    /// A field has a different value. Values of secrets never appear here.
    Field {
        field: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Object>)]
        before: Option<Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Object>)]
        after: Option<Value>,
    },
    /// A pinned unit has a different version. `before` is absent if a different unit is pinned now,
    /// `after` if none is.
    Pinned {
        kind: UnitKind,
        name: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        before: Option<i64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        after: Option<i64>,
    },
    /// Files differ between the trees `before` and `after`. The list of files is filled in where
    /// the trees can be read.
    Files {
        field: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        before: Option<Digest>,
        #[serde(skip_serializing_if = "Option::is_none")]
        after: Option<Digest>,
        #[serde(default)]
        files: Vec<FileChange>,
    },
    /// The value of a secret differs.
    Secret,
}

/// Returns why `after` differs from `before`. Empty if both behave the same.
pub fn reasons(before: &UnitSpec, after: &UnitSpec) -> Vec<Reason> {
    if let (UnitSpec::Secret(before), UnitSpec::Secret(after)) = (before, after) {
        return if before == after { Vec::new() } else { vec![Reason::Secret] };
    }
    let mut reasons = pin_reasons(before, after);
    let mut fields = Vec::new();
    compare("", &plain_fields(before), &plain_fields(after), &mut fields);
    for reason in fields {
        match &reason {
            Reason::Field { field, before, after: new } if is_tree_field(after.kind(), field) => {
                let digest =
                    |value: &Option<Value>| value.as_ref().and_then(Value::as_str).and_then(|text| text.parse().ok());
                let (before, after) = (digest(before), digest(new));
                reasons.push(Reason::Files { field: field.clone(), before, after, files: Vec::new() });
            }
            _ => reasons.push(reason),
        }
    }
    // Lists what users wrote before what was built from it.
    reasons.sort_by_key(|reason| matches!(reason, Reason::Files { field, .. } if field == DEPLOYMENT));
    reasons
}

/// Returns the files of a unit that was added or removed as a whole.
pub fn all_files(spec: &UnitSpec, change: Whole) -> Vec<Reason> {
    let trees = match spec {
        UnitSpec::Package(package) => vec![(SOURCE, package.source), (DEPLOYMENT, package.deployment)],
        UnitSpec::Static(item) => vec![(TREE, Some(item.tree))],
        _ => Vec::new(),
    };
    let reasons = trees.into_iter().filter_map(|(field, tree)| {
        let (before, after) = match change {
            Whole::Removed => (Some(tree?), None),
            Whole::Added => (None, Some(tree?)),
        };
        Some(Reason::Files { field: field.to_owned(), before, after, files: Vec::new() })
    });
    reasons.collect()
}

/// Whether a unit was added or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whole {
    Added,
    Removed,
}

/// Whether these files were built from source files that are also listed. Readers of the reasons
/// want to see what users wrote.
pub fn are_built(field: &str, all: &[Reason]) -> bool {
    field == DEPLOYMENT && all.iter().any(|reason| matches!(reason, Reason::Files { field, .. } if field == SOURCE))
}

const SOURCE: &str = "source";
const DEPLOYMENT: &str = "deployment";
const TREE: &str = "tree";

fn is_tree_field(kind: UnitKind, field: &str) -> bool {
    match kind {
        UnitKind::Package => field == SOURCE || field == DEPLOYMENT,
        UnitKind::Static => field == TREE,
        _ => false,
    }
}

fn pin_reasons(before: &UnitSpec, after: &UnitSpec) -> Vec<Reason> {
    let (old, new) = (before.pins(), after.pins());
    let kind = |role: PinRole| match role {
        PinRole::Package => UnitKind::Package,
        PinRole::Environment => UnitKind::Environment,
        PinRole::Target => UnitKind::Function,
    };
    let mut reasons = Vec::new();
    for (role, pin) in &old {
        if new.iter().all(|(new_role, _)| new_role != role) {
            let name = pin.name.to_string();
            reasons.push(Reason::Pinned { kind: kind(*role), name, before: pin.number, after: None });
        }
    }
    for (role, pin) in new {
        let previous = old.iter().find(|(old_role, _)| *old_role == role).map(|(_, pin)| *pin);
        if previous.is_some_and(|previous| previous.name == pin.name && previous.digest == pin.digest) {
            continue;
        }
        let before = previous.filter(|previous| previous.name == pin.name).and_then(|previous| previous.number);
        reasons.push(Reason::Pinned { kind: kind(role), name: pin.name.to_string(), before, after: pin.number });
    }
    reasons
}

/// The fields that are compared as values. Pins are reported separately, and a config document is
/// compared key by key.
fn plain_fields(spec: &UnitSpec) -> Value {
    let mut value = spec.behaviour();
    if let UnitSpec::Config(config) = spec {
        return config.document.clone();
    }
    if let Value::Object(fields) = &mut value {
        match spec {
            UnitSpec::Package(_) => drop(fields.remove("environment")),
            UnitSpec::Function(_) => {
                fields.remove("environment");
                fields.remove("package");
            }
            UnitSpec::Route(_) | UnitSpec::Timer(_) => drop(fields.remove("version")),
            _ => {}
        }
    }
    value
}

fn compare(path: &str, before: &Value, after: &Value, found: &mut Vec<Reason>) {
    if before == after {
        return;
    }
    if let (Value::Object(old), Value::Object(new)) = (before, after) {
        let keys: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        for key in keys {
            let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            match (old.get(key), new.get(key)) {
                (Some(old), Some(new)) => compare(&inner, old, new, found),
                (old, new) => found.push(Reason::Field { field: inner, before: old.cloned(), after: new.cloned() }),
            }
        }
        return;
    }
    found.push(Reason::Field { field: path.to_owned(), before: Some(before.clone()), after: Some(after.clone()) });
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;
    use crate::digest::Digest;
    use crate::spec::{ConfigSpec, Pin, RouteSpec, SecretSpec, Target};

    #[test]
    fn a_changed_config_key_is_the_only_reason() {
        let before = UnitSpec::Config(ConfigSpec { document: json!({"a": 1, "mail": {"from": "x", "to": "y"}}) });
        let after = UnitSpec::Config(ConfigSpec { document: json!({"a": 1, "mail": {"from": "z", "to": "y"}}) });
        let expected = Reason::Field { field: "mail.from".into(), before: Some(json!("x")), after: Some(json!("z")) };
        assert_eq!(reasons(&before, &after), [expected]);
    }

    #[test]
    fn pinning_or_unpinning_a_trigger_is_a_reason() {
        let route = |version: Option<Pin>| {
            let target = Target { function: "hello".parse().expect("a name"), alias: None, version };
            let path = "/hello".to_owned();
            let (methods, host) = (BTreeSet::new(), String::new());
            UnitSpec::Route(RouteSpec { methods, path, prefix: false, strip: false, fission: false, host, target })
        };
        let pin = Pin { name: "hello".parse().expect("a name"), number: Some(3), digest: Digest::of(b"x") };
        let pinned = |before, after| Reason::Pinned { kind: UnitKind::Function, name: "hello".into(), before, after };
        assert_eq!(reasons(&route(Some(pin.clone())), &route(None)), [pinned(Some(3), None)]);
        assert_eq!(reasons(&route(None), &route(Some(pin))), [pinned(None, Some(3))]);
    }

    #[test]
    fn a_deployment_counts_as_built_only_beside_its_source() {
        let files = |field: &str| Reason::Files { field: field.into(), before: None, after: None, files: Vec::new() };
        assert!(are_built("deployment", &[files("source"), files("deployment")]));
        assert!(!are_built("source", &[files("source"), files("deployment")]));
        assert!(!are_built("deployment", &[files("deployment")]));
    }

    #[test]
    fn a_secret_reports_only_that_it_changed() {
        let secret = |text: &str| UnitSpec::Secret(SecretSpec { fingerprint: Digest::of(text.as_bytes()) });
        assert_eq!(reasons(&secret("a"), &secret("b")), [Reason::Secret]);
        assert_eq!(reasons(&secret("a"), &secret("a")), []);
    }
}
