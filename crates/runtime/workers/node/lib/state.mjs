// The worker's state after `init`, and the current request.

import { AsyncLocalStorage } from 'node:async_hooks'

export const state = {
  app: '',
  function: '',
  version: '',
  code: '',
  entry: '', // the file that is being loaded
  threads: 1,
  config: {},
  secrets: {},
  last: null, // the latest request
}

const storage = new AsyncLocalStorage()

/** Runs `run` in the request's async context, which is inherited by everything that it starts. */
export function follow(request, run, slot) {
  state.last = request
  return storage.run(request, run, slot, request)
}

/** The request that caused the running code. */
export function current() {
  return storage.getStore() ?? null
}

/**
 * The same for helpers. Some libraries lose the async context. With one request at a time, it is
 * the latest.
 */
export function likely() {
  return current() ?? (state.threads === 1 ? state.last : null)
}
