// `async (context) => ({ status, body, headers })`, its callback form, and `(context, input) =>
// value`.

import { parse } from './body.mjs'
import { responseOf } from './express.mjs'
import { sendWeb } from './web.mjs'
import { fields, send, statusOf } from './reply.mjs'
import { utf8 } from './request.mjs'
import { state } from './state.mjs'

/** `context.request`. Its parts are computed lazily. */
class ContextRequest {
  #request
  #bytes
  #made = {}

  constructor(request, bytes) {
    this.#request = request
    this.#bytes = bytes
  }

  get method() {
    return this.#request.method
  }
  get url() {
    return this.#request.target
  }
  get originalUrl() {
    return this.#request.target
  }
  get path() {
    return (this.#made.path ??= decoded(this.#request.path))
  }
  get headers() {
    return (this.#made.headers ??= this.#request.headers())
  }
  get query() {
    return (this.#made.query ??= grouped(new URLSearchParams(utf8(this.#request.query))))
  }
  get params() {
    return (this.#made.params ??= this.#request.params())
  }
  get body() {
    if (!('body' in this.#made)) this.#made.body = parse(this.#bytes, this.#request.header('content-type') ?? '')
    return this.#made.body
  }
  set body(value) {
    this.#made.body = value
  }
  get rawBody() {
    return this.#bytes
  }
  get raw() {
    return this.#bytes
  }
  get protocol() {
    return this.#request.scheme
  }
  get secure() {
    return this.#request.scheme === 'https'
  }
  get hostname() {
    return this.#request.host.replace(/:\d+$/, '')
  }
  get ip() {
    return this.#request.header(':client')
  }
  get id() {
    return this.#request.header(':id')
  }
  get cookies() {
    return (this.#made.cookies ??= cookies(this.#request.header('cookie') ?? ''))
  }
  get(name) {
    return this.headers[name.toLowerCase()]
  }
  header(name) {
    return this.get(name)
  }
}

class Context {
  #request
  constructor(request, bytes) {
    this.#request = request
    this.request = new ContextRequest(request, bytes)
  }
  get requestId() {
    return this.#request.header(':id') ?? ''
  }
  get release() {
    return this.#request.header(':release') ?? ''
  }
  get app() {
    return state.app
  }
  get functionName() {
    return state.function
  }
  get functionVersion() {
    return state.version
  }
  get config() {
    return state.config
  }
  /** For functions that send the response themselves. */
  get response() {
    return (this.#request.response ??= responseOf(this.#request))
  }
}

function decoded(path) {
  try {
    return decodeURIComponent(utf8(path))
  } catch {
    return path
  }
}

/** Repeated names become arrays. */
export function grouped(pairs) {
  const found = {}
  for (const [name, value] of pairs) {
    if (!Object.hasOwn(found, name)) found[name] = value
    else if (Array.isArray(found[name])) found[name].push(value)
    else found[name] = [found[name], value]
  }
  return found
}

function cookies(text) {
  const found = {}
  for (const part of text.split(';')) {
    const equals = part.indexOf('=')
    if (equals > 0) found[part.slice(0, equals).trim()] = decoded(part.slice(equals + 1).trim())
  }
  return found
}

export const fission = (run) => (request, bytes) => run(new Context(request, bytes))

export const callback = (run) => (request, bytes) =>
  new Promise((resolve, reject) => {
    const back = (status, body, headers) => {
      if (status instanceof Error) reject(status)
      else if (typeof status === 'object' && status !== null) resolve(status)
      else resolve({ status, body, headers })
    }
    const result = run(new Context(request, bytes), back)
    // An async function that ignores its callback responds with its return value.
    if (typeof result?.then === 'function') result.then((value) => value !== undefined && resolve(value), reject)
  })

/**
 * The input is a JSON object, a form, the query or a JSON string. Any other text is passed as it
 * is.
 */
export const qinling = (run) => (request, bytes) => {
  const context = new Context(request, bytes)
  let input = context.request.query
  if (bytes.length !== 0) {
    const type = request.header('content-type') ?? ''
    const text = bytes.toString()
    input = (/json/.test(type) ? /^\s*[{"]/ : /^\s*\{/).test(text)
      ? parse(bytes, 'application/json', text)
      : parse(bytes, /json/.test(type) ? 'text/plain' : type, text)
    if (input instanceof Uint8Array) input = text
  }
  return run(context, input)
}

export function answer(slot, request, result) {
  const response = request.response
  if (response !== null) {
    if (result === undefined || result === null) return undefined
    // The function only set headers or the status on its response, and returned the body.
    if (!(result instanceof Response)) result = merged(response, result)
  }
  if (typeof result === 'string') return send(slot, request, 200, '', result)
  if (result === undefined || result === null) return send(slot, request, 204, '', '')
  if (result instanceof Response) return sendWeb(slot, request, result)
  if (typeof result === 'object' && !(result instanceof Uint8Array) && isResponse(result)) {
    const status = result.status ?? result.statusCode
    return send(slot, request, status === undefined ? 200 : statusOf(status), fields(result.headers), result.body)
  }
  return send(slot, request, 200, '', result)
}

function merged(response, result) {
  const whole =
    typeof result === 'object' && !(result instanceof Uint8Array) && isResponse(result) ? result : { body: result }
  const headers = response.getHeaders()
  const given = whole.headers ?? {}
  const pairs = typeof given[Symbol.iterator] === 'function' ? given : Object.entries(given)
  for (const [name, value] of pairs) headers[name.toLowerCase()] = value
  return { status: whole.status ?? whole.statusCode ?? response.statusCode, headers, body: whole.body }
}

function isResponse(result) {
  // A plain object with a field named status, such as { status: 'ok' }, is a body.
  const status = result.status ?? result.statusCode
  return 'body' in result || Number.isInteger(typeof status === 'string' ? Number(status) : status)
}

export function answerJson(slot, request, result) {
  if (request.response !== null && (result === undefined || result === null)) return undefined
  if (result instanceof Response) return sendWeb(slot, request, result)
  return send(slot, request, 200, '\0content-type\0application/json', JSON.stringify(result) ?? 'null')
}
