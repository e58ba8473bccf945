//! The routes of the whole API.

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, Uri};
use axum::response::Html;
use bytes::Bytes;
use milepost_model::refusal::View;
use milepost_model::{Code, Refusal};
use utoipa::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ContentBuilder, OpenApi as Document, Ref, ResponseBuilder};
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};
use utoipa_axum::routes;

use crate::edge::rule::{ADMINISTER, CHANGE_CODE, INVOKE, MOVE_POINTER, OPEN, READ, Rule, TOKEN};
use crate::edge::{docs_page, middleware};
use crate::error::ApiError;
use crate::handlers::{
    aliases, app_versions, apps, artifacts, blobs, builds, changes, channels, executions, functions, groups, health,
    installs, jobs, latest, live, logs, plans, publications, releases, storage, system, tags, timers, tokens, trees,
    units, versions, webhooks,
};
use crate::state::State;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Milepost",
        description = "Versions, app versions, releases and pointers. Every call needs a bearer token; errors are problem+json with a stable code."
    ),
    components(schemas(
        milepost_client::api::Problem,
        milepost_model::spec::FunctionSpec,
        milepost_model::spec::PackageSpec,
        milepost_model::spec::EnvironmentSpec,
        milepost_model::spec::ConfigSpec,
        milepost_model::spec::StaticSpec,
        milepost_model::spec::RouteSpec,
        milepost_model::spec::TimerSpec
    ))
)]
struct Described;

/// The calls of the API, each with its rule.
#[derive(Default)]
struct Calls {
    router: OpenApiRouter<State>,
    /// Method and path of each call, for tests.
    #[cfg(test)]
    rules: std::collections::BTreeMap<(String, String), Rule>,
}

impl Calls {
    fn call(mut self, rule: Rule, (schemas, paths, route): UtoipaMethodRouter<State>) -> Self {
        #[cfg(test)]
        for (method, path) in operations(&paths) {
            self.rules.insert((method, path), rule);
        }
        self.router = self.router.routes((schemas, paths, rule.apply(route)));
        self
    }
}

