// Detects the calling convention of a function, once.

import { isApplication, listenerOf } from './applications.mjs'
import * as event from './event.mjs'
import { applicationOf, isPlugin } from './fastify.mjs'
import * as fission from './fission.mjs'
import { LoadError } from './load.mjs'
import * as http from './http.mjs'
import { parameters } from './parameters.mjs'
import { server } from './serve.mjs'
import * as web from './web.mjs'

const CONVENTIONS = {
  fetch: ({ target, run }) => server(web.fetcher(target, run), web.answer, false),
  http: ({ run }) => server(http.listener(run), http.answer, false),
  event: ({ run }) => server(event.handler(run, run.length), event.answer, true),
  input: ({ run }) => server(fission.qinling(run), fission.answerJson, true),
  callback: ({ run }) => server(fission.callback(run), fission.answer, true),
  context: ({ run }) => server(fission.fission(run), fission.answer, true),
}

/** `found` is what `load` returned. */
export async function find(found) {
  let { target, name } = found
  if (!process.env.MILEPOST_CONVENTION && isPlugin(target)) target = await applicationOf(target, found)
  if (typeof target.fetch !== 'function' && isApplication(target)) target = named(await listenerOf(target))
  const convention = process.env.MILEPOST_CONVENTION || detect(target, name)
  const make = CONVENTIONS[convention]
  if (make === undefined) {
    throw new LoadError(`MILEPOST_CONVENTION is ${convention}; it can be ${Object.keys(CONVENTIONS).join(', ')}`)
  }
  const run = typeof target === 'function' && convention !== 'fetch' ? target : (target.fetch ?? target)
  return { serve: make({ target, run }), convention }
}

/** Gives a listener the parameter names from which its convention is detected. */
function named(listener) {
  return (req, res) => listener(req, res)
}

function detect(target, name) {
  if (typeof target !== 'function') return 'fetch'
  if (typeof target.fetch === 'function') return 'fetch'
  const [first = '', second = ''] = parameters(target)
  if (/^_?(req|request)$/i.test(first)) return /^_?(res|response)$/i.test(second) ? 'http' : 'fetch'
  if (/^_?(event|evt)$/i.test(first)) return 'event'
  if (name === 'handler' && !/^_?(context|ctx)$/i.test(first)) return 'event'
  if (target.length >= 2) return /^_?(input|args?|data|params|payload|body)$|^[{[]/i.test(second) ? 'input' : 'callback'
  if (/^_?(input|args?|data|params|payload|body)$|^[{[]/i.test(second)) return 'input'
  return 'context'
}
