import { isErrorLike } from '../classify/classification.js'

/**
 * The status with which a proxy refused to make a tunnel, where that is what an error tells. undici's ProxyAgent reports
 * it as an aborted request, which would mean that the caller had lost interest.
 */
export function parseTunnelStatus(error: unknown): number | undefined {
  for (let node = error, depth = 0; isErrorLike(node) && depth < 10; node = node.cause, depth++) {
    const status = /^Proxy response \((\d{3})\)/.exec(`${node.message}`)?.[1]
    if (status !== undefined) return Number(status)
  }
  return undefined
}
