// Attributes output to its request, even after the response: such lines begin with the request's
// id, which the server removes.

import { current, state } from './state.mjs'

const MARK = '\x1e'

/** Marks lines that the server cannot attribute by time. */
export function markOutput() {
  for (const stream of [process.stdout, process.stderr]) {
    const write = stream.write
    let owner = '' // the mark of the unfinished line
    let fresh = true // no line is unfinished
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
      // Ends an unfinished line of another request.
      const before = fresh ? mark : owner === mark ? '' : '\n' + mark
      fresh = text.endsWith('\n')
      owner = mark
      return write.call(stream, Buffer.from(before + text.replace(/\n(?!$)/g, '\n' + mark), 'latin1'), done)
    }
  }
}

/** With one request at a time, output before the end of the response belongs to the request. */
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
