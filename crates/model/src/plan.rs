//! Reasons: which field or file makes a unit get a new version.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::digest::Digest;
use crate::kind::UnitKind;
use crate::spec::UnitSpec;
use crate::tree::FileChange;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Reason {
    /// The unit is new.
    New,
    /// The user asked for a version, whether or not the content differs.
    Asked,
    /// A field has another value. Secrets never come here with a value.
    Field {
        field: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Object>)]
        before: Option<Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Object>)]
        after: Option<Value>,
    },
    /// A pinned unit has another version.
    Pinned {
        kind: UnitKind,
        name: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        before: Option<i64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        after: Option<i64>,
    },
    /// Files differ: the trees before and after. The list is filled in where the trees can be read.
    Files {
        field: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        before: Option<Digest>,
        #[serde(skip_serializing_if = "Option::is_none")]
        after: Option<Digest>,
        #[serde(default)]
        files: Vec<FileChange>,
    },
    /// The value of a secret is another one.
    Secret,
}

/// Why `after` is another content than `before`. Empty when both behave the same.
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
    reasons
}

fn is_tree_field(kind: UnitKind, field: &str) -> bool {
    match kind {
        UnitKind::Package => field == "source" || field == "deployment",
        UnitKind::Static => field == "tree",
        _ => false,
    }
}

fn pin_reasons(before: &UnitSpec, after: &UnitSpec) -> Vec<Reason> {
    let old = before.pins();
    let mut reasons = Vec::new();
    for (role, pin) in after.pins() {
        let previous = old.iter().find(|(old_role, _)| *old_role == role).map(|(_, pin)| *pin);
        if previous.is_some_and(|previous| previous.name == pin.name && previous.digest == pin.digest) {
            continue;
        }
        let kind = match role {
            crate::spec::PinRole::Package => UnitKind::Package,
            crate::spec::PinRole::Environment => UnitKind::Environment,
            crate::spec::PinRole::Target => UnitKind::Function,
        };
        let before = previous.filter(|previous| previous.name == pin.name).and_then(|previous| previous.number);
        reasons.push(Reason::Pinned { kind, name: pin.name.to_string(), before, after: pin.number });
    }
    reasons
}

/// The fields that speak for themselves: pins are told separately, and a config document is compared key by key.
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
    use serde_json::json;

    use super::*;
    use crate::digest::Digest;
    use crate::spec::{ConfigSpec, SecretSpec};

    #[test]
    fn one_changed_key_of_the_config_is_the_reason() {
        let before = UnitSpec::Config(ConfigSpec { document: json!({"a": 1, "mail": {"from": "x", "to": "y"}}) });
        let after = UnitSpec::Config(ConfigSpec { document: json!({"a": 1, "mail": {"from": "z", "to": "y"}}) });
        let expected = Reason::Field { field: "mail.from".into(), before: Some(json!("x")), after: Some(json!("z")) };
        assert_eq!(reasons(&before, &after), [expected]);
    }

    #[test]
    fn a_secret_tells_only_that_it_changed() {
        let secret = |text: &str| UnitSpec::Secret(SecretSpec { fingerprint: Digest::of(text.as_bytes()) });
        assert_eq!(reasons(&secret("a"), &secret("b")), [Reason::Secret]);
        assert_eq!(reasons(&secret("a"), &secret("a")), []);
    }
}
