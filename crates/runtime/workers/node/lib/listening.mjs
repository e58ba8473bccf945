// `listen` of the function's own servers. Requests come through the gateway, which checks their
// permission. A TCP port would answer without that check, and only the first instance could open it.

import http from 'node:http'
import https from 'node:https'
import net from 'node:net'

// How long a program that exports nothing may take to call `listen`, in milliseconds.
const PATIENCE = 20000

// Servers whose port stays closed.
const captured = []
// Servers on a port that the kernel chooses, mostly of libraries that talk to themselves.
const local = []
let waiting = null

/** Replaces `listen` for everything that is loaded from now on. */
export function captureListening() {
  const listen = net.Server.prototype.listen
  net.Server.prototype.listen = function (...where) {
    const options = optionsOf(where)
    const port = portOf(options, where)
    if (port === null || this.listening) return listen.apply(this, where)
    const callback = where.at(-1)
    if (typeof callback === 'function') this.once('listening', callback)
    this.once('listening', () => waiting?.end())
    if (port === 0) {
      // Instances do not collide. On loopback, other machines cannot reach it.
      local.push(this)
      return listen.call(this, { ...options, port, host: isLoopback(options.host) ? options.host : '127.0.0.1' })
    }
    if (captured.push(this) === 1) note(port)
    pretend(this, port, options)
    return this
  }
}

/** Reads the arguments as Node does. */
function optionsOf(where) {
  const [first, second] = where
  if (typeof first === 'object' && first !== null) return first._handle ?? first.handle ?? first
  if (typeof first === 'string' && !(Number(first) >= 0)) return { path: first }
  return { port: typeof first === 'function' ? undefined : first, host: typeof second === 'string' ? second : undefined }
}

/** Returns the TCP port, or null for a path, a descriptor, a handle or what Node refuses. */
function portOf(options, where) {
  if (typeof options.fd === 'number') return null
  const { port } = options
  if (where.length === 0 || port === null || (port === undefined && 'port' in options)) return 0
  if (typeof port !== 'number' && (typeof port !== 'string' || port.trim() === '')) return null
  return Number.isInteger(Number(port)) && Number(port) >= 0 && Number(port) < 65536 ? Number(port) : null
}

function isLoopback(host) {
  return host === 'localhost' || host === '::1' || (net.isIPv4(host ?? '') && host.startsWith('127.'))
}

/** Gives a server a handle that does nothing, so that Node's other methods work as if it listened. */
function pretend(server, port, { host, signal }) {
  const address = host === 'localhost' ? '127.0.0.1' : net.isIP(host ?? '') ? host : '::'
  const family = net.isIPv4(address) ? 'IPv4' : 'IPv6'
  server._handle = {
    getsockname(out) {
      Object.assign(out, { address, family, port })
      return 0
    },
    close() {},
    ref() {},
    unref() {},
    hasRef: () => false,
  }
  signal?.addEventListener('abort', () => server.close())
  process.nextTick(() => {
    if (signal?.aborted) server.close()
    else if (server.listening) server.emit('listening')
  })
}

function note(port) {
  process.stderr.write(
    `the function listens on port ${port}, which stays closed here: requests reach it through its routes\n`,
  )
}

/** Whether a server listens. */
export const listens = () => listening().length > 0

/**
 * Waits for a server that listens, because many programs connect to a database first. Ends when
 * nothing is left that could call `listen`; `quiet` says whether the worker's own sockets count.
 */
export async function untilListening(quiet) {
  if (listens()) return
  await new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, PATIENCE).unref()
    process.once('beforeExit', resolve)
    waiting = { end: resolve, fail: reject, timer }
    quiet(true)
  }).finally(() => {
    clearTimeout(waiting.timer)
    process.off('beforeExit', waiting.end)
    waiting = null
    quiet(false)
  })
}

/** Fails a program that throws before it listens. Returns false if it is not waited for. */
export function failWaiting(error) {
  waiting?.fail(error)
  return waiting !== null
}

/** Returns the HTTP server that listens, or a description of what listens instead. */
export function listeningServer() {
  const all = listening()
  const web = all.filter((server) => server.listenerCount('request') > 0)
  // Fastify listens on each address of `localhost`, and other programs on two ports, for one app.
  const apps = new Set(web.map((server) => server.listeners('request')[0]))
  if (apps.size === 1) return { server: web[0], instead: null }
  if (apps.size > 1) return { server: null, instead: `${apps.size} servers of its own` }
  return { server: null, instead: all.length > 0 ? 'a server of its own that does not speak HTTP' : null }
}

function listening() {
  const own = captured.filter((server) => server.listening)
  return own.length > 0 ? own : local.filter((server) => server.listening)
}

/** Whether requests can be given to it: a server of node:http or node:https, or of node:http2. */
export function isServer(found) {
  return (
    found instanceof http.Server ||
    found instanceof https.Server ||
    (found instanceof net.Server && found.listenerCount('request') > 0)
  )
}
