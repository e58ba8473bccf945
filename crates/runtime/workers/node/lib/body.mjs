// Bodies by their content type, for functions that expect them parsed.

import { isUtf8 } from 'node:buffer'

import { grouped } from './fission.mjs'

/** JSON as a value, a form as an object, text as text, anything else as bytes. JSON that is broken is the caller's fault. */
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

/** Answered with 400 rather than 500, unless the function catches it. */
export class BadRequest extends Error {
  constructor(message) {
    super(message)
    this.name = 'BadRequest'
    this.status = 400
  }
}
