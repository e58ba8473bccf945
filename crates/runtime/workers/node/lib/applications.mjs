// Applications that are objects and not functions, as the listener `(req, res)` that they have inside.

import http from 'node:http'
import https from 'node:https'

/** Fastify, Koa, Node's own servers, and whatever else has one of those in `server`. */
export function isApplication(target) {
  return typeof target === 'object' && target !== null && (isServer(serverOf(target)) || isFastify(target) || isKoa(target))
}

/** The listener of an application. It has started up by then. */
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

function isServer(found) {
  return found instanceof http.Server || found instanceof https.Server
}

function isFastify(target) {
  return typeof target.ready === 'function' && typeof target.routing === 'function'
}

function isKoa(target) {
  return typeof target.callback === 'function' && typeof target.use === 'function' && Array.isArray(target.middleware)
}