fn calls() -> Calls {
    Calls::default()
        .call(READ, routes!(apps::list::apps_list))
        .call(ADMINISTER, routes!(apps::create::apps_create))
        .call(READ, routes!(apps::get::apps_get))
        .call(ADMINISTER, routes!(apps::delete::apps_delete))
        .call(ADMINISTER, routes!(apps::set_plan::apps_set_plan))
        .call(READ, routes!(apps::history::apps_history))
        .call(READ, routes!(apps::at::apps_at))
        .call(READ, routes!(apps::status::apps_status))
        .call(READ.long(), routes!(logs::list::logs_list))
        .call(INVOKE.long().stream(), routes!(functions::call::functions_call))
        .call(READ, routes!(system::get::system_get))
        .call(CHANGE_CODE, routes!(changes::create::changes_create))
        .call(CHANGE_CODE, routes!(blobs::missing::blobs_missing))
        .call(CHANGE_CODE.long().stream(), routes!(blobs::upload::blobs_upload))
        .call(READ.long(), routes!(blobs::get::blobs_get))
        .call(READ, routes!(trees::get::trees_get))
        .call(READ, routes!(artifacts::get::artifacts_get))
        .call(READ, routes!(builds::list::builds_list))
        .call(CHANGE_CODE, routes!(builds::create::builds_create))
        .call(READ, routes!(builds::get::builds_get))
        .call(READ, routes!(builds::log::builds_log))
        .call(READ, routes!(executions::list::executions_list))
        .call(INVOKE.long().input(), routes!(executions::create::executions_create))
        .call(READ, routes!(executions::get::executions_get))
        .call(MOVE_POINTER, routes!(executions::delete::executions_delete))
        .call(READ, routes!(executions::log::executions_log))
        .call(INVOKE, routes!(executions::cancel::executions_cancel))
        .call(READ, routes!(jobs::list::jobs_list))
        .call(MOVE_POINTER.input(), routes!(jobs::create::jobs_create))
        .call(READ, routes!(jobs::get::jobs_get))
        .call(MOVE_POINTER, routes!(jobs::update::jobs_update))
        .call(MOVE_POINTER, routes!(jobs::delete::jobs_delete))
        .call(READ, routes!(timers::list::timers_list))
        .call(INVOKE, routes!(webhooks::list::webhooks_list))
        .call(MOVE_POINTER, routes!(webhooks::create::webhooks_create))
        .call(INVOKE, routes!(webhooks::get::webhooks_get))
        .call(MOVE_POINTER, routes!(webhooks::update::webhooks_update))
        .call(MOVE_POINTER, routes!(webhooks::delete::webhooks_delete))
        .call(OPEN.stream(), routes!(webhooks::invoke::webhooks_invoke))
        .call(READ, routes!(units::list::units_list))
        .call(READ, routes!(units::get::units_get))
        .call(READ, routes!(versions::list::versions_list))
        .call(READ, routes!(versions::get::versions_get))
        .call(CHANGE_CODE, routes!(versions::describe::versions_describe))
        .call(CHANGE_CODE, routes!(versions::delete::versions_delete))
        .call(READ.long(), routes!(versions::download::versions_download))
        .call(READ, routes!(aliases::list::aliases_list))
        .call(READ, routes!(aliases::get::aliases_get))
        .call(MOVE_POINTER, routes!(aliases::create::aliases_create))
        .call(MOVE_POINTER, routes!(aliases::update::aliases_update))
        .call(MOVE_POINTER, routes!(aliases::delete::aliases_delete))
        .call(READ, routes!(aliases::history::aliases_history))
        .call(MOVE_POINTER, routes!(aliases::rollback::aliases_rollback))
        .call(READ, routes!(app_versions::list::app_versions_list))
        .call(READ, routes!(app_versions::get::app_versions_get))
        .call(READ, routes!(app_versions::diff::app_versions_diff))
        .call(READ, routes!(releases::list::releases_list))
        .call(MOVE_POINTER, routes!(releases::create::releases_create))
        .call(READ, routes!(releases::get::releases_get))
        .call(MOVE_POINTER, routes!(releases::expire::releases_expire))
        .call(READ, routes!(tags::list::tags_list))
        .call(MOVE_POINTER, routes!(tags::set::tags_set))
        .call(MOVE_POINTER, routes!(tags::delete::tags_delete))
        .call(READ, routes!(tags::history::tags_history))
        .call(READ, routes!(live::get::live_get))
        .call(MOVE_POINTER, routes!(live::set::live_set))
        .call(READ, routes!(live::history::live_history))
        .call(MOVE_POINTER, routes!(live::rollback::live_rollback))
        .call(READ, routes!(latest::history::latest_history))
        .call(READ, routes!(groups::list::groups_list))
        .call(READ, routes!(groups::get::groups_get))
        .call(CHANGE_CODE, routes!(groups::delete::groups_delete))
        .call(ADMINISTER, routes!(tokens::list::tokens_list))
        .call(ADMINISTER, routes!(tokens::create::tokens_create))
        .call(ADMINISTER, routes!(tokens::delete::tokens_delete))
        .call(TOKEN, routes!(tokens::whoami::tokens_whoami))
        .call(READ.long(), routes!(installs::list::installs_list))
        .call(CHANGE_CODE.long(), routes!(installs::create::installs_create))
        .call(CHANGE_CODE.long().stream(), routes!(installs::bundle::installs_bundle))
        .call(READ, routes!(installs::get::installs_get))
        .call(CHANGE_CODE, routes!(installs::change::installs_change))
        .call(CHANGE_CODE, routes!(installs::detach::installs_detach))
        .call(MOVE_POINTER, routes!(installs::hold::installs_hold))
        .call(MOVE_POINTER, routes!(installs::lift::installs_lift))
        .call(CHANGE_CODE.long(), routes!(installs::upgrade::upgrade_create))
        .call(READ.long(), routes!(installs::plan::upgrade_plan))
        .call(CHANGE_CODE.long().stream(), routes!(installs::upgrade_bundle::upgrade_bundle))
        .call(CHANGE_CODE, routes!(publications::create::publications_create))
        .call(TOKEN, routes!(plans::list::plans_list))
        .call(READ, routes!(storage::why::storage_why))
        .call(ADMINISTER, routes!(storage::sweep::storage_sweep))
}

