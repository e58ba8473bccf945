// `context.response`: Node's response with Express's methods, for functions that send it
// themselves.

import http from 'node:http'

import { incoming, outgoing } from './http.mjs'
import { statusOf } from './reply.mjs'

const TYPES = {
  html: 'text/html',
  text: 'text/plain',
  txt: 'text/plain',
  json: 'application/json',
  xml: 'application/xml',
  js: 'text/javascript',
  css: 'text/css',
  bin: 'application/octet-stream',
}

export function responseOf(request) {
  return Object.assign(outgoing(incoming(request), request).res, METHODS)
}

const METHODS = {
  status(code) {
    this.statusCode = statusOf(code)
    return this
  },
  set(name, value) {
    const all = typeof name === 'object' ? Object.entries(name) : [[name, value]]
    for (const [one, its] of all) this.setHeader(one, Array.isArray(its) ? its.map(String) : String(its))
    return this
  },
  header(name, value) {
    return this.set(name, value)
  },
  get(name) {
    return this.getHeader(name)
  },
  append(name, value) {
    return this.set(name, [this.getHeader(name) ?? [], value].flat())
  },
  type(name) {
    const found = name.includes('/') ? name : (TYPES[name.replace(/^\./, '')] ?? 'application/octet-stream')
    const isText = /^text\/|json|javascript/.test(found) && !found.includes('charset')
    return this.set('content-type', isText ? `${found}; charset=utf-8` : found)
  },
  json(value) {
    if (!this.hasHeader('content-type')) this.type('json')
    this.end(JSON.stringify(value))
    return this
  },
  send(body) {
    if (body === undefined || body === null) body = ''
    if (typeof body !== 'string' && !(body instanceof Uint8Array)) return this.json(body)
    if (!this.hasHeader('content-type')) this.type(typeof body === 'string' ? 'html' : 'bin')
    this.end(body)
    return this
  },
  sendStatus(code) {
    this.status(code).type('text')
    return this.send(http.STATUS_CODES[code] ?? String(code))
  },
  redirect(...to) {
    const [address, code = 302] = to.reverse()
    this.status(code).set('location', address).end()
  },
}
