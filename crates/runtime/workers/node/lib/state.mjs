// What a worker knows about itself after `init`, and which request runs.

import { AsyncLocalStorage } from 'node:async_hooks'

export const state = {
  app: '',
  function: '',
  version: '',
  code: '',
  entry: '', // the file that is being loaded, until it is
  threads: 1,
  config: {},
  secrets: {},
  last: null, // the request that came last
  listened: false, // something began to listen while the function was loaded
}

const storage = new AsyncLocalStorage()

/** Runs what a request causes, now and later, as its own. */
export function follow(request, run, slot) {
  state.last = request
  return storage.run(request, run, slot, request)
}

/** The request that caused what runs now. */
export function current() {
  return storage.getStore() ?? null
}

/** The same for helpers: some libraries lose track of it, and with one request at a time it is the last. */
export function likely() {
  return current() ?? (state.threads === 1 ? state.last : null)
}
