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
  // With one slot there is one request at a time, and a variable is enough; storage that follows promises costs every promise.
  only: null,
  storage: null,
}

export function current() {
  return state.storage === null ? state.only : (state.storage.getStore() ?? null)
}

export function follow() {
  state.storage = new AsyncLocalStorage()
}
