// The helper module `milepost` for functions: configuration, secrets, and calls to other functions.

import http from 'node:http'

import { likely, state } from './state.mjs'

let agent = null

class CallError extends Error {
  constructor(message, options) {
    super(message, options)
    this.name = 'CallError'
  }
}

/** Escapes path and query as a browser does. Does not escape twice. */
function addressed(path) {
  return path
    .replace(/#.*$/s, '')
    .replace(/[^\x21-\x7e]|["<>`{}]/gu, (letter) =>
      Buffer.from(letter).reduce((text, byte) => text + '%' + byte.toString(16).toUpperCase().padStart(2, '0'), ''),
    )
}

/** Header values are Latin-1. Others are sent as UTF-8. */
function header(value) {
  // eslint-disable-next-line no-control-regex
  return typeof value === 'string' && /[^\x00-\xff]/.test(value) ? Buffer.from(value).latin1Slice() : value
}

export const helper = {
  CallError,
  config: state.config,

  secret(name) {
    if (Object.hasOwn(state.secrets, name)) return state.secrets[name]
    const known = Object.keys(state.secrets).sort().join(', ') || 'none'
    throw new Error(`this function has no secret ${JSON.stringify(name)}; it declares: ${known}`)
  },

  requestId() {
    return likely()?.header(':id') ?? ''
  },

  /**
   * Calls another function of the same release, independent of its routes. Sends GET, or POST with
   * a body.
   */
  call(name, path = '', { method, json, data, body = data, headers = {}, params, signal } = {}) {
    const address = process.env.MILEPOST_GATEWAY
    if (!address)
      return Promise.reject(
        new CallError('MILEPOST_GATEWAY is not set: calls to other functions are not possible here'),
      )
    const fields = Object.fromEntries(Object.entries(headers).map(([key, value]) => [key.toLowerCase(), header(value)]))
    if (json !== undefined) {
      body = JSON.stringify(json)
      fields['content-type'] ??= 'application/json'
    } else if (body instanceof URLSearchParams) {
      body = body.toString()
      fields['content-type'] ??= 'application/x-www-form-urlencoded'
    }
    if (body !== undefined) fields['content-length'] = Buffer.byteLength(body)
    fields['milepost-call'] = likely()?.header(':call') ?? ''
    let target = `/.milepost/call/${encodeURIComponent(name)}/${addressed(path.replace(/^\/+/, ''))}`
    if (params) target += (target.includes('?') ? '&' : '?') + new URLSearchParams(params)
    agent ??= new http.Agent({ keepAlive: true })
    const place = address.startsWith('unix:')
      ? { socketPath: address.slice(5) }
      : { host: address.replace(/:\d+$/, '').replace(/^\[|\]$/g, ''), port: Number(/:(\d+)$/.exec(address)?.[1] ?? 80) }
    return new Promise((resolve, reject) => {
      const lost = (error) =>
        reject(new CallError(`the function ${name} could not be called: ${error.message}`, { cause: error }))
      const request = http.request({
        agent,
        ...place,
        path: target,
        method: method ?? (body === undefined ? 'GET' : 'POST'),
        headers: fields,
        signal,
      })
      request.on('error', lost)
      request.on('response', (response) => {
        const parts = []
        response.on('data', (part) => parts.push(part))
        response.on('error', lost)
        response.on('end', () => {
          const pairs = []
          for (let at = 0; at < response.rawHeaders.length; at += 2)
            pairs.push([response.rawHeaders[at], response.rawHeaders[at + 1]])
          const empty = [101, 204, 205, 304].includes(response.statusCode)
          resolve(new Response(empty ? null : Buffer.concat(parts), { status: response.statusCode, headers: pairs }))
        })
      })
      request.end(body)
    })
  },
}
