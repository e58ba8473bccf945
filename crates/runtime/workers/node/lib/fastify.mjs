// Plugins of Fastify as functions, as `fastify start` of fastify-cli runs them:
// `module.exports = async function (fastify, opts) { … }`.

import { createRequire } from 'node:module'
import path from 'node:path'

import { LoadError } from './load.mjs'
import { parameters } from './parameters.mjs'
import { state } from './state.mjs'

// Set by `fastify-plugin`.
const MARKS = [Symbol.for('skip-override'), Symbol.for('plugin-meta')]

export function isPlugin(target) {
  if (typeof target !== 'function') return false
  return MARKS.some((mark) => target[mark] !== undefined) || /^_?fastify$/i.test(parameters(target)[0] ?? '')
}

/**
 * Returns an application with the plugin in it, made by the package's own Fastify. `options` are
 * what the plugin's file exports under this name.
 */
export async function applicationOf(plugin, { file, options = {} }) {
  const app = fastifyOf(file)(options)
  await app.register(plugin, options)
  return app
}

function fastifyOf(file) {
  const require = createRequire(file)
  try {
    require.resolve('fastify')
  } catch {
    throw new LoadError(
      `${path.relative(state.code, file)} exports a plugin of Fastify, but the package does not have Fastify: ` +
        'add `fastify` to the dependencies in package.json',
    )
  }
  const fastify = require('fastify')
  return fastify.default ?? fastify
}
