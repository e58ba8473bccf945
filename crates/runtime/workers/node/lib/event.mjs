// `handler(event, context)`: events in the format that API gateways send to AWS Lambda.

import { isUtf8 } from 'node:buffer'

import { grouped } from './fission.mjs'
import { fields, send, statusOf } from './reply.mjs'
import { utf8 } from './request.mjs'
import { state } from './state.mjs'
import { sendWeb } from './web.mjs'

const TEXT = /^(text\/|application\/(json|xml|javascript|x-www-form-urlencoded)|[^;]*\+(json|xml))/

export const handler = (run, length) => (request, bytes) => {
  const event = eventOf(request, bytes)
  const context = contextOf(request)
  if (length < 3) return run(event, context)
  return new Promise((resolve, reject) => {
    const result = run(event, context, (error, value) =>
      error ? reject(error instanceof Error ? error : new Error(String(error))) : resolve(value),
    )
    if (typeof result?.then === 'function') result.then((value) => value !== undefined && resolve(value), reject)
  })
}

function eventOf(request, bytes) {
  const headers = request.headers()
  const repeated = {}
  for (let at = 2; at < request.head.length; at += 2) {
    if (request.head[at][0] !== ':') (repeated[request.head[at]] ??= []).push(request.head[at + 1])
  }
  const path = request.path
  const route = utf8(request.header(':route') ?? '')
  const query = grouped(new URLSearchParams(utf8(request.query)))
  const type = headers['content-type'] ?? ''
  const isText = (type === '' || TEXT.test(type)) && isUtf8(bytes)
  const client = request.header(':client') ?? ''
  let readable = path
  try {
    readable = decodeURIComponent(utf8(path))
  } catch {
    // A percent sign need not begin an escape.
  }
  return {
    version: '2.0',
    routeKey: route === '' ? '$default' : `${request.method} ${route}`,
    rawPath: path,
    rawQueryString: request.query,
    cookies: (headers.cookie ?? '')
      .split(';')
      .map((part) => part.trim())
      .filter(Boolean),
    headers,
    multiValueHeaders: repeated,
    queryStringParameters: Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)])),
    multiValueQueryStringParameters: Object.fromEntries(
      Object.entries(query).map(([name, value]) => [name, [value].flat()]),
    ),
    pathParameters: request.params(),
    stageVariables: null,
    httpMethod: request.method,
    path: readable,
    resource: route || readable,
    requestContext: {
      accountId: state.app,
      apiId: state.app,
      requestId: request.header(':id') ?? '',
      stage: request.header(':release') ?? '$default',
      httpMethod: request.method,
      path: readable,
      domainName: request.host,
      timeEpoch: Date.now(),
      http: {
        method: request.method,
        path,
        protocol: 'HTTP/1.1',
        sourceIp: client,
        userAgent: headers['user-agent'] ?? '',
      },
      identity: { sourceIp: client, userAgent: headers['user-agent'] ?? '' },
    },
    body: bytes.length === 0 ? null : isText ? bytes.toString() : bytes.toString('base64'),
    isBase64Encoded: bytes.length !== 0 && !isText,
  }
}

function contextOf(request) {
  const until = performance.now() + Number(request.header(':deadline') ?? 60000)
  const id = request.header(':id') ?? ''
  return {
    awsRequestId: id,
    requestId: id,
    functionName: state.function,
    functionVersion: state.version,
    invokedFunctionArn: `milepost:${state.app}:${state.function}:${state.version}`,
    logGroupName: state.app,
    logStreamName: state.function,
    callbackWaitsForEmptyEventLoop: false,
    getRemainingTimeInMillis: () => Math.max(0, Math.floor(until - performance.now())),
  }
}

export function answer(slot, request, result) {
  if (result instanceof Response) return sendWeb(slot, request, result)
  if (typeof result !== 'object' || result === null || !('statusCode' in result)) {
    return send(slot, request, 200, '\0content-type\0application/json', JSON.stringify(result) ?? 'null')
  }
  const many = result.multiValueHeaders ?? {}
  const known = new Set(Object.keys(many).map((name) => name.toLowerCase()))
  const single = Object.entries(result.headers ?? {}).filter(([name]) => !known.has(name.toLowerCase()))
  let headers = fields(many) + fields(single)
  if (result.cookies) headers += fields({ 'set-cookie': result.cookies })
  let body = result.body ?? ''
  if (typeof body === 'string' && result.isBase64Encoded) body = Buffer.from(body, 'base64')
  if (body.length !== 0 && !headers.includes('\0content-type\0')) headers += '\0content-type\0application/json'
  return send(slot, request, statusOf(result.statusCode), headers, body)
}
