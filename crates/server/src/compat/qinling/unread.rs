//! A body that has not been read yet. Handlers read it after authorizing the caller.

use std::convert::Infallible;

use axum::extract::{FromRequest, Request};
use bytes::BytesMut;
use futures::StreamExt;
use milepost_model::{Code, Refusal};

use super::fault::{Fault, V1Result};
use super::fields::{self, Fields};
use super::form::{self, Form};
use crate::edge::extract::declared_length;
use crate::state::State;

pub(crate) struct Unread {
    request: Request,
    state: State,
}

impl FromRequest<State> for Unread {
    type Rejection = Infallible;

    async fn from_request(request: Request, state: &State) -> Result<Self, Infallible> {
        Ok(Self { request, state: state.clone() })
    }
}

impl Unread {
    /// Reads a JSON body.
    pub(crate) async fn fields(self) -> V1Result<Fields> {
        fields::read(self.request).await
    }

    /// Reads a body that may contain a file.
    pub(crate) async fn form(self) -> V1Result<Form> {
        form::read(self.request, &self.state).await
    }
}

/// Reads the whole body, up to `most` bytes.
pub(super) async fn read_all(request: Request, most: usize) -> V1Result<BytesMut> {
    let too_large = || -> Fault {
        let message = format!("the request is larger than {} MiB", most >> 20);
        Refusal::new(Code::RequestTooLarge, message)
            .correct("store the input elsewhere, and give the function its address")
            .into()
    };
    if declared_length(request.headers()).is_some_and(|length| length > most as u64) {
        return Err(too_large());
    }
    let mut chunks = request.into_body().into_data_stream();
    let mut bytes = BytesMut::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| unreadable("it did not arrive whole"))?;
        if bytes.len() + chunk.len() > most {
            return Err(too_large());
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

pub(super) fn unreadable(why: &str) -> Fault {
    Fault::bad(format!("The body of the request cannot be read: {}.", why.trim_end_matches('.')))
}
