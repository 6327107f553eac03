/** The fields of a response or of an error with a response. */
interface Reply {
  config?: unknown
  response?: Reply
  data?: { destroy?: () => void; cancel?: () => Promise<unknown> } | null
}

/** The key under which axios-retry keeps its state in a config. */
const AXIOS_RETRY = 'axios-retry'

/**
 * Puts the config of the request in place of that of the attempt, whose signal has ended, into a response or an error. A
 * request that the guard handled is not retried by axios-retry, because the attempts of both would multiply.
 */
export function restoreConfig<T>(result: T, config: object): T {
  const reply = Object(result) as Reply
  const state = config as { [AXIOS_RETRY]?: object }
  if (state[AXIOS_RETRY] !== undefined) state[AXIOS_RETRY] = { ...state[AXIOS_RETRY], retries: 0 }
  if (reply.config !== undefined) reply.config = config
  if (reply.response?.config !== undefined) reply.response.config = config
  return result
}

/** Closes the response of a failed attempt where it is a stream, because its connection would stay open. */
export function discardReply(failed: unknown): void {
  const { data } = (Object(failed) as Reply).response ?? {}
  data?.destroy?.()
  void data?.cancel?.().catch(() => {})
}

/** Whether the caller gets the response of a failed attempt: with its error, or because a fallback returns it. */
export const hasReplyOf = (failed: unknown, result: unknown): boolean =>
  result === failed || result === (Object(failed) as Reply).response
