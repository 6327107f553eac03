import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { RunOptions } from 'holdfast'
import { Answer, FailedAnswer, JudgedAnswer, WHOLE } from './answer.js'
import { authenticate, isRefusal } from './authenticate.js'
import { AlreadySent, exchange, Sending } from './exchange.js'
import type { RequestHead } from './head.js'
import { dispatcherFor, type House } from './house.js'
import type { ProxyCall, ProxyGuard } from './options.js'
import { BAD_TARGET, FORBIDDEN, type Refusal, refusalFor, refuse } from './refusals.js'
import { parseAbsolute } from './target.js'

/** Methods that mean the same however often they arrive. */
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE'])

/** Answers a request in absolute form. `signal` is aborted when the client is gone. */
export function handlePlain(
  house: House,
  req: IncomingMessage,
  res: ServerResponse,
  head: RequestHead,
  signal: AbortSignal,
): void {
  const { targets, counts } = house
  const stop = (refusal: Refusal): void => {
    counts.refused++
    refuse(res, refusal)
  }
  if (house.closing) res.shouldKeepAlive = false
  const parsed = parseAbsolute(req.url ?? '')
  if (parsed === undefined) return stop(BAD_TARGET)
  const caller = authenticate(house, head.authorization, req.socket)
  if (isRefusal(caller)) return stop(caller)
  const { target, path } = parsed
  const go = (): void => {
    const { method = 'GET' } = req
    const { user, context } = caller
    const call: ProxyCall = { kind: 'request', method, host: target.host, policy: head.policy, user, context }
    counts.requests++
    forward(house, req, res, head, call, target.origin, path, signal).catch((error: unknown) =>
      stop(refusalFor(error)),
    )
  }
  const allowed = targets.allows(target.hostname)
  if (allowed === true) go()
  else if (allowed === false) stop(FORBIDDEN)
  else void allowed.then((yes) => (yes ? go() : stop(FORBIDDEN)))
}

async function forward(
  house: House,
  req: IncomingMessage,
  res: ServerResponse,
  head: RequestHead,
  call: ProxyCall,
  origin: string,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  const { settings, guardFor } = house
  const guard = guardFor(call)
  const small = !head.chunked && head.contentLength <= WHOLE
  if (head.chunked || head.contentLength > 0) limitBody(req, settings.idleTimeout)
  // Where the upstream fails, the client's connection must survive to be told.
  const body = !small
    ? Readable.from(req.iterator({ destroyOnReturn: false }), { objectMode: false })
    : head.contentLength > 0
      ? await wholeBody(req, signal)
      : null
  const sending = new Sending(small && (mayRepeat(head, call) || (await repeatsAll(house, guard))))
  const headers = head.headers
  headers.push('host', call.host)
  if (!small && !head.chunked) headers.push('content-length', String(head.contentLength))
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
  if (!sending.repeatable) options.retry = { abortOn: [() => sending.begun] }
  const last = await guard
    .run((attempt) => {
      sending.demand()
      sending.discardBefore(attempt.number)
      return exchange(dispatcherFor(house, attempt), request, sending, attempt)
    }, options)
    .catch((error: unknown) => error)
  // A guard that does not know when to stop went on in vain: what counts is what came of the sending.
  const outcome = last instanceof AlreadySent ? (sending.ended ?? last) : last
  const answer = answerIn(outcome)
  sending.discardBefore(Number.POSITIVE_INFINITY, answer)
  if (answer === undefined) throw outcome
  if (house.closing) res.shouldKeepAlive = false
  try {
    answer.deliver(res, settings.idleTimeout)
  } catch (error) {
    answer.discard()
    throw error
  }
}

function answerIn(outcome: unknown): Answer | undefined {
  if (outcome instanceof Answer) return outcome
  return outcome instanceof JudgedAnswer || outcome instanceof FailedAnswer ? outcome.answer : undefined
}

const mayRepeat = ({ idempotencyKey }: RequestHead, { method }: ProxyCall): boolean =>
  idempotencyKey || IDEMPOTENT.has(method)

/** Whether the policy repeats what may do harm. */
const repeatsAll = ({ settings }: House, guard: ProxyGuard): boolean | PromiseLike<boolean> =>
  guard.retryNonIdempotent?.() ?? settings.retryNonIdempotent

/** A client that stops in the middle of a body is not waited for. */
function limitBody(req: IncomingMessage, idleTimeout: number): void {
  const { socket } = req
  socket.setTimeout(idleTimeout)
  req.once('end', () => socket.setTimeout(0))
}

/** A body that is short enough to be kept, so that it can be sent again. */
function wholeBody(req: IncomingMessage, signal: AbortSignal): Promise<Buffer> {
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
