//! Resolves selectors to versions, and suggests the closest names when nothing matches.

use milepost_model::refusal::View;
use milepost_model::{Code, Next, Refusal, Selector, UnitKind};

use crate::db::Tx;
use crate::error::Result;
use crate::tables::units::UnitRow;
use crate::tables::versions::{self, VersionRow, VersionState};
use crate::tables::{aliases, keyed_secrets, rollouts};

/// Number of newest versions whose names are suggested when a selector matches nothing.
const SUGGEST_FROM: i64 = 100;

/// Returns the version that a selector names. The unit must be present in the app.
pub(crate) async fn version(tx: &mut Tx, unit: &UnitRow, selector: &Selector) -> Result<VersionRow> {
    let found = match selector {
        Selector::Latest => match unit.current_version_id {
            Some(id) => Some(versions::get(tx, id).await?),
            None => None,
        },
        Selector::Number(number) => versions::find_by_number(tx, unit.id, *number).await?,
        Selector::Alias(name) => match aliases::find(tx, unit.id, name).await? {
            Some(alias) => Some(versions::get(tx, alias.version_id).await?),
            None => return Err(unknown_alias(tx, unit, name.as_str()).await?.into()),
        },
        Selector::Word(word) => by_word(tx, unit.id, word).await?,
        Selector::Digest(hex) => by_digest(tx, unit, hex).await?,
    };
    match found {
        Some(version) if version.state == VersionState::Active => Ok(version),
        // An alias that a release follows outlives the removal of its function, and comes back with
        // it.
        Some(version) if version.state == VersionState::Retired && matches!(selector, Selector::Alias(_)) => {
            Ok(version)
        }
        Some(version) if version.state == VersionState::Deleted => {
            let message = format!("version {} of {} was deleted", version.number, unit.key());
            Err(Refusal::new(Code::VersionDeleted, message)
                .correct("deploy the code again: a deleted version cannot be restored")
                .into())
        }
        _ => Err(unknown(tx, unit, selector).await?.into()),
    }
}

/// Returns the version that an execution runs. While a rollout is open, the newest version is the
/// candidate's or later, and `latest` means the base's.
pub(crate) async fn to_run(tx: &mut Tx, unit: &UnitRow, selector: &Selector) -> Result<VersionRow> {
    if *selector == Selector::Latest
        && let Some(base) = rollouts::base_version(tx, unit.id).await?
    {
        return versions::get(tx, base).await;
    }
    version(tx, unit, selector).await
}

async fn by_word(tx: &mut Tx, unit_id: i64, word: &str) -> Result<Option<VersionRow>> {
    if let Some(version) = versions::find_by_label(tx, unit_id, word).await? {
        return Ok(Some(version));
    }
    if let Some(version) = versions::find_by_uid(tx, unit_id, word).await? {
        return Ok(Some(version));
    }
    match Selector::respelled(word) {
        Some(other) => versions::find_by_label(tx, unit_id, &other).await,
        None => Ok(None),
    }
}

/// Versions of equal content share a digest; returns the newest of them. A digest prefix must be
/// unambiguous.
async fn by_digest(tx: &mut Tx, unit: &UnitRow, hex: &str) -> Result<Option<VersionRow>> {
    let bound = |fill: &str| -> Vec<u8> {
        let padded = format!("{hex}{}", fill.repeat(64_usize.saturating_sub(hex.len())));
        (0..32).map(|at| u8::from_str_radix(&padded[at * 2..at * 2 + 2], 16).unwrap_or(0)).collect()
    };
    let (low, high) = (bound("0"), bound("f"));
    let mut found = versions::find_by_digest_range(tx, unit.id, &low, &high).await?;
    if unit.kind == UnitKind::Secret {
        found.extend(keyed_secrets::find_by_former(tx, unit.id, &low, &high).await?);
        found.sort_by_key(|version| std::cmp::Reverse(version.number));
    }
    let Some(first) = found.first() else { return Ok(None) };
    if found.iter().any(|version| version.digest != first.digest) {
        let message = format!("`sha256:{hex}` is the start of the digests of several versions of {}", unit.key());
        return Err(Refusal::new(Code::InvalidSelector, message).correct("give more characters of the digest").into());
    }
    Ok(found.into_iter().next())
}

async fn unknown(tx: &mut Tx, unit: &UnitRow, selector: &Selector) -> Result<Refusal> {
    let wanted = selector.to_string();
    let mut names = Vec::new();
    let recent = versions::list(tx, unit.id, None, SUGGEST_FROM).await?;
    for version in &recent {
        names.extend(version.label.iter().map(ToString::to_string));
        names.push(version.uid.clone());
        names.push(version.number.to_string());
    }
    for alias in aliases::list(tx, unit.id).await? {
        names.push(format!("@{}", alias.name));
    }
    if !recent.is_empty() {
        names.push(Selector::Latest.to_string());
    }
    let has = match recent.first() {
        Some(newest) => format!("; the newest is {} (uid `{}`)", newest.number, newest.uid),
        None => String::new(),
    };
    let message = format!("{} has no version `{wanted}`{has}", unit.key());
    let see = [Next::See { view: View::Versions { kind: unit.kind, name: unit.name.to_string() } }];
    Ok(Refusal::not_found(Code::VersionNotFound, message, &wanted, &names, see))
}

pub(crate) async fn unknown_alias(tx: &mut Tx, unit: &UnitRow, name: &str) -> Result<Refusal> {
    if unit.kind != UnitKind::Function {
        let message = format!("{} has no alias `{name}`: only functions have aliases", unit.key());
        return Ok(Refusal::new(Code::AliasNotFound, message).correct("name the version by its number, uid or label"));
    }
    let names: Vec<String> =
        aliases::list(tx, unit.id).await?.into_iter().map(|alias| alias.name.to_string()).collect();
    let message = format!("{} has no alias `{name}`", unit.key());
    let see = [Next::See { view: View::Aliases { function: Some(unit.name.to_string()) } }];
    Ok(Refusal::not_found(Code::AliasNotFound, message, name, &names, see))
}
