//! Lists with weights, such as `Accept` and `Accept-Encoding`.

use http::{HeaderMap, HeaderName};

/// Returns the items of all fields of a header, each with its weight from 0 to 1000.
pub(crate) fn weighted(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = (&str, u16)> {
    let lists = headers.get_all(name).into_iter().filter_map(|list| list.to_str().ok());
    lists.flat_map(|list| list.split(',')).map(|item| {
        let (name, parameters) = item.split_once(';').unwrap_or((item, ""));
        (name.trim(), weight(parameters))
    })
}

/// Parses `q=0.5` as 500. An invalid weight counts as 1.
fn weight(parameters: &str) -> u16 {
    let q = parameters.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("q").then(|| value.trim())
    });
    let Some(value) = q.and_then(|value| value.parse::<f32>().ok()).filter(|value| value.is_finite()) else {
        return 1000;
    };
    (value.clamp(0.0, 1.0) * 1000.0).round() as u16
}
