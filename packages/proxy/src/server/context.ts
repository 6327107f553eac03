import type { Attempt, Clock } from 'holdfast'
import { CredentialThrottle } from 'holdfast/internal'
import { Agent, buildConnector, type Dispatcher } from 'undici'
import type { ProxyUpstream } from '../connect/upstream.js'
import { upstreamOf } from '../members/member.js'
import { TargetPolicy } from '../targets/target-policy.js'
import { createGuardSelector } from './guards.js'
import type { ProxyCall, ProxyGuard, ProxySettings } from './options.js'
import type { ProxyStatus } from './status-page.js'
import { TunnelRegistry } from './tunnels.js'
import { UserDirectory } from './users.js'

/** The counts since the start. */
export interface ProxyCounts {
  /** Accepted plain requests. */
  requests: number
  /** Opened tunnels. */
  tunnels: number
  /** Requests and tunnels that were rejected or failed at this proxy. */
  refused: number
}

/** The state that the handlers of one proxy share. */
export interface ProxyHandlerContext {
  readonly settings: ProxySettings
  readonly users: UserDirectory
  readonly throttle: Pick<CredentialThrottle, 'recordSuccess' | 'recordFailure'>
  readonly targets: TargetPolicy
  readonly guardFor: (call: ProxyCall) => ProxyGuard
  /** Sends requests to targets where there is no pool. */
  readonly directAgent: Agent
  readonly tunnels: TunnelRegistry
  readonly clock: Clock
  readonly counts: ProxyCounts
  /** Connections of clients, tunnels included. */
  connections: number
  /** Whether the proxy is shutting down. */
  isClosing: boolean
  /** Called when the last connection of a client is closed. */
  onIdle: (() => void) | undefined
  /** Reads the status of all workers; undefined where this process is the only one. */
  readonly readStatus: (() => Promise<ProxyStatus>) | undefined
}

/** The parts that a worker shares with the other workers. */
export type SharedParts = Pick<ProxyHandlerContext, 'guardFor' | 'throttle' | 'readStatus'>

/** Creates the shared state of the handlers of one proxy. */
export function createHandlerContext(settings: ProxySettings, shared?: SharedParts): ProxyHandlerContext {
  const { clock } = settings
  const targets = new TargetPolicy({
    allowPrivate: settings.allowPrivateTargets,
    resolve: settings.resolve,
    clock,
  })
  return {
    settings,
    clock,
    targets,
    users: new UserDirectory(settings.users),
    throttle: shared?.throttle ?? new CredentialThrottle(clock),
    guardFor: shared?.guardFor ?? createGuardSelector(settings),
    readStatus: shared?.readStatus,
    directAgent: new Agent({
      connect: buildConnector({ timeout: settings.connectTimeout, lookup: targets.lookup }),
      pipelining: 1,
      maxHeaderSize: settings.maxHeaderSize,
    }),
    tunnels: new TunnelRegistry(settings.idleTimeout, clock),
    counts: { requests: 0, tunnels: 0, refused: 0 },
    connections: 0,
    isClosing: false,
    onIdle: undefined,
  }
}

/** The proxy of an attempt; undefined where it connects to the target directly. */
export const upstreamOfAttempt = ({ member }: Attempt): ProxyUpstream | undefined =>
  member === undefined ? undefined : upstreamOf(member.value)

/** The dispatcher of an attempt. */
export const dispatcherFor = (proxyContext: ProxyHandlerContext, attempt: Attempt): Dispatcher =>
  upstreamOfAttempt(attempt)?.dispatcherFor(proxyContext.settings.maxHeaderSize) ?? proxyContext.directAgent
