// A request: a lazily parsed head, and a body that may still be arriving.

import { Readable } from 'node:stream'

const NONE = Buffer.alloc(0)

export class CallerGone extends Error {
  constructor() {
    super('the caller went away before the request was complete')
    this.name = 'CallerGone'
    this.code = 'ECONNABORTED'
  }
}

export class Request {
  constructor(slot, head, first, ended) {
    this.slot = slot
    this.low = 0 // the two halves of its id
    this.high = 0
    this.head = head
    this.first = first
    this.ended = ended // all of the body was received
    this.cancelled = false
    this.cut = false // the caller left before all of the body was received
    this.skipped = false
    this.pieces = null
    this.held = 0
    this.waiter = null
    this.abort = null
    this.onCancel = null
    this.response = null // set if the function sends the response itself
  }

  get method() {
    return this.head[0]
  }

  /** Path and query, without scheme and host. */
  get target() {
    const target = this.head[1]
    if (target.charCodeAt(0) === 47) return target
    const host = target.indexOf('://')
    const path = host < 0 ? -1 : target.indexOf('/', host + 3)
    return path < 0 ? '/' : target.slice(path)
  }

  get path() {
    const target = this.target
    const query = target.indexOf('?')
    return query < 0 ? target : target.slice(0, query)
  }

  get query() {
    const target = this.target
    const query = target.indexOf('?')
    return query < 0 ? '' : target.slice(query + 1)
  }

  /** Returns one header or fact by its lower-case name. */
  header(name) {
    const head = this.head
    for (let at = 2; at < head.length; at += 2) if (head[at] === name) return head[at + 1]
    return undefined
  }

  get host() {
    return this.header('x-forwarded-host') || this.header('host') || 'localhost'
  }

  get scheme() {
    return this.header('x-forwarded-proto') || 'http'
  }

  get url() {
    return `${this.scheme}://${this.host}${this.target}`
  }

  /** Headers by name. Repeated ones are joined as in Node. */
  headers() {
    const found = {}
    const head = this.head
    for (let at = 2; at < head.length; at += 2) {
      const name = head[at]
      if (name.charCodeAt(0) === 58) continue
      const value = head[at + 1]
      if (name in found) found[name] += (name === 'cookie' ? '; ' : ', ') + value
      else found[name] = value
    }
    return found
  }

  /** The values of the route's parameters. */
  params() {
    const found = {}
    const head = this.head
    for (let at = 2; at < head.length; at += 2) {
      if (head[at].startsWith(':param.')) found[utf8(head[at].slice(7))] = utf8(head[at + 1])
    }
    return found
  }

  // --- the body

  arrived(piece, ended) {
    // After a cut, the end of the frames is not the end of the body: a partial body must not look
    // complete.
    if (this.cut) return
    this.ended = ended
    if (this.skipped) return
    if (piece.length !== 0) {
      ;(this.pieces ??= []).push(piece)
      this.held += piece.length
    }
    this.wake()
  }

  cancel() {
    this.cancelled = true
    this.cut = !this.ended
    this.wake()
    this.onCancel?.()
    this.abort?.abort(new CallerGone())
  }

  /** Discards the rest of the body. */
  skip() {
    this.skipped = true
    this.pieces = null
    this.held = 0
    this.slot.resume()
    this.wake()
  }

  wake() {
    const waiter = this.waiter
    this.waiter = null
    waiter?.()
  }

  /** Returns the next bytes of the body, or null if it is complete. */
  async read() {
    if (this.first.length !== 0) {
      const first = this.first
      this.first = NONE
      return first
    }
    for (;;) {
      if (this.pieces !== null && this.pieces.length !== 0) {
        const piece = this.pieces.shift()
        this.held -= piece.length
        if (this.pieces.length === 0) this.slot.resume()
        return piece
      }
      if (this.ended || this.skipped) return null
      if (this.cancelled) throw new CallerGone()
      await new Promise((resolve) => (this.waiter = resolve))
    }
  }

  /** Returns the whole body: bytes if it was received, else a promise of them. */
  whole() {
    if (this.ended && this.pieces === null) return this.first
    return this.collect()
  }

  async collect() {
    const parts = []
    for (;;) {
      const piece = await this.read()
      if (piece === null) break
      parts.push(piece)
    }
    this.first = parts.length === 1 ? parts[0] : Buffer.concat(parts)
    this.pieces = null
    return this.first
  }

  stream() {
    const request = this
    return new Readable({
      read() {
        request.read().then(
          (piece) => this.push(piece),
          (error) => this.destroy(error),
        )
      },
    })
  }
}

/** Decodes UTF-8 text that was received as Latin-1. */
export function utf8(text) {
  // eslint-disable-next-line no-control-regex
  return /^[\x00-\x7f]*$/.test(text) ? text : Buffer.from(text, 'latin1').toString('utf8')
}
