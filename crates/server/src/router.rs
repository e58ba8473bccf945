//! The routes of the whole API.

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, Uri};
use axum::response::Html;
use axum::routing::get;
use bytes::Bytes;
use milepost_model::{Code, Refusal};
use utoipa::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ContentBuilder, OpenApi as Document, Ref, ResponseBuilder};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

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

fn calls() -> OpenApiRouter<State> {
    OpenApiRouter::new()
        .routes(routes!(apps::list::apps_list, apps::create::apps_create))
        .routes(routes!(apps::get::apps_get, apps::delete::apps_delete))
        .routes(routes!(apps::set_plan::apps_set_plan))
        .routes(routes!(apps::history::apps_history))
        .routes(routes!(apps::at::apps_at))
        .routes(routes!(apps::status::apps_status))
        .routes(routes!(logs::list::logs_list))
        .routes(routes!(functions::call::functions_call))
        .routes(routes!(system::get::system_get))
        .routes(routes!(changes::create::changes_create))
        .routes(routes!(blobs::missing::blobs_missing))
        .routes(routes!(blobs::upload::blobs_upload))
        .routes(routes!(blobs::get::blobs_get))
        .routes(routes!(trees::get::trees_get))
        .routes(routes!(artifacts::get::artifacts_get))
        .routes(routes!(builds::list::builds_list, builds::create::builds_create))
        .routes(routes!(builds::get::builds_get))
        .routes(routes!(builds::log::builds_log))
        .routes(routes!(executions::list::executions_list, executions::create::executions_create))
        .routes(routes!(executions::get::executions_get, executions::delete::executions_delete))
        .routes(routes!(executions::log::executions_log))
        .routes(routes!(executions::cancel::executions_cancel))
        .routes(routes!(jobs::list::jobs_list, jobs::create::jobs_create))
        .routes(routes!(jobs::get::jobs_get, jobs::update::jobs_update, jobs::delete::jobs_delete))
        .routes(routes!(timers::list::timers_list))
        .routes(routes!(webhooks::list::webhooks_list, webhooks::create::webhooks_create))
        .routes(routes!(
            webhooks::get::webhooks_get,
            webhooks::update::webhooks_update,
            webhooks::delete::webhooks_delete
        ))
        .routes(routes!(webhooks::invoke::webhooks_invoke))
        .routes(routes!(units::list::units_list))
        .routes(routes!(units::get::units_get))
        .routes(routes!(versions::list::versions_list))
        .routes(routes!(
            versions::get::versions_get,
            versions::describe::versions_describe,
            versions::delete::versions_delete
        ))
        .routes(routes!(versions::download::versions_download))
        .routes(routes!(aliases::list::aliases_list))
        .routes(routes!(
            aliases::get::aliases_get,
            aliases::create::aliases_create,
            aliases::update::aliases_update,
            aliases::delete::aliases_delete
        ))
        .routes(routes!(aliases::history::aliases_history))
        .routes(routes!(aliases::rollback::aliases_rollback))
        .routes(routes!(app_versions::list::app_versions_list))
        .routes(routes!(app_versions::get::app_versions_get))
        .routes(routes!(app_versions::diff::app_versions_diff))
        .routes(routes!(releases::list::releases_list, releases::create::releases_create))
        .routes(routes!(releases::get::releases_get))
        .routes(routes!(releases::expire::releases_expire))
        .routes(routes!(tags::list::tags_list))
        .routes(routes!(tags::set::tags_set, tags::delete::tags_delete))
        .routes(routes!(tags::history::tags_history))
        .routes(routes!(live::get::live_get, live::set::live_set))
        .routes(routes!(live::history::live_history))
        .routes(routes!(live::rollback::live_rollback))
        .routes(routes!(latest::history::latest_history))
        .routes(routes!(groups::list::groups_list))
        .routes(routes!(groups::get::groups_get, groups::delete::groups_delete))
        .routes(routes!(tokens::list::tokens_list, tokens::create::tokens_create))
        .routes(routes!(tokens::delete::tokens_delete))
        .routes(routes!(tokens::whoami::tokens_whoami))
        .routes(routes!(installs::list::installs_list, installs::create::installs_create))
        .routes(routes!(installs::bundle::installs_bundle))
        .routes(routes!(
            installs::get::installs_get,
            installs::change::installs_change,
            installs::detach::installs_detach
        ))
        .routes(routes!(installs::hold::installs_hold))
        .routes(routes!(installs::lift::installs_lift))
        .routes(routes!(installs::upgrade::upgrade_create))
        .routes(routes!(installs::plan::upgrade_plan))
        .routes(routes!(installs::upgrade_bundle::upgrade_bundle))
        .routes(routes!(publications::create::publications_create))
        .routes(routes!(plans::list::plans_list))
        .routes(routes!(storage::why::storage_why))
        .routes(routes!(storage::sweep::storage_sweep))
}

fn described() -> (Router<State>, Document) {
    let api = OpenApiRouter::with_openapi(Described::openapi()).nest("/api/v1", calls());
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
            get(move || std::future::ready(([(CONTENT_TYPE, "application/json")], json.clone()))),
        )
        .route("/api/v1/docs", get(move || std::future::ready(Html(page.clone()))))
        .route("/channels", get(channels::list::channels_list))
        .route(
            "/channels/{*path}",
            get(channels::get::channels_get).put(channels::put::channels_put).delete(channels::delete::channels_delete),
        )
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(health::metrics))
        .merge(crate::compat::qinling::router())
        .fallback(unknown)
        .method_not_allowed_fallback(wrong_method);
    middleware::apply(router, &state).with_state(state)
}

async fn unknown(uri: Uri) -> ApiError {
    ApiError(
        Refusal::new(Code::RouteNotFound, format!("There is no call `{}`.", uri.path()))
            .hint("/api/v1/docs lists the calls"),
    )
}

async fn wrong_method(method: Method, uri: Uri) -> ApiError {
    let message = format!("The call `{}` does not take {method}.", uri.path());
    ApiError(Refusal::new(Code::MethodNotAllowed, message).hint("/api/v1/docs lists the calls and their methods"))
}
