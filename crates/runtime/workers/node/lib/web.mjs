// `export default { fetch(request) }`: the web's Request and Response, streamed in both directions.

import { field, send, stream } from './reply.mjs'
import { CallerGone } from './request.mjs'
import { state } from './state.mjs'

export const fetcher = (target, run) => (request) =>
  run.call(target, webRequest(request), (state.env ??= process.env), contextOf(request))

/**
 * A Request with a lazily created signal: following a signal costs twice as much as everything
 * else.
 */
class FetchRequest extends Request {
  #source = null

  static of(source, url, options) {
    const made = new FetchRequest(url, options)
    made.#source = source
    return made
  }

  get signal() {
    const source = this.#source
    if (source === null) return super.signal
    if (source.abort === null) {
      source.abort = new AbortController()
      if (source.cancelled) source.abort.abort(new CallerGone())
    }
    return source.abort.signal
  }
}

function webRequest(request) {
  const method = request.method
  const headers = []
  const head = request.head
  for (let at = 2; at < head.length; at += 2) {
    if (head[at].charCodeAt(0) !== 58) headers.push([head[at], head[at + 1]])
  }
  const options = { method, headers }
  if (method !== 'GET' && method !== 'HEAD' && !(request.ended && request.first.length === 0)) {
    options.body = request.ended ? request.first : webBody(request)
    options.duplex = 'half'
  }
  try {
    return FetchRequest.of(request, request.url, options)
  } catch (error) {
    // An invalid host in the URL, or a method that the standard forbids, is still served.
    if (error?.cause === undefined && !/URL/.test(String(error))) throw error
    return FetchRequest.of(request, `http://localhost${request.target}`, options)
  }
}

function webBody(request) {
  return new ReadableStream({
    type: 'bytes',
    async pull(controller) {
      const piece = await request.read()
      if (piece === null) {
        controller.close()
        controller.byobRequest?.respond(0)
      } else controller.enqueue(new Uint8Array(piece))
    },
  })
}

/** The third argument of other platforms, for work that continues after the response. */
function contextOf(request) {
  return {
    waitUntil: (promise) =>
      void Promise.resolve(promise).catch((error) => process.stderr.write(`${error?.stack ?? error}\n`)),
    passThroughOnException: () => {},
    requestId: request.header(':id') ?? '',
    params: request.params(),
  }
}

export function answer(slot, request, result) {
  if (result instanceof Response || (typeof result?.arrayBuffer === 'function' && typeof result.status === 'number')) {
    return sendWeb(slot, request, result)
  }
  if (result === undefined || result === null)
    throw new TypeError('the function returned nothing; fetch returns a Response')
  return send(slot, request, 200, '', result)
}

// Node on Debian 12 returns all cookies as one value, joined by commas. Later versions, which have
// `getSetCookie`, return each one separately. A comma inside a cookie (in a date) is not followed
// by `name=`.
function cookiesOf(value) {
  return value.split(/,\s*(?=[!#$%&'*+\-.^_`|~0-9A-Za-z]+=)/)
}

export async function sendWeb(slot, request, response) {
  let head = String(response.status)
  for (const [name, value] of response.headers) {
    const joined = name === 'set-cookie' && response.headers.getSetCookie === undefined
    for (const one of joined ? cookiesOf(value) : [value]) head += field(name, one)
  }
  const body = response.body
  const silent = request.method === 'HEAD' || response.status === 204 || response.status === 304
  if (body === null || silent) {
    if (body !== null) body.cancel().catch(() => {})
    slot.respond(request, head, '')
    return
  }
  const reader = body.getReader()
  const first = await reader.read()
  if (slot.request !== request) return
  if (first.done) {
    slot.respond(request, head, '')
    return
  }
  // Most bodies are a single piece, which then goes out in one frame.
  const ahead = reader.read()
  const second = await Promise.race([ahead, undefined])
  if (second?.done) {
    if (slot.request === request) slot.respond(request, head, bytesOf(first.value))
    return
  }
  await stream(slot, request, head, rest(reader, first.value, ahead), false)
}

async function* rest(reader, first, ahead) {
  try {
    yield first
    for (let next = await ahead; !next.done; next = await reader.read()) yield next.value
  } finally {
    reader.cancel().catch(() => {})
  }
}

function bytesOf(value) {
  if (value instanceof Uint8Array) return value
  if (typeof value === 'string') return Buffer.from(value)
  throw new TypeError(`a piece of a response's body is ${typeof value}; it must be bytes`)
}
