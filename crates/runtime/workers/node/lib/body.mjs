// Parses bodies by content type, for functions that expect them parsed.

import { isUtf8 } from 'node:buffer'

import { grouped } from './fission.mjs'

/**
 * Parses JSON to a value, a form to an object, and text to a string. Anything else stays bytes.
 * Invalid JSON is the caller's error.
 */
export function parse(bytes, type, text) {
  const kind = type.split(';', 1)[0].trim().toLowerCase()
  if (bytes.length === 0) return kind.startsWith('text/') ? '' : {}
  if (kind === 'application/json' || kind.endsWith('+json')) {
    try {
      return JSON.parse(text ?? bytes.toString())
    } catch (error) {
      throw new BadRequest(`the request's body is not JSON: ${error.message}`)
    }
  }
  if (kind === 'application/x-www-form-urlencoded') return grouped(new URLSearchParams(text ?? bytes.toString()))
  if ((kind === '' && isUtf8(bytes)) || kind.startsWith('text/') || kind === 'application/xml' || kind.endsWith('+xml'))
    return text ?? bytes.toString()
  return bytes
}

/** Results in a 400 instead of a 500, unless the function catches it. */
export class BadRequest extends Error {
  constructor(message) {
    super(message)
    this.name = 'BadRequest'
    this.status = 400
  }
}
