// `(req, res)`: functions and applications written for Node's HTTP server.
//
// Frameworks replace the prototypes of both objects, so overrides are set on the objects
// themselves.

import http from 'node:http'
import { Duplex } from 'node:stream'

import { field, statusOf } from './reply.mjs'

const NONE = Buffer.alloc(0)
// Hop-by-hop headers. The gateway manages the connection to the caller.
const HOPS = new Set(['connection', 'keep-alive', 'transfer-encoding'])

export const listener = (run) => (request) => {
  const req = incoming(request)
  const { res, ended } = outgoing(req, request)
  const result = run(req, res)
  if (typeof result?.then !== 'function') return ended
  // The request ends with the response, not with the promise. But if the promise rejects, the
  // request fails.
  return Promise.race([ended, new Promise((_, reject) => result.then(undefined, reject))])
}

/** The response has already been sent when there is a result. */
export const answer = () => undefined

export function incoming(request) {
  const req = new http.IncomingMessage(new Socket(request))
  req.method = request.method
  req.url = request.target
  req.httpVersion = '1.1'
  req.httpVersionMajor = req.httpVersionMinor = 1
  const headers = []
  const head = request.head
  for (let at = 2; at < head.length; at += 2) {
    if (head[at].charCodeAt(0) !== 58) headers.push(head[at], head[at + 1])
  }
  req._addHeaderLines(headers, headers.length)
  req.params = request.params()
  req._read = () => {
    // Node's own `_read` does the same: it delays the stream until the first read.
    req._readableState.readingMore = false
    req._consumed = true
    request.read().then(
      (piece) => {
        if (piece === null) req.complete = true
        req.push(piece)
      },
      (error) => req.destroy(error),
    )
  }
  return req
}

/**
 * The properties that frameworks read: the caller's address, and whether the connection is
 * encrypted.
 */
class Socket extends Duplex {
  constructor(request) {
    super()
    this.remoteAddress = request.header(':client')
    this.remotePort = 0
    this.encrypted = request.scheme === 'https'
  }
  _read() {}
  _write(chunk, encoding, done) {
    done()
  }
  setTimeout() {
    return this
  }
  setNoDelay() {
    return this
  }
  setKeepAlive() {
    return this
  }
}

/** Node's response with its handling of headers, but writing frames instead of HTTP. */
export function outgoing(req, request) {
  const slot = request.slot
  const res = new http.ServerResponse(req)
  res.socket = res.connection = req.socket
  let resolve
  const ended = new Promise((done) => (resolve = done))
  request.onCancel = () => res.emit('close')

  const isCurrent = () => slot.request === request
  const isSilent = () => request.method === 'HEAD' || res.statusCode === 204 || res.statusCode === 304
  const head = () => {
    if (res._header) return res._header
    // Some middleware replaces writeHead to change headers at the last moment.
    if (!res.wroteHead) {
      res.writeHead(res.statusCode)
      return res._header
    }
    let text = String(res.statusCode)
    for (const name of res.getHeaderNames()) {
      if (HOPS.has(name)) continue
      const value = res.getHeader(name)
      for (const one of Array.isArray(value) ? value : [value]) text += field(name, one)
    }
    // `headersSent` reads it.
    return (res._header = text)
  }

  res.writeHead = (status, reason, headers) => {
    if (res.headersSent) throw new Error('the head of the response was sent already')
    if (typeof reason === 'object') headers = reason
    else if (reason !== undefined) res.statusMessage = reason
    res.statusCode = statusOf(status)
    for (const [name, value] of pairs(headers)) if (value !== undefined) res.setHeader(name, value)
    res.wroteHead = true
    head()
    return res
  }

  res.flushHeaders = () => {
    const text = head()
    if (isCurrent() && !slot.begun) slot.begin(request, text, NONE, false)
  }

  res.write = (chunk, encoding, done) => {
    if (typeof encoding === 'function') [encoding, done] = [undefined, encoding]
    if (res.finished) {
      const error = Object.assign(new Error('write after end'), { code: 'ERR_STREAM_WRITE_AFTER_END' })
      process.nextTick(() => res.emit('error', error))
      return false
    }
    const text = head()
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk
    if (isCurrent() && !isSilent() && bytes.length !== 0) {
      if (slot.begun) slot.piece(request, bytes, false)
      else slot.begin(request, text, bytes, false)
    }
    const room = slot.room()
    if (room === undefined) {
      if (done) process.nextTick(done)
      return true
    }
    room.then(() => {
      done?.()
      res.emit('drain')
    })
    return false
  }

  res.end = (chunk, encoding, done) => {
    if (typeof chunk === 'function') [chunk, encoding, done] = [undefined, undefined, chunk]
    else if (typeof encoding === 'function') [encoding, done] = [undefined, encoding]
    if (res.finished) return res
    const bytes =
      chunk === undefined || chunk === null ? NONE : typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk
    let text = head()
    res.finished = true
    if (isCurrent()) {
      if (slot.begun) slot.piece(request, isSilent() ? NONE : bytes, true)
      else if (isSilent()) {
        if (request.method === 'HEAD' && bytes.length !== 0 && !res.hasHeader('content-length'))
          text += `\0content-length\0${bytes.length}`
        slot.respond(request, text, '')
      } else slot.respond(request, text, bytes)
    }
    resolve()
    process.nextTick(() => {
      res.emit('prefinish')
      res.emit('finish')
      done?.()
      res.emit('close')
    })
    return res
  }

  return { res, ended }
}

/**
 * The headers argument of `writeHead`: an object, an array of pairs, or a flat array. Repeated
 * names become arrays.
 */
function pairs(headers) {
  if (!Array.isArray(headers)) return Object.entries(headers ?? {})
  const flat = headers.flat(1)
  const found = new Map()
  for (let at = 0; at + 1 < flat.length; at += 2) {
    const name = String(flat[at]).toLowerCase()
    found.set(name, found.has(name) ? [found.get(name), flat[at + 1]].flat() : flat[at + 1])
  }
  return found
}
