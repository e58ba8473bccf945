//! A request in two parts: the length of a JSON document (8 bytes, little endian) and the document,
//! followed by an artifact. The JSON is part of the body rather than a header or the URL because it
//! contains secrets.

use axum::BoxError;
use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures::stream::{self, BoxStream, StreamExt};
use milepost_model::refusal::View;
use milepost_model::{Code, Refusal};
use serde::de::DeserializeOwned;

use crate::content::ingest::while_it_moves;

const HEAD: usize = 8;
const MAX_JSON: usize = 4 << 20;

type Rest = BoxStream<'static, Result<Bytes, BoxError>>;

pub(super) async fn read<T: DeserializeOwned>(body: Body) -> Result<(T, Rest), Refusal> {
    let mut chunks = while_it_moves(body).boxed();
    let mut bytes = BytesMut::new();
    let mut wanted = HEAD;
    let mut length = None;
    loop {
        while bytes.len() < wanted {
            match chunks.next().await {
                Some(Ok(chunk)) => bytes.extend_from_slice(&chunk),
                _ => return Err(wrong("it ends before its artifact")),
            }
        }
        match length {
            Some(length) => {
                let json = bytes.split_to(HEAD + length);
                // The error message of serde may quote a secret.
                let request = serde_json::from_slice(&json[HEAD..]).map_err(|error| {
                    wrong(&format!("its first part is no request (line {}, column {})", error.line(), error.column()))
                })?;
                let first = stream::iter([Ok(bytes.freeze())]);
                return Ok((request, first.chain(chunks).boxed()));
            }
            None => {
                let head: [u8; HEAD] = bytes[..HEAD].try_into().map_err(|_| wrong("it has no length"))?;
                let found = usize::try_from(u64::from_le_bytes(head)).ok().filter(|length| *length <= MAX_JSON);
                let found = found.ok_or_else(|| wrong("its first part is too long"))?;
                wanted = HEAD + found;
                length = Some(found);
            }
        }
    }
}

fn wrong(why: &str) -> Refusal {
    Refusal::new(Code::InvalidUpload, format!("the request cannot be read: {why}")).see(View::Reference)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn framed(json: &str, rest: &str) -> Vec<u8> {
        let mut bytes = (json.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(json.as_bytes());
        bytes.extend_from_slice(rest.as_bytes());
        bytes
    }

    #[tokio::test]
    async fn parses_requests_at_any_chunk_size() {
        let whole = framed(r#"{"a":1}"#, "the artifact");
        for size in 1..whole.len() {
            let chunks: Vec<_> = whole.chunks(size).map(|chunk| Ok::<_, axum::Error>(chunk.to_vec())).collect();
            let (value, rest) = read::<Value>(Body::from_stream(stream::iter(chunks))).await.expect("a request");
            let rest: Vec<Bytes> = rest.map(|chunk| chunk.expect("a chunk")).collect().await;
            assert_eq!((value, rest.concat()), (json!({ "a": 1 }), b"the artifact".to_vec()), "{size}");
        }
    }

    #[tokio::test]
    async fn rejects_truncated_requests_and_wrong_lengths() {
        let whole = framed(r#"{"a":1}"#, "");
        for length in 0..whole.len() {
            assert!(read::<Value>(Body::from(whole[..length].to_vec())).await.is_err(), "{length}");
        }
        assert!(read::<Value>(Body::from(vec![0xff; 32])).await.is_err());
        assert!(read::<Value>(Body::from(framed("{", "x"))).await.is_err());
    }
}
