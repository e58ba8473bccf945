//! The executors, each with its pools, and which runtimes' functions each of them runs.

use std::collections::HashSet;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use milepost_model::spec::Runtime;
use milepost_model::{AppName, Digest, UnitName};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::call::CallError;
use crate::executor::{BodyError, Call, Executor as _, RequestBody};
use crate::function::Function;
use crate::machine::Machine;
use crate::pool::{BodyOf, PoolSettings, PoolStatus, Pools, Shared};
use crate::process::ProcessExecutor;
use crate::settings::RuntimeSettings;

/// Makes [`Executors`] from a table: a field, the executor, the name of its variants, and the
/// runtimes that it runs. Each executor keeps its own types, so a call is neither boxed nor
/// dispatched more than once.
macro_rules! executors {
    ($($field:ident: $executor:ty, $variant:ident runs [$($runtime:ident),+];)+) => {
        pub(crate) struct Executors {
            $($field: Pools<$executor>,)+
        }

        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        enum Kind {
            $($variant,)+
        }

        impl Kind {
            fn of(runtime: Runtime) -> Option<Self> {
                $(if matches!(runtime, $(Runtime::$runtime)|+) {
                    return Some(Self::$variant);
                })+
                None
            }
        }

        /// A function's response body, streamed.
        pub struct ResponseBody(Body);

        enum Body {
            $($variant(BodyOf<$executor>),)+
        }

        impl Executors {
            pub fn new(machine: &Arc<Machine>, settings: &RuntimeSettings) -> Self {
                Self { $($field: Pools::new(shared(<$executor>::new(machine, settings), machine, settings)),)+ }
            }

            pub async fn call<B: RequestBody>(
                &self,
                function: &Arc<Function>,
                call: Call<B>,
            ) -> Result<http::Response<ResponseBody>, CallError> {
                match Kind::of(function.runtime) {
                    $(Some(Kind::$variant) => {
                        let response = self.$field.call(function, call).await?;
                        Ok(response.map(|body| ResponseBody(Body::$variant(body))))
                    })+
                    None => Err(none_for(function.runtime)),
                }
            }

            pub async fn load(&self, function: &Arc<Function>) -> Result<(), CallError> {
                match Kind::of(function.runtime) {
                    $(Some(Kind::$variant) => self.$field.load(function).await,)+
                    None => Err(none_for(function.runtime)),
                }
            }

            pub fn warm_up(&self, function: &Arc<Function>, more: usize) {
                match Kind::of(function.runtime) {
                    $(Some(Kind::$variant) => self.$field.warm_up(function, more),)+
                    None => {}
                }
            }

            pub fn keep_warm(&self, app: &AppName, bindings: &[(Arc<Function>, u32)]) {
                $({
                    let own = bindings.iter().filter(|(function, _)| Kind::of(function.runtime) == Some(Kind::$variant));
                    self.$field.keep_warm(app, &own.cloned().collect::<Vec<_>>());
                })+
            }

            pub fn let_go(&self, app: &AppName, function: &UnitName, number: i64, most: usize, least: usize) {
                $(self.$field.let_go(app, function, number, most, least);)+
            }

            pub fn status(&self, app: &AppName) -> Vec<PoolStatus> {
                let mut all = Vec::new();
                $(all.extend(self.$field.status(app));)+
                all
            }

            pub fn packages(&self) -> HashSet<Digest> {
                let mut all = HashSet::new();
                $(all.extend(self.$field.packages());)+
                all
            }

            pub async fn lacks(&self, runtime: Runtime, asked: &str) -> Option<String> {
                match Kind::of(runtime) {
                    $(Some(Kind::$variant) => self.$field.executor().lacks(runtime, asked).await,)+
                    None => None,
                }
            }

            pub fn ahead(&self, runtime: Runtime) -> (usize, usize) {
                match Kind::of(runtime) {
                    $(Some(Kind::$variant) => self.$field.executor().ahead(runtime),)+
                    None => (0, 0),
                }
            }

            pub async fn start_ahead(&self) {
                $(self.$field.executor().start_ahead().await;)+
            }

            /// Lets calls finish until the deadline. Afterwards no pool has an instance.
            pub async fn stop(&self, deadline: Instant) {
                tokio::join!($(self.$field.stop(deadline)),+);
            }
        }

        impl http_body::Body for ResponseBody {
            type Data = Bytes;
            type Error = BodyError;

            fn poll_frame(
                mut self: Pin<&mut Self>,
                cx: &mut Context<'_>,
            ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
                match &mut self.0 {
                    $(Body::$variant(body) => Pin::new(body).poll_frame(cx),)+
                }
            }

            fn is_end_stream(&self) -> bool {
                match &self.0 {
                    $(Body::$variant(body) => body.is_end_stream(),)+
                }
            }

            fn size_hint(&self) -> SizeHint {
                match &self.0 {
                    $(Body::$variant(body) => body.size_hint(),)+
                }
            }
        }
    };
}

executors! {
    process: ProcessExecutor, Process runs [Python, Node, Binary];
}

fn shared<E>(executor: E, machine: &Arc<Machine>, settings: &RuntimeSettings) -> Shared<E> {
    let pools = PoolSettings {
        queue_per_place: settings.queue_per_place,
        wait: settings.wait,
        start: settings.start,
        recycle: settings.recycle,
        keep_for_rollback: settings.keep_for_rollback,
        forget: settings.forget,
    };
    Shared {
        executor,
        host: machine.host.clone(),
        settings: pools,
        tasks: TaskTracker::new(),
        cut: CancellationToken::new(),
    }
}

/// For functions from before a runtime without an executor was refused.
fn none_for(runtime: Runtime) -> CallError {
    CallError::NotReady { reason: format!("this server does not run {runtime} functions yet") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtimes_that_new_environments_may_have_are_run() {
        for runtime in [Runtime::Python, Runtime::Node, Runtime::Binary, Runtime::Wasm] {
            assert_eq!(Kind::of(runtime).is_some(), runtime.runs(), "{runtime}");
        }
    }
}
