// The Node worker: a process that waits for a function, loads it and serves its requests.
//
// It is started ahead of time, before its function is known, as
//
//     NODE FOLDER/milepost_worker.mjs
//
// with a listening Unix socket as file descriptor 3, standard input at /dev/null, and an
// environment set by the server (PATH, HOME, LANG, and MILEPOST_GATEWAY for calls to other
// functions). Everything else comes with `init`. FOLDER holds this file, `lib/` and `shim/`.
// Requires Node 18 or later.
//
// `import 'milepost'` and `require('milepost')` find `shim/milepost`. ES modules look for packages
// only in `node_modules` of their parent directories, so a sandbox should mount FOLDER/shim as
// `/node_modules`. Otherwise the worker registers a resolver if the function mentions milepost,
// which costs a thread and some milliseconds before Node 22.15.
//
// `lib/wire.mjs` implements the protocol of docs/decisions/005-runtime.md. The first connection
// carries `init` and then, like the others, requests. When it ends, the worker ends.

import { main } from './lib/start.mjs'

main()
