// Finds the function that an entrypoint names, and reports clearly if it cannot.

import fs from 'node:fs'
import module, { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

import { isApplication } from './applications.mjs'
import { listeningServer, listens, untilListening } from './listening.mjs'
import { state } from './state.mjs'

const HERE = path.dirname(fileURLToPath(import.meta.url))
const SHIM = path.join(HERE, '..', 'shim')
const ENDINGS = ['.js', '.mjs', '.cjs']
// Tried in this order if no function is named.
const USUAL = ['default', 'handler', 'main', 'app', 'fetch']

export class LoadError extends Error {}

/** Preparations that do not depend on the function. */
export function prepare() {
  process.env.NODE_PATH = SHIM
  module.Module._initPaths()
  delete process.env.NODE_PATH
}

/**
 * Returns the function or object that `entrypoint` names in the directory `code`, its export name,
 * its file and the file's export `options`. For `quiet` see `untilListening`.
 */
export async function load(entrypoint, code, quiet) {
  const { file, name } = locate(entrypoint, code)
  state.entry = file
  helpModules(file, code)
  const exported = await bring(file)
  state.entry = ''
  const found = await choose(exported, { file, name, entrypoint, code, quiet })
  return { ...found, file, options: exported?.options }
}

async function choose(exported, { file, name, entrypoint, code, quiet }) {
  const own = exported.default !== undefined && exported[Symbol.toStringTag] === 'Module' ? exported.default : exported
  if (name !== null) {
    const target = exportOf(exported, name) ?? exportOf(own, name)
    if (target === undefined) throw new LoadError(missing(file, code, exported, own, name, entrypoint))
    return { target: callable(target, name, file, code), name }
  }
  if (isCallable(own)) return { target: own, name: 'default' }
  for (const one of USUAL) {
    const target = exported[one] ?? own?.[one]
    if (one !== 'fetch' && isCallable(target))
      return { target, name: one }
    if (one === 'fetch' && typeof target === 'function') return { target: exported, name: one }
  }
  const functions = Object.entries(own ?? {}).filter(([, value]) => typeof value === 'function')
  // A program that listens may export helpers for its tests.
  if (functions.length === 1 && !listens()) return { target: functions[0][1], name: functions[0][0] }
  if (namesOf(exported, own).length === 0) await untilListening(quiet)
  const { server } = listeningServer()
  if (server !== null) return { target: server, name: 'default' }
  throw new LoadError(missing(file, code, exported, own, null, entrypoint))
}

/**
 * Returns an export by name, but no built-in property of objects or functions, such as
 * `constructor`.
 */
function exportOf(exported, name) {
  if (exported === undefined || exported === null) return undefined
  let holder = Object(exported)
  while (holder !== null && !Object.hasOwn(holder, name)) holder = Object.getPrototypeOf(holder)
  const builtIn = holder !== null && holder !== exported && /\[native code\]/.test(String(holder.constructor))
  return builtIn ? undefined : exported[name]
}

function isCallable(target) {
  return typeof target === 'function' || typeof target?.fetch === 'function' || isApplication(target)
}

function callable(target, name, file, code) {
  if (isCallable(target)) return target
  throw new LoadError(
    `${name} in ${path.relative(code, file)} is ${target === null ? 'null' : typeof target}, which cannot be called`,
  )
}

/**
 * Resolves `file.func` or `file`. The default is package.json's main, index, main, or the only
 * file.
 */
function locate(entrypoint, code) {
  if (entrypoint === '') {
    const file = standard(code)
    if (file !== null) return { file, name: null }
    throw new LoadError(
      `Without an entrypoint there must be a package.json with "main", an index.js, a main.js or a single file. ${listing(code)}`,
    )
  }
  const whole = fileAt(path.join(code, entrypoint))
  if (whole !== null) return { file: whole, name: null }
  const mark = entrypoint.includes(':') ? entrypoint.indexOf(':') : entrypoint.lastIndexOf('.')
  if (mark < 0) {
    // A single word may be a function of the default file.
    const file = standard(code)
    if (file !== null) return { file, name: entrypoint }
    throw new LoadError(
      `The entrypoint "${entrypoint}" names the file ${entrypoint}.js, which is not there. ${listing(code)}`,
    )
  }
  const name = entrypoint.slice(mark + 1)
  const stem = entrypoint.slice(0, mark)
  const file = fileAt(path.join(code, stem)) ?? only(code)
  if (file !== null) return { file, name }
  throw new LoadError(
    `The entrypoint "${entrypoint}" names the file ${stem}.js (or .mjs, .cjs), which is not there. ${listing(code)}`,
  )
}

function fileAt(base) {
  if (isFile(base)) return base
  for (const ending of ENDINGS) if (isFile(base + ending)) return base + ending
  for (const ending of ENDINGS) if (isFile(path.join(base, 'index' + ending))) return path.join(base, 'index' + ending)
  return null
}

function standard(code) {
  try {
    const { main } = JSON.parse(fs.readFileSync(path.join(code, 'package.json'), 'utf8'))
    if (typeof main === 'string') {
      const file = fileAt(path.join(code, main))
      if (file !== null) return file
    }
  } catch (error) {
    if (error.code !== 'ENOENT') throw new LoadError(`package.json cannot be read: ${error.message}`)
  }
  return fileAt(path.join(code, 'index')) ?? fileAt(path.join(code, 'main')) ?? only(code)
}

function only(code) {
  const files = fs
    .readdirSync(code, { withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
  const scripts = files.filter((entry) => ENDINGS.includes(path.extname(entry.name)))
  if (scripts.length === 1) return path.join(code, scripts[0].name)
  return files.length === 1 && scripts.length === 0 && path.extname(files[0].name) === ''
    ? path.join(code, files[0].name)
    : null
}

function isFile(file) {
  return fs.statSync(file, { throwIfNoEntry: false })?.isFile() ?? false
}

/** Loads a file with the module system that it is written for. */
async function bring(file) {
  const isModule = file.endsWith('.mjs') || (!file.endsWith('.cjs') && packageType(path.dirname(file)) === 'module')
  if (!isModule) {
    const require = createRequire(file)
    try {
      return require(file)
    } catch (error) {
      // For a .js file without a declared type, the syntax error shows that it is a module. Newer
      // versions of Node detect this themselves.
      const looks =
        error instanceof SyntaxError &&
        /import statement|Unexpected token 'export'|import\.meta|await is only valid/.test(error.message)
      if (!looks && error.code !== 'ERR_REQUIRE_ESM' && error.code !== 'ERR_REQUIRE_ASYNC_MODULE') throw error
      try {
        return await import(pathToFileURL(file).href)
      } catch (second) {
        if (second instanceof SyntaxError && second.message === error.message) {
          second.message += ' (if it is an ES module, call it .mjs or set "type": "module" in package.json)'
        }
        throw second
      }
    }
  }
  return import(pathToFileURL(file).href)
}

function packageType(folder) {
  for (;;) {
    try {
      return JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8')).type ?? 'commonjs'
    } catch (error) {
      if (error.code !== 'ENOENT') return 'commonjs'
    }
    const above = path.dirname(folder)
    if (above === folder) return 'commonjs'
    folder = above
  }
}

/** Lets ES modules find `milepost` if the sandbox does not mount it in /node_modules. */
function helpModules(file, code) {
  if (isFile('/node_modules/milepost/package.json') || isFile(path.join(code, 'node_modules/milepost/package.json')))
    return
  const place = pathToFileURL(path.join(SHIM, 'milepost', 'index.mjs')).href
  if (typeof module.registerHooks === 'function') {
    module.registerHooks({
      resolve: (name, context, next) =>
        name === 'milepost' && context.conditions?.includes('import')
          ? { url: place, shortCircuit: true }
          : next(name, context),
    })
  } else if (typeof module.register === 'function' && /['"]milepost['"]/.test(fs.readFileSync(file, 'utf8'))) {
    const source = `export const resolve = (name, context, next) => name === 'milepost' && context.conditions.includes('import')
      ? { url: ${JSON.stringify(place)}, shortCircuit: true } : next(name, context)`
    module.register('data:text/javascript,' + encodeURIComponent(source))
  }
}

function listing(code) {
  const entries = fs
    .readdirSync(code, { withFileTypes: true })
    .map((entry) => entry.name + (entry.isDirectory() ? '/' : ''))
    .sort()
  if (entries.length === 0) return 'The package is empty.'
  return `The package has: ${entries.slice(0, 12).join(', ')}${entries.length > 12 ? `, and ${entries.length - 12} more` : ''}.`
}

function namesOf(exported, own) {
  return [...new Set([...Object.keys(exported ?? {}), ...Object.keys(own ?? {})])]
}

function missing(file, code, exported, own, name, entrypoint) {
  const names = namesOf(exported, own).slice(0, 12)
  const has = names.length === 0 ? 'It exports nothing.' : `It exports: ${names.join(', ')}.`
  const where = path.relative(code, file)
  const { instead } = listeningServer()
  if (name === null && (instead !== null || names.length === 0)) {
    const how = 'xport the app: `module.exports = app` (`export default app` in an ES module)'
    return instead === null
      ? `${where} exports nothing to call, and no server in it listens. E${how}`
      : `${where} starts ${instead} and exports nothing to call. E${how}`
  }
  return name === null
    ? `${where} exports no function that is called when the entrypoint does not name one. ${has}`
    : `${where} does not export ${JSON.stringify(name)}, which the entrypoint "${entrypoint}" names. ${has}`
}

/**
 * Returns a one-line message, the error's own text, and the stack trace without the worker's own
 * lines.
 */
export function explain(error) {
  if (error instanceof LoadError) return { message: error.message, text: error.message, trace: error.message }
  if (!(error instanceof Error)) {
    const said = `the function threw ${typeof error === 'string' ? JSON.stringify(error) : String(error)}`
    return { message: said, text: said, trace: said }
  }
  const own = pathToFileURL(path.join(HERE, '..')).href
  const lines = String(error.stack ?? error)
    .split('\n')
    .filter((line) => !line.includes(own) && !line.includes('node:internal/'))
  let message = `${error.name}: ${error.message.split('\n')[0]}`
  if (error.code === 'MODULE_NOT_FOUND') {
    const by = error.requireStack?.[0]
    if (by)
      message += ` (required in ${path.relative(state.code, by)}). It is neither in the package nor in its node_modules`
  } else if (error instanceof SyntaxError) {
    const [, where, line] = /^(?:file:\/\/)?(\/.*?):(\d+)$/.exec(lines[0]) ?? []
    if (where) message += ` (${path.relative(state.code, where)}, line ${line})`
    else if (state.entry) message += ` (in ${path.relative(state.code, state.entry)} or a module that it imports)`
  }
  if (error.cause !== undefined) lines.push(`caused by: ${error.cause?.stack ?? error.cause}`)
  const text = error.message.split('\n')[0] || error.name
  return { message: bounded(message, 4096), text: bounded(text, 4096), trace: bounded(lines.join('\n'), 65536) }
}

/** Shortens the middle of a long text: the server accepts errors of up to a megabyte. */
function bounded(text, most) {
  return text.length <= most
    ? text
    : `${text.slice(0, most / 2)}\n… ${text.length - most} characters …\n${text.slice(-most / 2)}`
}
