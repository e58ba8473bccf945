// Frames on a socket. The common case is one read and one write.

import { Request } from './request.mjs'

export const INIT = 1,
  READY = 2,
  FAILED = 3,
  REQUEST = 4,
  BODY = 5,
  RESPONSE = 6,
  ERROR = 7,
  CANCEL = 8
export const END = 1
// Payload length, kind, flags, two zeros, request id. Requests and responses continue with the
// length of their head.
const HEADER = 16
const HEAD = HEADER + 4
// The size of the pieces of a large body. The server forwards frame by frame.
export const PIECE = 65536
// Limit on unread body bytes. Beyond it, the rest stays with the server.
const HELD = 4 * PIECE
const NONE = Buffer.alloc(0)
const NO_REQUEST = { low: 0, high: 0 }

/** One slot: one connection, one request at a time. */
export class Slot {
  constructor(socket, handler, closed) {
    this.socket = socket
    this.handler = handler
    this.rest = NONE
    this.left = 0 // remaining bytes of the current body frame
    this.last = false // the current frame ends the body
    // Buffer for small responses. Reusable, because the server sends the next request only after it
    // has read the whole response.
    this.out = Buffer.allocUnsafeSlow(PIECE + 16384)
    this.paused = false
    this.request = null
    this.begun = false
    this.draining = null
    socket.on('drain', () => this.drained())
    socket.on('error', () => {})
    socket.on('close', () => {
      this.request?.cancel()
      this.drained()
      closed()
    })
  }

  // --- reading

  /** Handles received data. The caller may reuse the buffer afterwards. */
  receive(data) {
    if (this.rest.length === 0 && this.left === 0 && data.length >= HEAD && data[4] === REQUEST) {
      if (data.readUInt32LE(0) + HEADER === data.length) {
        this.start(data, 0, HEAD, data.readUInt32LE(HEADER) + HEAD, data.length, data[5])
        return
      }
    }
    data = this.rest.length === 0 ? data : Buffer.concat([this.rest, data])
    let at = 0
    for (;;) {
      if (this.left !== 0) {
        const end = Math.min(data.length, at + this.left)
        if (end === at) break
        this.left -= end - at
        this.body(data, at, end, this.left === 0 && this.last)
        at = end
      }
      if (data.length - at < HEADER) break
      const next = this.frame(data, at)
      if (next === at) break
      at = next
    }
    this.rest = at === data.length ? NONE : Buffer.from(data.subarray(at))
  }

  /**
   * Parses one frame, or the received part of a body. Returns the offset of the next frame, or `at`
   * if more data is needed.
   */
  frame(data, at) {
    const length = data.readUInt32LE(at)
    const kind = data[at + 4]
    const flags = data[at + 5]
    const from = at + HEADER
    if (kind === REQUEST) {
      if (data.length < from + 4) return at
      const head = from + 4 + data.readUInt32LE(from)
      if (data.length < head) return at
      const end = Math.min(data.length, from + length)
      this.left = from + length - end
      this.last = (flags & END) !== 0
      this.start(data, at, from + 4, head, end, this.left === 0 ? flags : 0)
      return end
    }
    if (kind === BODY) {
      this.left = length
      this.last = (flags & END) !== 0
      if (length === 0) this.body(data, from, from, this.last)
      return from
    }
    if (data.length < from + length) return at
    if (kind === CANCEL) this.request?.cancel()
    else this.handler.message(this, kind, data.subarray(from, from + length))
    return from + length
  }

  body(data, from, to, ended) {
    // Without a request, these are the rest of a body whose request was answered early.
    const request = this.request
    if (request === null || request.ended) return
    request.arrived(Buffer.from(data.subarray(from, to)), ended)
    if (request.held > HELD && !this.paused) {
      this.paused = true
      this.socket.pause()
    }
  }

  start(data, at, from, head, to, flags) {
    const body = head === to ? NONE : Buffer.from(data.subarray(head, to))
    const request = new Request(this, data.latin1Slice(from, head).split('\0'), body, (flags & END) !== 0)
    request.low = data.readInt32LE(at + 8)
    request.high = data.readInt32LE(at + 12)
    this.request = request
    this.begun = false
    this.handler.request(this, request)
  }

