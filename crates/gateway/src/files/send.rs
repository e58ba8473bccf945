//! Responses with a file: whole, partial or not modified.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt, TryStreamExt};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio_util::io::ReaderStream;

use crate::backend::Backend;
use crate::body::ResponseBody;
use crate::gateway::ResponseFuture;
use crate::problem::Problem;
use crate::reader::Reader;
use crate::request_id;
use crate::tree::TreeFile;

use super::cache::{CachedCopy, Content, FileCache};
use super::conditions::{self, Verdict};
use super::disk_cache;
use super::encoding::Coding;
use super::ranges::{self, Ranges};

/// The role of the file in the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// The requested file: conditions and ranges apply.
    Found,
    /// An error page: always sent whole.
    NotFound,
}

/// A response with a file.
pub(crate) struct FileResponse {
    file: TreeFile,
    status: Status,
    head_only: bool,
    /// Replaces the default `cache-control`.
    cache_control: Option<HeaderValue>,
    /// The request's headers.
    headers: HeaderMap,
    again: bool,
}

type HttpResponse<B> = Response<ResponseBody<<B as Backend>::Body>>;

enum Plan {
    Whole,
    Part(Range<u64>),
    Parts(Vec<Range<u64>>),
    NotModified,
    PreconditionFailed,
    Unsatisfiable,
}

impl FileResponse {
    pub(crate) fn new(file: TreeFile, status: Status, method: &Method, headers: HeaderMap) -> Self {
        let head_only = method == Method::HEAD;
        Self { file, status, head_only, cache_control: None, headers, again: false }
    }

    pub(crate) fn cached(self, cache_control: Option<HeaderValue>) -> Self {
        Self { cache_control, ..self }
    }

    pub(crate) fn is_for(method: &Method) -> bool {
        method == Method::GET || method == Method::HEAD
    }

    /// Responds at once when the bytes are in memory, otherwise when they are available.
    pub(crate) fn start<B: Backend>(self, store: &Arc<FileCache<B>>) -> ResponseFuture<B> {
        match store.cached_copy(&self.file, &self.headers) {
            Ok(Some(copy)) => match (self.plan(&copy), &copy.content) {
                (Plan::Whole, Content::Memory(bytes)) => {
                    let bytes = bytes.clone();
                    ResponseFuture::ready(self.whole(&copy, ResponseBody::bytes(bytes)))
                }
                (Plan::NotModified, _) => ResponseFuture::ready(self.not_modified(&copy)),
                (plan, _) => {
                    let store = store.clone();
                    ResponseFuture::later(async move { self.carry_out(plan, &copy, &store).await })
                }
            },
            Ok(None) => ResponseFuture::ready(self.not_acceptable()),
            Err(_) => {
                let store = store.clone();
                ResponseFuture::later(async move { self.obtain(&store).await })
            }
        }
    }

    async fn obtain<B: Backend>(self, store: &Arc<FileCache<B>>) -> HttpResponse<B> {
        match store.obtain(&self.file, &self.headers).await {
            Ok(Some(copy)) => {
                let plan = self.plan(&copy);
                self.carry_out(plan, &copy, store).await
            }
            Ok(None) => self.not_acceptable(),
            Err(error) => self.unreadable(&error),
        }
    }

    fn plan(&self, copy: &CachedCopy) -> Plan {
        if self.status == Status::NotFound {
            return Plan::Whole;
        }
        match conditions::judge(&self.headers, copy.etag.as_bytes()) {
            Verdict::NotModified => return Plan::NotModified,
            Verdict::Failed => return Plan::PreconditionFailed,
            Verdict::Go => {}
        }
        // Ranges are defined for GET only.
        let range = self.headers.get(header::RANGE).filter(|_| !self.head_only);
        let Some(range) = range.filter(|_| conditions::range_holds(&self.headers, copy.etag.as_bytes())) else {
            return Plan::Whole;
        };
        match ranges::parse(range.as_bytes(), copy.size) {
            Ranges::Whole => Plan::Whole,
            Ranges::One(range) => Plan::Part(range),
            Ranges::Several(ranges) => Plan::Parts(ranges),
            Ranges::Unsatisfiable => Plan::Unsatisfiable,
        }
    }

