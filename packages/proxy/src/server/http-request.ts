import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { RunOptions } from 'holdfast'
import { isIdempotentMethod } from 'holdfast/internal'
import { authenticate, isErrorResponse } from './authenticate.js'
import type { ClientConnection } from './client-connection.js'
import { dispatcherFor, type ProxyHandlerContext } from './context.js'
import { BAD_TARGET, type ErrorResponse, FORBIDDEN, sendError, toErrorResponse } from './error-responses.js'
import type { RequestHead } from './headers.js'
import type { ProxyCall, ProxyGuard } from './options.js'
import { AlreadySentError, RequestState, sendAttempt } from './send-attempt.js'
import { parseAbsolute } from './target.js'
import {
  MAX_BUFFERED_BYTES,
  RetryableStatusError,
  StatusResult,
  UpstreamResponse,
} from './upstream-response.js'

/** Handles a request in absolute form. */
export function handleRequest(
  proxyContext: ProxyHandlerContext,
  req: IncomingMessage,
  res: ServerResponse,
  head: RequestHead,
  connection: ClientConnection,
): void {
  const { targets, counts } = proxyContext
  const reject = (errorResponse: ErrorResponse): void => {
    counts.refused++
    sendError(res, errorResponse)
  }
  if (proxyContext.isClosing) connection.closeAfter(res)
  const parsed = parseAbsolute(req.url ?? '')
  if (parsed === undefined) return reject(BAD_TARGET)
  const caller = authenticate(proxyContext, head.authorization, req.socket)
  if (isErrorResponse(caller)) return reject(caller)
  const { target, path } = parsed
  const proceed = (): void => {
    const { method = 'GET' } = req
    const { user, context } = caller
    const call: ProxyCall = { kind: 'request', method, host: target.host, policy: head.policy, user, context }
    counts.requests++
    forwardRequest(proxyContext, req, res, head, call, target.origin, path, connection).catch(
      (error: unknown) => reject(toErrorResponse(error)),
    )
  }
  const allowed = targets.allows(target.hostname)
  if (allowed === true) proceed()
  else if (allowed === false) reject(FORBIDDEN)
  else void allowed.then((isAllowed) => (isAllowed ? proceed() : reject(FORBIDDEN)))
}

async function forwardRequest(
  proxyContext: ProxyHandlerContext,
  req: IncomingMessage,
  res: ServerResponse,
  head: RequestHead,
  call: ProxyCall,
  origin: string,
  path: string,
  connection: ClientConnection,
): Promise<void> {
  const { settings, guardFor } = proxyContext
  const { signal } = connection
  const guard = guardFor(call)
  const isSmall = !head.isChunked && head.contentLength <= MAX_BUFFERED_BYTES
  if (head.isChunked || head.contentLength > 0) connection.receiveBody(req)
  // A failure of the upstream must not destroy the connection of the client, which still gets a response.
  const body = !isSmall
    ? Readable.from(req.iterator({ destroyOnReturn: false }), { objectMode: false })
    : head.contentLength > 0
      ? await readBody(req, signal)
      : null
  const requestState = new RequestState(
    isSmall && (canRepeat(head, call) || (await retriesNonIdempotent(proxyContext, guard))),
  )
  const headers = head.headers
  headers.push('host', call.host)
  if (!isSmall && !head.isChunked) headers.push('content-length', String(head.contentLength))
  const request = {
    origin,
    path,
    method: call.method,
    headers,
    body,
    headersTimeout: settings.responseTimeout,
    bodyTimeout: settings.idleTimeout,
  }
  const options: RunOptions = { signal, context: call.context }
  if (!requestState.isRepeatable) options.retry = { abortOn: [() => requestState.hasSent] }
  const last = await guard
    .run((attempt) => {
      requestState.assertSendable()
      requestState.discardBefore(attempt.number)
      return sendAttempt(dispatcherFor(proxyContext, attempt), request, requestState, attempt)
    }, options)
    .catch((error: unknown) => error)
  // A guard that ignores `abortOn` starts another attempt, which fails; the outcome of the attempt that was sent counts.
  const outcome = last instanceof AlreadySentError ? (requestState.lastOutcome ?? last) : last
  const response = responseOf(outcome)
  requestState.discardBefore(Number.POSITIVE_INFINITY, response)
  if (response === undefined) throw outcome
  if (proxyContext.isClosing) connection.closeAfter(res)
  try {
    response.deliver(res)
    if (!response.isComplete) connection.updateTimeout()
  } catch (error) {
    response.discard()
    throw error
  }
}

function responseOf(outcome: unknown): UpstreamResponse | undefined {
  if (outcome instanceof UpstreamResponse) return outcome
  return outcome instanceof StatusResult || outcome instanceof RetryableStatusError
    ? outcome.response
    : undefined
}

const canRepeat = ({ hasIdempotencyKey }: RequestHead, { method }: ProxyCall): boolean =>
  hasIdempotencyKey || isIdempotentMethod(method)

/** Whether the policy retries non-idempotent requests. */
const retriesNonIdempotent = (
  { settings }: ProxyHandlerContext,
  guard: ProxyGuard,
): boolean | PromiseLike<boolean> => guard.retryNonIdempotent?.() ?? settings.retryNonIdempotent

/** Reads a small body, so that it can be sent again. */
function readBody(req: IncomingMessage, signal: AbortSignal): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const onAbort = (): void => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      signal.removeEventListener('abort', onAbort)
      resolve(Buffer.concat(chunks))
    })
    req.on('error', reject)
  })
}
