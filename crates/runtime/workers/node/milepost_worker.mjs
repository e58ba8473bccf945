// The Node worker: a process that waits for a function, loads it and serves its requests.
//
// Started ahead of need, before it knows any function, as
//
//     NODE FOLDER/milepost_worker.mjs
//
// with a listening Unix socket as file descriptor 3, standard input at /dev/null, and an environment of the server's choice
// (PATH, HOME, LANG, and MILEPOST_GATEWAY for calls to other functions; everything else comes with `init`). FOLDER holds this
// file, `lib/` and `shim/`. Node 18 or later.
//
// `import 'milepost'` and `require('milepost')` find `shim/milepost`. ES modules look for packages in `node_modules` of the
// folders above them and nowhere else, so a sandbox should show FOLDER/shim as `/node_modules`. Where it does not, the worker
// registers a resolver, when the function mentions milepost; that costs a thread and some milliseconds on Node before 22.15.
//
// The protocol is docs/decisions/005-runtime.md; `lib/wire.mjs` speaks it. The first connection carries `init`, then, like
// the others, requests. When it ends, the worker ends.

import { main } from './lib/start.mjs'

main()
