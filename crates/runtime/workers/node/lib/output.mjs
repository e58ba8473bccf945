// What a request writes is its own, also after it has been answered: such lines begin with its id, which the server takes off.

import { current, state } from './state.mjs'

const MARK = '\x1e'

/** Marks lines where the server cannot tell by the time whose they are. */
export function markOutput() {
  for (const stream of [process.stdout, process.stderr]) {
    const write = stream.write
    let owner = '' // whose line is unfinished
    let fresh = true // no line is
    stream.write = function (chunk, encoding, done) {
      const request = current()
      const mark = request === null || isRunningAlone(request) ? '' : markOf(request)
      if (mark === '' && (fresh || owner === '')) {
        fresh = endsLine(chunk)
        owner = ''
        return write.call(stream, chunk, encoding, done)
      }
      if (typeof encoding === 'function') [encoding, done] = [undefined, encoding]
      const text = (typeof chunk === 'string' ? Buffer.from(chunk, encoding) : Buffer.from(chunk)).latin1Slice()
      // A line of another request that is unfinished ends here.
      const before = fresh ? mark : owner === mark ? '' : '\n' + mark
      fresh = text.endsWith('\n')
      owner = mark
      return write.call(stream, Buffer.from(before + text.replace(/\n(?!$)/g, '\n' + mark), 'latin1'), done)
    }
  }
}

/** With one request at a time, what is written before the end of its response belongs to it. */
function isRunningAlone(request) {
  return state.threads === 1 && request.slot.request === request
}

function markOf(request) {
  return MARK + hex(request.high) + hex(request.low) + MARK
}

function hex(half) {
  return (half >>> 0).toString(16).padStart(8, '0')
}

function endsLine(chunk) {
  const last = chunk[chunk.length - 1]
  return last === undefined || last === '\n' || last === 10
}
