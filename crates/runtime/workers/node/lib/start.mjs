// From an idle process to a serving function: accept, init, load, ready.

import net from 'node:net'
import path from 'node:path'
import { createRequire, Module } from 'node:module'

// Preloads what functions commonly use, before a call waits for it.
import 'node:assert'
import 'node:buffer'
import 'node:crypto'
import 'node:events'
import fs from 'node:fs'
import 'node:fs/promises'
import 'node:http'
import 'node:https'
import os from 'node:os'
import 'node:stream'
import 'node:stream/promises'
import 'node:timers/promises'
import 'node:url'
import 'node:util'
import 'node:zlib'

import { find } from './conventions.mjs'
import { captureListening, failWaiting } from './listening.mjs'
import { explain, load, prepare } from './load.mjs'
import { helper } from './milepost.mjs'
import * as mounts from './mounts.mjs'
import { markOutput } from './output.mjs'
import { fail } from './serve.mjs'
import { current, state } from './state.mjs'
import { END, ERROR, FAILED, INIT, PIECE, READY, Slot } from './wire.mjs'

const CONFIG_IN_ENVIRONMENT = 32 * 1024

export function main() {
  globalThis[Symbol.for('milepost')] = helper
  prepare()
  writeAtOnce()
  warm()
  let first = null
  let serve = null
  const handler = {
    request: (slot, request) => serve(slot, request),
    message: (slot, kind, payload) => {
      if (kind !== INIT || first !== slot || serve !== null)
        throw new Error(`a frame of kind ${kind} came where a request was due`)
      const quiet = (yes) => [server, slot.socket].forEach((own) => (yes ? own.unref() : own.ref()))
      begin(slot, JSON.parse(payload.toString()), quiet).then((found) => (serve = found))
    },
  }
  const server = net.createServer({ pauseOnConnect: true }, (accepted) => {
    let slot = null
    const socket = reading(accepted, (data) => slot.receive(data))
    slot = new Slot(socket, handler, () => {
      if (slot === first) process.exit(0)
    })
    first ??= slot
    socket.resume()
  })
  server.listen({ fd: 3 })
}

/**
 * Makes writes to standard output and error synchronous, as in Python. Otherwise Node buffers what
 * does not fit into the pipe in the function's memory and writes it after the response, so that it
 * would be attributed to the next request.
 */
function writeAtOnce() {
  for (const stream of [process.stdout, process.stderr]) stream._handle?.setBlocking?.(true)
}

/**
 * Reuses one read buffer for the whole connection. A new one per read would cost a fifth of a small
 * request.
 */
function reading(accepted, receive) {
  const handle = accepted._handle
  if (!handle || typeof handle.useUserBuffer !== 'function') {
    accepted.on('data', receive)
    return accepted
  }
  accepted._handle = null
  const buffer = Buffer.allocUnsafeSlow(PIECE)
  const callback = (count, data) => {
    receive(data.subarray(0, count))
    return true
  }
  return new net.Socket({ handle, onread: { buffer, callback }, readable: true, writable: true })
}

async function begin(slot, init, quiet) {
  try {
    settle(init)
    const { serve, convention } = await find(await load(init.entrypoint ?? '', state.code, quiet))
    slot.message(READY, { convention })
    return serve
  } catch (error) {
    const { message, trace } = explain(error)
    process.stderr.write(trace + '\n')
    slot.message(FAILED, { message, trace })
    slot.socket.end(() => process.exit(1))
    return null
  }
}

/** Assigns the process to the function: its variables, secrets and directory. */
function settle(init) {
  state.app = init.app ?? ''
  state.function = init.function ?? ''
  state.version = String(init.version ?? '')
  state.threads = init.threads ?? 1
  state.code = path.resolve(init.code)
  Object.assign(state.config, init.config ?? {})
  Object.assign(state.secrets, init.secrets ?? {})

  Object.assign(process.env, { NODE_ENV: 'production' }, init.variables ?? {}, init.secrets ?? {})
  process.env.MILEPOST_APP = state.app
  process.env.MILEPOST_FUNCTION = state.function
  process.env.MILEPOST_VERSION = state.version
  const config = JSON.stringify(init.config ?? {})
  if (Buffer.byteLength(config) < CONFIG_IN_ENVIRONMENT) process.env.MILEPOST_CONFIG = config

  const { secrets = {}, configmaps = [], config: document = {} } = init
  if (configmaps.length > 0 || Object.keys(secrets).length > 0) mounts.write(state.app, secrets, configmaps, document)

  markOutput()
  captureListening()
  process.chdir(init.variables?.MILEPOST_WORKDIR === 'writable' ? writable(state.code) : state.code)
  process.argv[1] = path.join(state.code, 'main.js')

  const astray = (error) => {
    const request = current()
    if (request !== null && request.slot.request === request) fail(request.slot, request, error)
    else if (!failWaiting(error)) process.stderr.write(explain(error).trace + '\n')
  }
  process.on('unhandledRejection', astray)
  process.on('uncaughtException', astray)
}

/** Returns a writable directory of the instance that links to the package's files. */
function writable(code) {
  const folder = path.join(os.tmpdir(), 'work')
  fs.mkdirSync(folder, { recursive: true })
  for (const name of fs.readdirSync(code)) {
    try {
      fs.symlinkSync(path.join(code, name), path.join(folder, name))
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
  }
  return folder
}

/** Pays the first-use costs of both module systems and of responses ahead of time. */
function warm() {
  createRequire(import.meta.url)('./warm.cjs')
  void [Module, END, ERROR, Request, Response, Headers, URL, URLSearchParams, TextDecoder, AbortController]
  new Response('x').headers.set('content-type', 'text/plain')
  new Request('http://localhost/')
}
