// Secrets and configuration as files where Fission's functions read them:
// `/secrets/NAMESPACE/NAME/KEY` and `/configs/NAMESPACE/NAME/KEY`. The namespace is the app, and
// `default` for code that hard-codes it.

import fs from 'node:fs'
import path from 'node:path'

import { LoadError } from './load.mjs'

const DEFAULT = 'default'
// The characters that Kubernetes allows in a key.
const KEY = /^[-._a-zA-Z0-9]{1,253}$/

export function write(app, secrets, configmaps, config) {
  if (configmaps.length > 0 && !isLink('/configs')) {
    throw new LoadError('Files under /configs need a sandbox with a file system of its own, which this server lacks')
  }
  for (const name of configmaps) {
    const members = Object.hasOwn(config, name) ? config[name] : null
    if (!isObject(members)) {
      throw new LoadError(
        `The configuration has no '${name}' with keys below it, which the function reads as files; ` +
          `set one with \`milepost config set ${name}.KEY=VALUE\``
      )
    }
    const text = (value) => (typeof value === 'string' ? value : JSON.stringify(value))
    fill('/configs', app, name, Object.entries(members).map(([key, value]) => [key, text(value)]))
  }
  for (const [name, value] of Object.entries(secrets)) fill('/secrets', app, name, keys(value))
}

/**
 * A secret that is a JSON object of strings becomes one file per member, any other secret a single
 * file.
 */
function keys(value) {
  let found = null
  try {
    found = JSON.parse(value)
  } catch {}
  const members = isObject(found) ? Object.entries(found) : []
  return members.length > 0 && members.every(([, text]) => typeof text === 'string') ? members : [['value', value]]
}

function fill(link, app, name, files) {
  if (!isLink(link)) return
  const folder = fs.readlinkSync(link)
  const own = path.join(folder, app, name)
  fs.mkdirSync(own, { recursive: true, mode: 0o700 })
  try {
    if (app !== DEFAULT) fs.symlinkSync(app, path.join(folder, DEFAULT))
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
  }
  for (const [key, text] of files) {
    if (KEY.test(key) && key !== '.' && key !== '..') fs.writeFileSync(path.join(own, key), text, { mode: 0o400 })
  }
}

function isLink(name) {
  return fs.lstatSync(name, { throwIfNoEntry: false })?.isSymbolicLink() ?? false
}

function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