fn described() -> (Router<State>, Document) {
    let api = OpenApiRouter::with_openapi(Described::openapi()).nest("/api/v1", calls().router);
    let (router, mut document) = api.split_for_parts();
    describe_problems(&mut document);
    let bearer = SecurityScheme::Http(HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build());
    if let Some(components) = document.components.as_mut() {
        components.add_security_scheme("token", bearer);
    }
    document.security =
        Some(vec![utoipa::openapi::security::SecurityRequirement::new::<_, [&str; 0], &str>("token", [])]);
    (router, document)
}

/// Documents the error response, which is the same for every call.
fn describe_problems(document: &mut Document) {
    let problem = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
    let refused = ResponseBuilder::new()
        .description("Refused: why, and what to do next")
        .content("application/problem+json", problem)
        .build();
    for item in document.paths.paths.values_mut() {
        let calls = [&mut item.get, &mut item.put, &mut item.post, &mut item.delete, &mut item.patch];
        for call in calls.into_iter().flatten() {
            call.responses.responses.insert("default".to_owned(), refused.clone().into());
        }
    }
}

/// The API as an OpenAPI document.
pub fn openapi() -> Document {
    described().1
}

pub(crate) fn build(state: State) -> Router {
    let (router, document) = described();
    let json = serde_json::to_value(&document).unwrap_or_default();
    let page = Bytes::from(docs_page::render(&json));
    let json = Bytes::from(json.to_string());
    let router = router
        .route(
            "/api/v1/openapi.json",
            OPEN.get(move || std::future::ready(([(CONTENT_TYPE, "application/json")], json.clone()))),
        )
        .route("/api/v1/docs", OPEN.get(move || std::future::ready(Html(page.clone()))))
        .route("/channels", READ.get(channels::list::channels_list))
        .route("/channels/{*path}", OPEN.long().get(channels::get::channels_get))
        .route("/channels/{*path}", CHANGE_CODE.long().stream().put(channels::put::channels_put))
        .route("/channels/{*path}", CHANGE_CODE.long().delete(channels::delete::channels_delete))
        .route("/healthz", OPEN.get(health::healthz))
        .route("/readyz", OPEN.get(health::readyz))
        .route("/metrics", READ.get(health::metrics))
        .merge(crate::compat::qinling::router())
        .fallback(unknown)
        .method_not_allowed_fallback(wrong_method);
    middleware::apply(router, &state).with_state(state)
}

async fn unknown(uri: Uri) -> ApiError {
    ApiError(Refusal::new(Code::RouteNotFound, format!("unknown call `{}`", uri.path())).see(View::Reference))
}

async fn wrong_method(method: Method, uri: Uri) -> ApiError {
    let message = format!("the call `{}` does not support {method}", uri.path());
    ApiError(Refusal::new(Code::MethodNotAllowed, message).see(View::Reference))
}

/// Method and path of each operation of a document.
#[cfg(test)]
fn operations(paths: &utoipa::openapi::Paths) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (path, item) in &paths.paths {
        let methods = [
            ("GET", &item.get),
            ("PUT", &item.put),
            ("POST", &item.post),
            ("DELETE", &item.delete),
            ("PATCH", &item.patch),
            ("HEAD", &item.head),
            ("OPTIONS", &item.options),
            ("TRACE", &item.trace),
        ];
        let there = methods.into_iter().filter(|(_, call)| call.is_some());
        found.extend(there.map(|(method, _)| (method.to_owned(), path.clone())));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::rule::Needs;

    #[test]
    fn every_call_declares_a_permission() {
        let rules = calls().rules;
        let described = operations(&openapi().paths);
        assert!(described.len() > 50, "the document lists the calls");
        for (method, path) in described {
            let inner = path.strip_prefix("/api/v1").expect("one prefix").to_owned();
            let rule = rules.get(&(method.clone(), inner)).unwrap_or_else(|| panic!("{method} {path} has no rule"));
            let open = rule.needs() == Needs::Nothing;
            assert_eq!(open, path == "/api/v1/webhooks/{webhook}/invoke", "{method} {path} needs {:?}", rule.needs());
        }
    }
}