    async fn carry_out<B: Backend>(
        self,
        plan: Plan,
        copy: &Arc<CachedCopy>,
        store: &Arc<FileCache<B>>,
    ) -> HttpResponse<B> {
        match plan {
            Plan::NotModified => self.not_modified(copy),
            Plan::PreconditionFailed => self.precondition_failed(),
            Plan::Unsatisfiable => self.unsatisfiable(copy.size),
            Plan::Whole if self.head_only => self.whole(copy, ResponseBody::empty()),
            Plan::Whole => match body(store, &self.file, copy, 0..copy.size).await {
                Ok(body) => self.whole(copy, body),
                Err(error) => self.once_more(copy, store, &error).await,
            },
            Plan::Part(range) => match body(store, &self.file, copy, range.clone()).await {
                Ok(body) => self.part(copy, &range, body),
                Err(error) => self.once_more(copy, store, &error).await,
            },
            Plan::Parts(ranges) => self.parts(copy, ranges, store),
        }
    }

    /// Compresses a copy that disappeared from the disk again, or sends the plain file.
    fn once_more<'s, B: Backend>(
        mut self,
        copy: &CachedCopy,
        store: &'s Arc<FileCache<B>>,
        error: &io::Error,
    ) -> BoxFuture<'s, HttpResponse<B>> {
        if self.again || copy.coding == Coding::Identity {
            return std::future::ready(self.unreadable(error)).boxed();
        }
        self.again = true;
        self.obtain(store).boxed()
    }

    fn whole<B>(self, copy: &CachedCopy, body: ResponseBody<B>) -> Response<ResponseBody<B>> {
        let body = if self.head_only { ResponseBody::empty() } else { body };
        let mut response = Response::new(body);
        if self.status == Status::NotFound {
            *response.status_mut() = StatusCode::NOT_FOUND;
        }
        *response.headers_mut() = copy.headers(self.headers, self.cache_control);
        if self.head_only {
            response.headers_mut().insert(header::CONTENT_LENGTH, copy.size.into());
        }
        response
    }

    fn not_modified<B>(self, copy: &CachedCopy) -> Response<ResponseBody<B>> {
        let mut response = Response::new(ResponseBody::empty());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        let mut headers = copy.headers(self.headers, self.cache_control);
        for about_content in [header::CONTENT_TYPE, header::CONTENT_ENCODING, header::X_CONTENT_TYPE_OPTIONS] {
            headers.remove(about_content);
        }
        *response.headers_mut() = headers;
        response
    }

    fn part<B>(self, copy: &CachedCopy, range: &Range<u64>, body: ResponseBody<B>) -> Response<ResponseBody<B>> {
        let mut response = Response::new(body);
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
        *response.headers_mut() = copy.headers(self.headers, self.cache_control);
        if let Ok(value) = HeaderValue::from_str(&content_range(range, copy.size)) {
            response.headers_mut().insert(header::CONTENT_RANGE, value);
        }
        response
    }

    fn parts<B: Backend>(
        self,
        copy: &Arc<CachedCopy>,
        ranges: Vec<Range<u64>>,
        store: &Arc<FileCache<B>>,
    ) -> HttpResponse<B> {
        let boundary = request_id::new();
        let mut pieces = Vec::new();
        let mut length = 0;
        for range in ranges {
            let head = format!(
                "\r\n--{boundary}\r\ncontent-type: {}\r\ncontent-range: {}\r\n\r\n",
                self.file.kind.content_type,
                content_range(&range, copy.size)
            );
            length += head.len() as u64 + (range.end - range.start);
            pieces.push((Bytes::from(head), range));
        }
        let end = Bytes::from(format!("\r\n--{boundary}--\r\n"));
        length += end.len() as u64;
        let (store, file, sent) = (store.clone(), self.file, copy.clone());
        let parts = stream::iter(pieces).then(move |(head, range)| {
            let (store, sent) = (store.clone(), sent.clone());
            async move {
                let bytes = read(&store, &file, &sent, range).await?;
                Ok::<_, io::Error>(stream::once(async move { Ok(head) }).chain(bytes))
            }
        });
        let stream = parts.try_flatten().chain(stream::once(async move { Ok(end) })).boxed();
        let mut response = Response::new(ResponseBody::stream(stream, length));
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
        *response.headers_mut() = copy.headers(self.headers, self.cache_control);
        if let Ok(value) = HeaderValue::from_str(&format!("multipart/byteranges; boundary={boundary}")) {
            response.headers_mut().insert(header::CONTENT_TYPE, value);
        }
        response
    }

    fn problem<B>(self, problem: Problem) -> Response<ResponseBody<B>> {
        let reader = Reader::new(&self.headers, self.head_only);
        // No problem with a file has a step for operators.
        problem.into_response(&reader, |_, _| None)
    }

    fn precondition_failed<B>(self) -> Response<ResponseBody<B>> {
        let detail = "The file has changed since the version that the request names.";
        self.problem(Problem::new(StatusCode::PRECONDITION_FAILED, "precondition_failed", detail))
    }

    fn unsatisfiable<B>(self, size: u64) -> Response<ResponseBody<B>> {
        let detail = format!("The file has {size} bytes, and the range starts after its end.");
        let problem = Problem::new(StatusCode::RANGE_NOT_SATISFIABLE, "range_not_satisfiable", detail);
        let Ok(size) = HeaderValue::from_str(&format!("bytes */{size}")) else { return self.problem(problem) };
        self.problem(problem.header(header::CONTENT_RANGE, size))
    }

    fn not_acceptable<B>(self) -> Response<ResponseBody<B>> {
        let detail = "The file is not available in an encoding that the request accepts.";
        self.problem(Problem::new(StatusCode::NOT_ACCEPTABLE, "encoding_not_acceptable", detail))
    }

    fn unreadable<B>(self, error: &io::Error) -> Response<ResponseBody<B>> {
        let id = request_id::new();
        tracing::error!(%error, digest = %self.file.at.digest, request = %id, "a file could not be read");
        let detail = "The file could not be read.";
        let problem = Problem::new(StatusCode::BAD_GATEWAY, "file_unreadable", detail);
        self.problem(problem.hint("try again in a moment").request_id(id))
    }
}

