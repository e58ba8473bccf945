// Encodes responses: heads, and every kind of body that functions return.

import { Readable } from 'node:stream'

export const HTML = '\0content-type\0text/html; charset=utf-8'
export const JSON_TYPE = '\0content-type\0application/json; charset=utf-8'
export const BYTES = '\0content-type\0application/octet-stream'
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
// eslint-disable-next-line no-control-regex
const BROKEN = /[\0\r\n]/
// eslint-disable-next-line no-control-regex
const WIDE = /[^\x00-\xff]/

/** Encodes one header. Rejects values that could inject another header. */
export function field(name, value) {
  if (!NAME.test(name)) throw new TypeError(`${JSON.stringify(name)} is not the name of a header`)
  value = String(value)
  if (BROKEN.test(value)) throw new TypeError(`the header ${name} has a line break or a NUL in its value`)
  if (WIDE.test(value)) value = Buffer.from(value, 'utf8').latin1Slice()
  return `\0${name.toLowerCase()}\0${value}`
}

/** Encodes headers from an object, pairs or `Headers`. An array value repeats the name. */
export function fields(headers) {
  if (headers === undefined || headers === null) return ''
  let found = ''
  const pairs = typeof headers[Symbol.iterator] === 'function' ? headers : Object.entries(headers)
  for (const [name, value] of pairs) {
    if (value === undefined || value === null) continue
    if (Array.isArray(value)) for (const one of value) found += field(name, one)
    else found += field(name, value)
  }
  return found
}

export function statusOf(status) {
  const number = Number(status)
  if (!Number.isInteger(number) || number < 100 || number > 999)
    throw new TypeError(`${status} is not a status of HTTP`)
  return number
}

function hasNoBody(status) {
  return status === 204 || status === 304 || status < 200
}

/** Sends a response. Returns a promise if the body is a stream. */
export function send(slot, request, status, headers, body) {
  const typed = headers !== '' && headers.includes('\0content-type\0')
  if (typeof body === 'string') {
    if (!typed) headers += HTML
  } else if (body === undefined || body === null) body = ''
  else if (body instanceof Uint8Array) {
    if (!typed) headers += BYTES
  } else if (body instanceof ArrayBuffer) {
    body = new Uint8Array(body)
    if (!typed) headers += BYTES
  } else if (isStream(body)) {
    if (!typed) headers += BYTES
    return stream(slot, request, status + headers, body, request.method === 'HEAD' || hasNoBody(status))
  } else {
    body = JSON.stringify(body)
    if (!typed) headers += JSON_TYPE
  }
  if (request.method === 'HEAD') {
    if (!headers.includes('\0content-length\0') && !hasNoBody(status))
      headers += `\0content-length\0${Buffer.byteLength(body)}`
    body = ''
  } else if (hasNoBody(status)) body = ''
  slot.respond(request, status + headers, body)
  return undefined
}

export function isStream(body) {
  return (
    typeof body === 'object' &&
    body !== null &&
    (typeof body.pipe === 'function' ||
      typeof body.getReader === 'function' ||
      typeof body[Symbol.asyncIterator] === 'function' ||
      (typeof body.next === 'function' && typeof body[Symbol.iterator] === 'function'))
  )
}

/**
 * Sends each piece when it is available. The head goes with the first, so that an earlier error
 * still becomes a 500.
 */
export async function stream(slot, request, head, body, silent) {
  const pieces =
    typeof body.getReader === 'function' && typeof body[Symbol.asyncIterator] !== 'function'
      ? Readable.fromWeb(body)
      : body
  if (silent) {
    pieces.destroy?.()
    pieces.return?.()
    body.cancel?.().catch(() => {})
    slot.respond(request, head, '')
    return
  }
  const iterator = pieces[Symbol.asyncIterator]?.() ?? pieces[Symbol.iterator]()
  for (;;) {
    const next = await nextOf(iterator, request)
    if (slot.request !== request) return
    if (next === null || next.done) break
    const piece = await next.value
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece
    if (!(bytes instanceof Uint8Array)) {
      close(iterator)
      throw new TypeError(`a piece of a response's body is ${typeof piece}; it must be text or bytes`)
    }
    if (bytes.length === 0) continue
    if (slot.begun) slot.piece(request, bytes, false)
    else slot.begin(request, head, bytes, false)
    await slot.room()
  }
  if (slot.request !== request) return
  if (slot.begun) slot.piece(request, Buffer.alloc(0), true)
  else slot.respond(request, head, '')
}

/** Returns the next piece, or null as soon as the caller has left. */
function nextOf(iterator, request) {
  return new Promise((resolve, reject) => {
    if (request.cancelled) {
      close(iterator)
      resolve(null)
      return
    }
    request.onCancel = () => {
      close(iterator)
      resolve(null)
    }
    Promise.resolve(iterator.next()).then(resolve, reject)
  })
}

/** Closes a stream that is not read any further. */
function close(iterator) {
  Promise.resolve(iterator.return?.()).catch(() => {})
}
