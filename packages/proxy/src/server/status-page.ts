import type { ServerResponse } from 'node:http'
import type { MemberStatus, Pool } from 'holdfast'
import { escapeHtml } from '../html.js'
import { authenticate, isErrorResponse } from './authenticate.js'
import type { ProxyHandlerContext } from './context.js'
import { BROWSER_HEADERS, NOT_FOUND, sendError, UNAUTHORIZED, UNAUTHORIZED_PAGE } from './error-responses.js'

/** What the proxy says of itself: counts, and nothing that names a proxy, a user or a target. */
export interface ProxyStatus {
  /** Plain requests that were let in, tunnels that stood, and what was refused or failed here, since the start. */
  readonly requests: number
  readonly tunnels: number
  readonly refused: number
  /** Connections of clients that there are now, tunnels among them. */
  readonly connections: number
  /** Tunnels that stand now. */
  readonly openTunnels: number
  /** The pool's id and how many of its members are in which state; absent without one. */
  readonly pool?: { readonly id: string; readonly members: Readonly<Partial<Record<MemberStatus, number>>> }
}

export const createStatus = ({ settings, counts, tunnels, connections }: ProxyHandlerContext): ProxyStatus =>
  withPool({ ...counts, connections, openTunnels: tunnels.size }, settings.pool)

/** Adds the state of the pool to what was counted. */
export function withPool(status: ProxyStatus, pool: Pool | undefined): ProxyStatus {
  if (pool === undefined) return status
  const members: Partial<Record<MemberStatus, number>> = {}
  for (const { id } of pool.members()) {
    const state = pool.status(id)
    members[state] = (members[state] ?? 0) + 1
  }
  return { ...status, pool: { id: pool.id, members } }
}

const formatRow = (name: string, value: number | string): string =>
  `<tr><th>${escapeHtml(name)}</th><td>${escapeHtml(String(value))}</td></tr>`

/** Answers a request for the proxy itself, to users alone where there are any. */
export function answerOwn(proxyContext: ProxyHandlerContext, res: ServerResponse): void {
  const { url, headers, socket } = res.req
  const admitted = authenticate(proxyContext, headers.authorization ?? headers['proxy-authorization'], socket)
  if (isErrorResponse(admitted)) sendError(res, admitted === UNAUTHORIZED ? UNAUTHORIZED_PAGE : admitted)
  else if (url === '/' && proxyContext.readStatus !== undefined)
    proxyContext.readStatus().then(
      (status) => respondStatus(status, headers.accept, res),
      () => res.destroy(),
    )
  else if (url === '/') respondStatus(createStatus(proxyContext), headers.accept, res)
  else sendError(res, NOT_FOUND)
}

/** Answers `/`: as JSON where that is asked for, else as a page. */
function respondStatus(status: ProxyStatus, accept: string | undefined, res: ServerResponse): void {
  const json = accept?.includes('application/json') === true
  const { pool, openTunnels, ...counts } = status
  const rows = [
    ...Object.entries({ ...counts, 'open tunnels': openTunnels }).map(([name, value]) =>
      formatRow(name, value),
    ),
    ...(pool === undefined
      ? [formatRow('pool', 'none: targets are connected to from here')]
      : [formatRow('pool', pool.id)]),
    ...Object.entries(pool?.members ?? {}).map(([state, count]) => formatRow(`members ${state}`, count)),
  ]
  const body = json
    ? `${JSON.stringify(status)}\n`
    : `<!doctype html><meta charset="utf-8"><title>Holdfast proxy</title><h1>Holdfast forward proxy</h1><table>${rows.join('')}</table>\n`
  res.writeHead(200, {
    'content-type': json ? 'application/json' : 'text/html; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    ...BROWSER_HEADERS,
  })
  res.end(res.req.method === 'HEAD' ? undefined : body)
}
