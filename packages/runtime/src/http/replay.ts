import { type FetchInit, type FetchInput, StatusError } from 'holdfast/http'
import { IDEMPOTENCY_KEY_HEADER, isIdempotentMethod } from 'holdfast/internal'
import type { CallOptions } from '../api-types.js'
import { replayPayloadOf } from '../dead-letters/entry.js'
import type { ReplayFunction } from '../dead-letters/handlers.js'
import type { RuntimeFetchOptions } from './options.js'
import { decodeBody, parseStoredRequest } from './stored-request.js'

/** Sends a request under the operation, with the ids of the dead letter, and throws a status of 400 or more. */
type SendAgain = (entry: CallOptions, input: FetchInput, init: FetchInit) => Promise<Response>

/** Creates the function that sends stored requests again, each with the headers that `headers` returns. */
export function createReplay(headers: RuntimeFetchOptions['headers'], sendAgain: SendAgain): ReplayFunction {
  return async (entry) => {
    const { itemId, correlationId, idempotencyKey } = entry
    const request = parseStoredRequest(replayPayloadOf(entry))
    const { method, url } = request
    const all = new Headers(request.headers)
    for (const [name, value] of new Headers(await headers?.())) all.set(name, value)
    if (!isIdempotentMethod(method) && !all.has(IDEMPOTENCY_KEY_HEADER))
      all.set(IDEMPOTENCY_KEY_HEADER, idempotencyKey)
    const ids = { itemId, correlationId: correlationId ?? undefined }
    try {
      const response = await sendAgain(ids, url, { method, headers: all, body: decodeBody(request) })
      await response.body?.cancel()
    } catch (error) {
      if (error instanceof StatusError) await error.response.body?.cancel()
      throw error
    }
  }
}
