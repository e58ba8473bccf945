// Converts applications that are objects to the `(req, res)` listener inside them.

import { isServer } from './listening.mjs'

/** Whether it is Fastify, Koa, a server of Node, or an object with such a server in `server`. */
export function isApplication(target) {
  return typeof target === 'object' && target !== null && (isServer(serverOf(target)) || isFastify(target) || isKoa(target))
}

/** Returns the listener of an application, after its startup. */
export async function listenerOf(target) {
  if (typeof target.ready === 'function') await target.ready()
  if (isKoa(target)) return target.callback()
  if (typeof target.routing === 'function') return (req, res) => target.routing(req, res)
  const server = serverOf(target)
  return (req, res) => void server.emit('request', req, res)
}

function serverOf(target) {
  return isServer(target) ? target : target.server
}

function isFastify(target) {
  return typeof target.ready === 'function' && typeof target.routing === 'function'
}

function isKoa(target) {
  return typeof target.callback === 'function' && typeof target.use === 'function' && Array.isArray(target.middleware)
}
