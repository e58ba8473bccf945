// Runs a function for a request and responds with its result, synchronous or not.

import { BadRequest } from './body.mjs'
import { explain } from './load.mjs'
import { follow } from './state.mjs'

/**
 * Returns the serve function of a convention.
 *
 * `call(request, body)` returns a result or a promise. `answer(slot, request, result)` sends it,
 * and may return a promise too.
 */
export function server(call, answer, wantsBody) {
  const run = (slot, request) => {
    try {
      const body = wantsBody ? request.whole() : undefined
      const result = body instanceof Promise ? body.then((bytes) => call(request, bytes)) : call(request, body)
      if (result !== null && typeof result === 'object' && typeof result.then === 'function') {
        result.then(
          (value) => finish(slot, request, value, answer),
          (error) => failed(slot, request, error),
        )
      } else finish(slot, request, result, answer)
    } catch (error) {
      failed(slot, request, error)
    }
  }
  return (slot, request) => follow(request, run, slot)
}

function finish(slot, request, value, answer) {
  if (slot.request !== request) return
  try {
    const sending = answer(slot, request, value)
    if (sending !== undefined) sending.catch((error) => failed(slot, request, error))
  } catch (error) {
    failed(slot, request, error)
  }
}

/** Responds for a function that threw, unless the response is complete. */
function failed(slot, request, error) {
  if (slot.request === request) fail(slot, request, error)
}

export function fail(slot, request, error) {
  if (error instanceof BadRequest && !slot.begun) {
    slot.respond(request, `${error.status}\0content-type\0text/plain; charset=utf-8`, error.message + '\n')
    return
  }
  const { message, text, trace } = explain(error)
  process.stderr.write(trace + '\n')
  // The sandbox refused a process.
  const exhausted = error?.code === 'EAGAIN'
  slot.fail(request, { message, text, exhausted, trace })
}