fn content_range(range: &Range<u64>, size: u64) -> String {
    format!("bytes {}-{}/{size}", range.start, range.end - 1)
}

async fn body<B: Backend>(
    store: &Arc<FileCache<B>>,
    file: &TreeFile,
    copy: &CachedCopy,
    range: Range<u64>,
) -> io::Result<ResponseBody<B::Body>> {
    if let Content::Memory(bytes) = &copy.content {
        return Ok(ResponseBody::bytes(slice(bytes, &range)));
    }
    let length = range.end - range.start;
    Ok(ResponseBody::stream(read(store, file, copy, range).await?, length))
}

async fn read<B: Backend>(
    store: &FileCache<B>,
    file: &TreeFile,
    copy: &CachedCopy,
    range: Range<u64>,
) -> io::Result<BoxStream<'static, io::Result<Bytes>>> {
    match &copy.content {
        Content::Memory(bytes) => Ok(stream::iter([Ok(slice(bytes, &range))]).boxed()),
        Content::Plain => store.backend.stream(&file.at, range).await,
        Content::Compressed => match open_compressed(store, file, copy, range).await {
            Ok(stream) => Ok(stream),
            Err(error) => {
                // The cache directory was cleared: the next request creates the copy again.
                store.forget(file, copy.coding);
                Err(error)
            }
        },
        Content::Nothing => Err(io::ErrorKind::NotFound.into()),
    }
}

fn slice(bytes: &Bytes, range: &Range<u64>) -> Bytes {
    let at = |position: u64| usize::try_from(position).unwrap_or(usize::MAX).min(bytes.len());
    bytes.slice(at(range.start)..at(range.end))
}

async fn open_compressed<B>(
    store: &FileCache<B>,
    file: &TreeFile,
    copy: &CachedCopy,
    range: Range<u64>,
) -> io::Result<BoxStream<'static, io::Result<Bytes>>> {
    let disk = store.disk.as_ref().ok_or(io::ErrorKind::NotFound)?;
    let mut on_disk = tokio::fs::File::open(disk.path(&file.at.digest, copy.coding)).await?;
    if on_disk.metadata().await?.len() != copy.size + disk_cache::HEAD {
        return Err(io::ErrorKind::NotFound.into());
    }
    on_disk.seek(io::SeekFrom::Start(disk_cache::HEAD + range.start)).await?;
    Ok(ReaderStream::with_capacity(on_disk.take(range.end - range.start), 64 << 10).boxed())
}