  /** Called by a request when some of its body was consumed. */
  resume() {
    if (!this.paused) return
    this.paused = false
    this.socket.resume()
  }

  // --- writing: every frame carries the id of the answered request, which must be the current one

  /** Sends a whole response: the head as Latin-1 text, the body as text or bytes. */
  respond(request, head, body) {
    if (this.request !== request) return
    const text = typeof body === 'string'
    const size = head.length
    const most = HEAD + size + (text ? body.length * 3 : body.length)
    if (most > this.out.length) {
      this.begin(request, head, text ? Buffer.from(body) : body, true)
      return
    }
    const out = this.out
    out.latin1Write(head, HEAD)
    let end = HEAD + size
    if (text) end += out.utf8Write(body, end)
    else if (body.length !== 0) {
      out.set(body, end)
      end += body.length
    }
    header(out, end - HEADER, RESPONSE, END, request)
    word(out, HEADER, size)
    this.done()
    this.socket.write(out.subarray(0, end))
  }

  /** Sends the head of a response and the first bytes of its body. */
  begin(request, head, body, end) {
    if (this.request !== request) return
    const first = body.length > PIECE ? body.subarray(0, PIECE) : body
    const start = Buffer.allocUnsafe(HEAD + head.length)
    start.latin1Write(head, HEAD)
    header(start, 4 + head.length + first.length, RESPONSE, end && first.length === body.length ? END : 0, request)
    word(start, HEADER, head.length)
    this.begun = true
    if (end) this.done()
    this.socket.cork()
    this.socket.write(start)
    if (first.length !== 0) this.socket.write(first)
    if (first.length !== body.length) this.pieces(request, body.subarray(PIECE), end)
    this.socket.uncork()
  }

  /** Sends more of a response's body. */
  piece(request, body, end) {
    if (this.request !== request) return
    if (end) this.done()
    this.socket.cork()
    this.pieces(request, body, end)
    this.socket.uncork()
  }

  pieces(request, body, end) {
    let at = 0
    do {
      const part = body.length > PIECE ? body.subarray(at, at + PIECE) : body
      at += part.length
      const start = Buffer.allocUnsafe(HEADER)
      header(start, part.length, BODY, end && at === body.length ? END : 0, request)
      this.socket.write(start)
      if (part.length !== 0) this.socket.write(part)
    } while (at < body.length)
  }

  /** Sends an error instead of a response, or of the rest of one. */
  fail(request, document) {
    if (this.request !== request) return
    this.done()
    this.message(ERROR, document, request)
  }

  message(kind, document, request = NO_REQUEST) {
    const payload = Buffer.from(JSON.stringify(document))
    const start = Buffer.allocUnsafe(HEADER)
    header(start, payload.length, kind, 0, request)
    this.socket.write(Buffer.concat([start, payload]))
  }

  /** Called when the response is complete. The unread rest of the request is skipped. */
  done() {
    const request = this.request
    this.request = null
    if (request !== null && !request.ended) request.skip()
  }

  /**
   * Returns a promise that resolves when there is room to write, or undefined if there is room now.
   */
  room() {
    if (!this.socket.writableNeedDrain) return undefined
    this.draining ??= Promise.withResolvers?.() ?? withResolvers()
    return this.draining.promise
  }

  drained() {
    const waiting = this.draining
    this.draining = null
    waiting?.resolve()
  }
}

function header(buffer, length, kind, flags, request) {
  word(buffer, 0, length)
  buffer[4] = kind
  buffer[5] = flags
  buffer[6] = 0
  buffer[7] = 0
  word(buffer, 8, request.low)
  word(buffer, 12, request.high)
}

function word(buffer, at, value) {
  buffer[at] = value
  buffer[at + 1] = value >>> 8
  buffer[at + 2] = value >>> 16
  buffer[at + 3] = value >>> 24
}

function withResolvers() {
  const made = {}
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }))
  return made
}
