import { isErrorLike } from '../classify/classification.js'

/**
 * The status with which a proxy rejected a CONNECT request, if the error contains it. undici's ProxyAgent reports it as an
 * aborted request, which would otherwise be classified as an abort by the caller.
 */
export function parseTunnelStatus(error: unknown): number | undefined {
  for (let node = error, depth = 0; isErrorLike(node) && depth < 10; node = node.cause, depth++) {
    const status = /^Proxy response \((\d{3})\)/.exec(`${node.message}`)?.[1]
    if (status !== undefined) return Number(status)
  }
  return undefined
}
