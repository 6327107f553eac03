import type { ServerResponse } from 'node:http'
import type { MemberStatus, Pool } from 'holdfast'
import { escapeHtml } from '../html.js'
import { authenticate, isErrorResponse } from './authenticate.js'
import type { ProxyHandlerContext } from './context.js'
import { BROWSER_HEADERS, NOT_FOUND, sendError, UNAUTHORIZED, UNAUTHORIZED_PAGE } from './error-responses.js'

/** The status of the proxy: only counts, without the names of proxies, users or targets. */
export interface ProxyStatus {
  /** Accepted plain requests since the start. */
  readonly requests: number
  /** Opened tunnels since the start. */
  readonly tunnels: number
  /** Rejected or failed requests and tunnels since the start. */
  readonly refused: number
  /** Open connections of clients, tunnels included. */
  readonly connections: number
  /** Open tunnels. */
  readonly openTunnels: number
  /** The id of the pool and the number of its members in each state; absent without a pool. */
  readonly pool?: { readonly id: string; readonly members: Readonly<Partial<Record<MemberStatus, number>>> }
}

export const createStatus = ({ settings, counts, tunnels, connections }: ProxyHandlerContext): ProxyStatus =>
  withPool({ ...counts, connections, openTunnels: tunnels.size }, settings.pool)

/** Adds the state of the pool to a status. */
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

/** Answers a request for the proxy itself. With users it requires their credentials. */
export function answerOwn(proxyContext: ProxyHandlerContext, res: ServerResponse): void {
  const { url, headers, socket } = res.req
  const caller = authenticate(proxyContext, headers.authorization ?? headers['proxy-authorization'], socket)
  if (isErrorResponse(caller)) sendError(res, caller === UNAUTHORIZED ? UNAUTHORIZED_PAGE : caller)
  else if (url === '/' && proxyContext.readStatus !== undefined)
    proxyContext.readStatus().then(
      (status) => respondStatus(status, headers.accept, res),
      () => res.destroy(),
    )
  else if (url === '/') respondStatus(createStatus(proxyContext), headers.accept, res)
  else sendError(res, NOT_FOUND)
}

/** Answers `/` as JSON or as an HTML page, depending on the Accept header. */
function respondStatus(status: ProxyStatus, accept: string | undefined, res: ServerResponse): void {
  const isJson = accept?.includes('application/json') === true
  const { pool, openTunnels, ...counts } = status
  const rows = [
    ...Object.entries({ ...counts, 'open tunnels': openTunnels }).map(([name, value]) =>
      formatRow(name, value),
    ),
    ...(pool === undefined
      ? [formatRow('pool', 'none: the proxy connects to targets directly')]
      : [formatRow('pool', pool.id)]),
    ...Object.entries(pool?.members ?? {}).map(([state, count]) => formatRow(`members ${state}`, count)),
  ]
  const body = isJson
    ? `${JSON.stringify(status)}\n`
    : `<!doctype html><meta charset="utf-8"><title>Holdfast proxy</title><h1>Holdfast forward proxy</h1><table>${rows.join('')}</table>\n`
  res.writeHead(200, {
    'content-type': isJson ? 'application/json' : 'text/html; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    ...BROWSER_HEADERS,
  })
  res.end(res.req.method === 'HEAD' ? undefined : body)
}
