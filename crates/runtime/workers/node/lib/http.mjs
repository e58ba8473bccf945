// `(req, res)`: functions and applications written for Node's own HTTP server.

import http from 'node:http'
import { Duplex } from 'node:stream'

import { field, statusOf } from './reply.mjs'

export const listener = (run) => (request) => {
  const req = new Incoming(request)
  const res = new Outgoing(req, request)
  const result = run(req, res)
  if (typeof result?.then !== 'function') return res.ended
  // It has answered when the response is complete, not when its promise is; but if that fails, so does the request.
  return Promise.race([res.ended, new Promise((_, reject) => result.then(undefined, reject))])
}

/** The response has been sent by the time there is a result. */
export const answer = () => undefined

class Incoming extends http.IncomingMessage {
  #request
  constructor(request) {
    super(new Socket(request))
    this.#request = request
    this.method = request.method
    this.url = request.target
    this.httpVersion = '1.1'
    this.httpVersionMajor = this.httpVersionMinor = 1
    const head = request.head
    for (let at = 2; at < head.length; at += 2) {
      if (head[at].charCodeAt(0) !== 58) this.rawHeaders.push(head[at], head[at + 1])
    }
    this.params = request.params()
  }

  _read() {
    this.#request.read().then(
      (piece) => {
        if (piece === null) this.complete = true
        this.push(piece)
      },
      (error) => this.destroy(error),
    )
  }
}

/** What frameworks look at: the caller's address, and whether it is there. */
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

/** Keeps Node's way with headers and writes frames instead of HTTP. */
class Outgoing extends http.ServerResponse {
  #request
  #slot
  #resolve

  constructor(req, request) {
    super(req)
    this.#request = request
    this.#slot = request.slot
    this.socket = this.connection = req.socket
    this.ended = new Promise((resolve) => (this.#resolve = resolve))
    request.onCancel = () => this.emit('close')
  }

  writeHead(status, reason, headers) {
    if (this.headersSent) throw new Error('the head of the response was sent already')
    if (typeof reason === 'object') headers = reason
    else if (reason !== undefined) this.statusMessage = reason
    this.statusCode = statusOf(status)
    if (Array.isArray(headers)) {
      const pairs = Array.isArray(headers[0]) ? headers : headers.flatMap((name, at) => (at % 2 ? [] : [[name, headers[at + 1]]]))
      for (const [name] of pairs) this.removeHeader(name)
      for (const [name, value] of pairs) this.appendHeader(name, value)
    } else for (const [name, value] of Object.entries(headers ?? {})) if (value !== undefined) this.setHeader(name, value)
    this.#head()
    return this
  }

  #head() {
    if (this._header) return this._header
    let head = String(this.statusCode)
    for (const name of this.getHeaderNames()) {
      if (name === 'connection' || name === 'transfer-encoding' || name === 'keep-alive') continue
      const value = this.getHeader(name)
      for (const one of Array.isArray(value) ? value : [value]) head += field(name, one)
    }
    // Read by `headersSent`.
    this._header = head
    return head
  }

  get #silent() {
    return this.#request.method === 'HEAD' || this.statusCode === 204 || this.statusCode === 304
  }

  flushHeaders() {
    const head = this.#head()
    if (this.#slot.request === this.#request && !this.#slot.begun) this.#slot.begin(head, Buffer.alloc(0), false)
  }

  write(chunk, encoding, done) {
    if (typeof encoding === 'function') [encoding, done] = [undefined, encoding]
    if (this.finished) {
      const error = new Error('write after end')
      error.code = 'ERR_STREAM_WRITE_AFTER_END'
      process.nextTick(() => this.emit('error', error))
      return false
    }
    const head = this.#head()
    const slot = this.#slot
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk
    if (slot.request === this.#request && !this.#silent && bytes.length !== 0) {
      if (slot.begun) slot.piece(bytes, false)
      else slot.begin(head, bytes, false)
    }
    const room = slot.room()
    if (room === undefined) {
      if (done) process.nextTick(done)
      return true
    }
    room.then(() => {
      done?.()
      this.emit('drain')
    })
    return false
  }

  end(chunk, encoding, done) {
    if (typeof chunk === 'function') [chunk, encoding, done] = [undefined, undefined, chunk]
    else if (typeof encoding === 'function') [encoding, done] = [undefined, encoding]
    if (this.finished) return this
    const slot = this.#slot
    const bytes = chunk === undefined || chunk === null ? Buffer.alloc(0) : typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk
    const head = this.#head()
    this.finished = true
    if (slot.request === this.#request) {
      if (slot.begun) slot.piece(this.#silent ? Buffer.alloc(0) : bytes, true)
      else if (this.#silent) slot.respond(head + (this.#request.method === 'HEAD' && chunk && !this.hasHeader('content-length') ? `\0content-length\0${bytes.length}` : ''), '')
      else slot.respond(head, bytes)
    }
    this.#resolve()
    process.nextTick(() => {
      this.emit('prefinish')
      this.emit('finish')
      done?.()
      this.emit('close')
    })
    return this
  }
}
